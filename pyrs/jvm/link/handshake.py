"""Authenticate both sides of a link by their common token, without I/O.

Each side proves to the other that it knows the token. ``docs/protocol.md`` specifies this handshake.
"""

from __future__ import annotations

import hmac
import secrets
import struct

from pyrs.errors import LinkBroken, ProtocolError, VersionMismatch
from pyrs.jvm.link.frames import VERSION, Frame, FrameType, frame

TOKEN_BYTES = 32
_NONCE_BYTES = 32
_VERSION = struct.Struct(">H")
_DIAL = b"pyrs 1 dial"
_LISTEN = b"pyrs 1 listen"


def proof(token: bytes, role: bytes, nonce_j: bytes, nonce_p: bytes) -> bytes:
    """Return the HMAC-SHA256 of a role and both nonces under the token."""
    return hmac.digest(token, role + nonce_j + nonce_p, "sha256")


class Dialler:
    """The dialling side: it answers the listener's HELLO and checks its PROOF."""

    def __init__(self, token: bytes, nonce: bytes | None = None) -> None:
        self._token = token
        self._nonce = nonce or secrets.token_bytes(_NONCE_BYTES)
        self._peer_nonce = b""

    def hello(self, message: Frame) -> bytes:
        """Answer the listener's HELLO.

        Raises:
            LinkBroken: The listener sent GOAWAY.
            VersionMismatch: The listener uses another version of the protocol.
            ProtocolError: The frame is not a HELLO.
        """
        if message.type == FrameType.GOAWAY:
            raise LinkBroken("the JVM refused the link")
        if message.type != FrameType.HELLO or len(message.body) != _VERSION.size + _NONCE_BYTES:
            raise ProtocolError("malformed handshake: the first frame is not a HELLO")
        (version,) = _VERSION.unpack_from(message.body)
        if version != VERSION:
            raise VersionMismatch(
                f"the jar in the JVM speaks version {version} of the link protocol, this package speaks {VERSION}: "
                "use the jar that comes with this package"
            )
        self._peer_nonce = bytes(message.body[_VERSION.size :])
        answer = proof(self._token, _DIAL, self._peer_nonce, self._nonce)
        return frame(FrameType.HELLO, 0, _VERSION.pack(VERSION) + self._nonce + answer)

    def proof(self, message: Frame) -> None:
        """Check the listener's PROOF.

        Raises:
            LinkBroken: The listener does not know the token, or sent GOAWAY.
        """
        if message.type == FrameType.GOAWAY:
            raise LinkBroken("the JVM refused the link")
        expected = proof(self._token, _LISTEN, self._peer_nonce, self._nonce)
        if message.type != FrameType.PROOF or not hmac.compare_digest(message.body, expected):
            raise LinkBroken(
                "the listener on the link's port does not know the token: it is not the JVM that opened the bridge"
            )
        self._token = b""
