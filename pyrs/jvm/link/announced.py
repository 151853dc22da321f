"""Receive a large message into a buffer of its announced size.

The protocol does not announce the size of a fragmented message, but the header of its value does if the message is one
large extension, such as an Arrow batch. The socket is then read into the final buffer.
"""

from __future__ import annotations

_ARRAY_OF_ONE = 0x91
_EXTENSION32 = 0xC9
_HEADER_SIZE = 7
_ALIGNMENT = 16
"""The alignment of a bytearray. Arrow uses a batch in place if its buffers are aligned."""
MAX_ANNOUNCED = 16 << 20
"""The largest buffer that is allocated before its bytes arrive."""


class AnnouncedMessage:
    """A message that is received into one buffer, with an aligned payload."""

    __slots__ = ("_view", "filled", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.filled = 0
        start = -_HEADER_SIZE % _ALIGNMENT
        self._view = memoryview(bytearray(start + size))[start:]

    @property
    def body(self) -> memoryview:
        """The received bytes."""
        return self._view[: self.filled]

    def space(self, size: int) -> memoryview:
        """Return the next ``size`` bytes to receive, fewer at the end of the buffer."""
        return self._view[self.filled : self.filled + size]

    def append(self, data: memoryview) -> None:
        """Add received bytes."""
        self.space(len(data))[:] = data
        self.filled += len(data)


def announced_size(first: memoryview) -> int:
    """Return the size of the message that begins with these bytes.

    The size is 0 if it is unknown or too large, or if the bytes are the whole message.
    """
    if len(first) < _HEADER_SIZE or first[0] != _ARRAY_OF_ONE or first[1] != _EXTENSION32:
        return 0
    size = _HEADER_SIZE + int.from_bytes(first[2:6], "big")
    return size if len(first) < size <= MAX_ANNOUNCED else 0
