"""The interface between a session and the codec of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from pyrs.jvm.link.frames import Body
from pyrs.jvm.values.encoder import ValueEncoder


class Codec(Protocol):
    """Encodes and decodes values and errors, with the handles of the session."""

    def encoder(self) -> ValueEncoder:
        """Return an encoder for one stream."""

    def batch_decoder(self) -> Callable[[Body], tuple[list[Any], Exception | None]]:
        """Return a decoder of NEXT bodies for one stream; see ``decode_entries``."""

    def disown(self, carried: Iterable[object]) -> list[object]:
        """Release the handles of this side in a value that is not sent.

        They are the ints among the value's references. Returns the objects that the peer no longer references, to be
        dropped where user code may run.
        """

    def discard(self, body: Body) -> None:
        """Release the peer's handles in the body of a NEXT that is dropped."""

    def encode(self, value: object) -> bytes:
        """Encode one value without the encoder of a stream."""

    def encode_carrying(self, value: object) -> tuple[bytes, list[object]]:
        """Encode one value; also return its references.

        The caller keeps the references until the value is written.
        """

    def decode_entries(self, body: Body) -> tuple[list[Any], Exception | None]:
        """Decode the entries of a control frame.

        Returns the entries before the first that cannot be converted, and its error. Runs no user code. The entries are
        a ``DeferredEntries`` if they contain objects of this side.
        """

    def encode_error(self, error: BaseException) -> bytes:
        """Encode an error."""

    def decode_error(self, body: Body) -> BaseException:
        """Decode the error in an ERROR body."""

    def encode_failure(self, error: BaseException) -> bytes:
        """Encode the RETURN body of a call that raised."""

    def failure(self, wire: Any) -> BaseException:
        """Return the error that a RETURN contains."""

    def home_handles(self, body: Body) -> list[int]:
        """Return the handles of this side that a NEXT_HOME returns."""
