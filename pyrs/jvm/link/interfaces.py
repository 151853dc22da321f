"""The interface between a session and the codec of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from pyrs.jvm.buffers import Buffers
from pyrs.jvm.link.frames import Body


class Encoder(Protocol):
    """Encodes the elements of one stream.

    ``carried`` collects the references of the element that was encoded last; the stream empties it. The only item of
    ``converted`` is the value that was converted in Python last, or None; the stream sets it to None. If it is not the
    element itself, a value inside the element was converted, and the stream calls ``check``.
    """

    carried: list[object]
    converted: list[object]

    @property
    def encode(self) -> Callable[[Any], bytes]:
        """The function that encodes one value."""

    @property
    def encode_element(self) -> Callable[[Any], bytes | Buffers]:
        """The function that encodes one element of the stream. It may be another one after each element."""

    def check(self, encoded: bytes) -> None:
        """Raise a ConversionError if a list or dict in the element changed while it was encoded."""

    def explain(self, value: object, error: BaseException) -> Exception:
        """Return the error for the Subscriber, given the exception that ``encode`` raised."""


class Codec(Protocol):
    """Encodes and decodes values and errors, with the handles of the session."""

    def encoder(self) -> Encoder:
        """Return an encoder for one stream."""

    def batch_decoder(self) -> Callable[[Body], tuple[list[Any], Exception | None]]:
        """Return a decoder of NEXT bodies for one stream.

        It returns the elements before the first one that cannot be converted, and the error of that one.
        """

    def disown(self, carried: Iterable[object]) -> None:
        """Take back the handles of this side, which are ints, among the references of a value that is not sent."""

    def discard(self, body: Body) -> None:
        """Give back the handles of a NEXT that is dropped."""

    def encode(self, value: object) -> bytes:
        """Encode one value without the encoder of a stream."""

    def encode_carrying(self, value: object) -> tuple[bytes, list[object]]:
        """Encode one value. Also return its references, which the caller keeps until the value is written."""

    def decode_entries(self, body: Body) -> tuple[list[Any], Exception | None]:
        """Decode a control frame: the entries up to the first that cannot be converted, and its error.

        Raises:
            ConversionError: An entry cannot be converted, and those before it are lost.
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
