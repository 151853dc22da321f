"""The interface to the bridge for values that cross by reference, and the numbers of the extension types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

BIG_INTEGER: Final = 1
DECIMAL: Final = 2
DATE: Final = 3
TIME: Final = 4
LOCAL_DATETIME: Final = 5
DATETIME: Final = 6
DURATION: Final = 7
UUID: Final = 8
SET: Final = 9
ARROW: Final = 10
SENDER_OWNS: Final = 16
RECEIVER_OWNS: Final = 17

# Each set inside a set takes its own packer or unpacker, 40 KiB of the C stack. 32 of them fit on any thread.
MAX_SETS: Final = 32


class References(Protocol):
    """The handle tables and stand-ins of one bridge.

    Kinds: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage.
    """

    def own(self, value: object, kind: int) -> int:
        """Return the handle of a local object, counted as sent once more."""
        ...

    def disown(self, handle: int) -> None:
        """Take one ``own`` back: the element that carried the handle never left."""
        ...

    def kind_of(self, value: object) -> int:
        """Return the kind under which a local object would be exported."""
        ...

    def home(self, value: object) -> tuple[int, int] | None:
        """Return (kind, handle) if the value stands for an object of the peer."""
        ...

    def remote(self, kind: int, handle: int) -> object:
        """Return the stand-in for an object of the peer; called once for every receipt."""
        ...

    @property
    def remote_object(self) -> Callable[[int], object]:
        """Makes the stand-in for a plain object of the peer, kind 0; called once for every receipt."""
        ...

    def local(self, handle: int) -> object:
        """Return the local object that comes home."""
        ...
