"""Large encoded values as lists of buffers, which the writer joins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias

Buffer: TypeAlias = "bytes | memoryview"
FrameBytes: TypeAlias = "bytes | list[Buffer]"
"""The bytes of a frame, or its buffers, which the writer joins."""
_SMALL = 4_096
"""Adjacent buffers below this size are joined, because a frame of many tiny buffers would be slow."""


class Buffers:
    """The bytes of a value, as a list of buffers. Adjacent small buffers are joined."""

    __slots__ = ("parts", "size")

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        self.parts: list[Buffer] = []
        small: list[Buffer] = []
        for buffer in buffers:
            if len(buffer) < _SMALL:
                small.append(buffer)
                continue
            if small:
                self.parts.append(b"".join(small))
                small = []
            self.parts.append(memoryview(buffer))
        if small:
            self.parts.append(b"".join(small))
        self.size = sum(map(len, self.parts))

    def __len__(self) -> int:
        return self.size


def take(parts: deque[Buffer], size: int) -> list[Buffer]:
    """Remove the first ``size`` bytes, and return them as a list of buffers."""
    taken: list[Buffer] = []
    while size and parts:
        part = parts.popleft()
        if len(part) > size:
            parts.appendleft(part[size:])
            part = part[:size]
        taken.append(part)
        size -= len(part)
    return taken
