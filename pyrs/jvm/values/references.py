"""Define the interface for references in values, and the extension types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from pyrs.jvm.limits import LIMITS

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

# Each set inside a set needs its own packer or unpacker, with 40 KiB of the C stack. Every thread has space for 32.
MAX_SETS: Final = LIMITS["value.sets"]


class References(Protocol):
    """The references that an encoder sends and a decoder receives.

    See ``pyrs.jvm.java_objects.ObjectKind`` for the kinds.
    """

    remote_object: Callable[[int], object]
    """Creates the proxy for a plain object of the peer, once for each receipt."""

    def own(self, value: object) -> int:
        """Return the handle of a local object, counted as sent once more."""

    def disown(self, carried: Iterable[object]) -> object:
        """Undo one ``own`` for each int among the references of a value that is not sent."""

    def kind_of(self, value: object) -> int:
        """Return the kind under which a local object is exported."""

    def home(self, value: object) -> tuple[int, int, object] | None:
        """Return kind, handle and proxy of an object of the peer; None for a local one."""

    def remote(self, kind: int, handle: int) -> object:
        """Return the proxy for an object of the peer; called once for every receipt."""

    def local(self, handle: int) -> object:
        """Return the local object of a handle that the peer sent back."""
