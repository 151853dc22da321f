"""Numbers for objects: ours that the peer refers to, and what we give back of the peer's."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from itertools import repeat
from typing import Any

from pyrs.errors import ProtocolError
from pyrs.jvm.link.frames import RELEASED, FrameType, frame

_FRAME_ENTRIES = 4_096


class MissingHandle(ProtocolError, LookupError):
    """A handle that is not in the table. It fails the call or the stream that it came in."""

    def __init__(self, handle: int) -> None:
        super().__init__(f"handle {handle} is not there: it was never sent or was given back already")


class Owned:
    """One of our objects, and how often its handle was sent."""

    __slots__ = ("claimed", "count", "handle", "kind", "target")

    def __init__(self, handle: int, target: object, kind: int) -> None:
        self.handle = handle
        self.target = target
        self.kind = kind
        self.count = 0
        self.claimed = False


class Handles:
    """The table of owned objects and the queue of the peer's handles to give back.

    `give_back` is safe in a finalizer: it only appends to a deque. Everything else is short work under a lock; no user
    code runs there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_handle: dict[int, Owned] = {}
        # Keyed by id(): the entry holds the object, so its id cannot be reused meanwhile. Equality is the user's,
        # identity ours.
        self._by_identity: dict[int, Owned] = {}
        self._last = 0
        self._given_back: deque[int] = deque()
        self.give_back: Callable[[int], None] = self._given_back.append

    def own(self, target: object, kind: int) -> int:
        """A handle for `target`, counted as sent once more."""
        with self._lock:
            owned = self._by_identity.get(id(target))
            if owned is None:
                self._last += 1
                owned = Owned(self._last, target, kind)
                self._by_identity[id(target)] = owned
                self._by_handle[owned.handle] = owned
            owned.count += 1
            return owned.handle

    def local(self, handle: int) -> object:
        """The object that the peer means by one of our handles.

        Raises:
            MissingHandle: there is no such handle, or it was given back.
        """
        owned = self._by_handle.get(handle)
        if owned is None:
            raise MissingHandle(handle)
        return owned.target

    def find(self, handle: int) -> object | None:
        """The same, None where there is none."""
        owned = self._by_handle.get(handle)
        return None if owned is None else owned.target

    def pin(self, handles: list[int]) -> None:
        """Keep objects that are on their way home until their batch was read. Ends with `unpin`.

        The batch is read later, on its stream's lane, and the handles' RELEASE may be the next frame.
        """
        with self._lock:
            for handle in handles:
                owned = self._by_handle.get(handle)
                if owned is not None:
                    owned.count += 1

    def unpin(self, handles: list[int]) -> list[object]:
        """End a `pin`. Returns what nobody refers to any more, as `released` does."""
        return [target for handle in handles if (target := self.released(handle, 1)) is not None]

    def claim_subscriber(self, handle: int) -> Any:
        """The Subscriber of a handle, once: it takes one subscription (rules 2.5, 2.12).

        None where it had one, or is not there.
        """
        owned = self._by_handle.get(handle)
        if owned is None or not hasattr(owned.target, "on_subscribe"):
            return None
        with self._lock:
            claimed, owned.claimed = owned.claimed, True
        return None if claimed else owned.target

    def released(self, handle: int, count: int) -> object | None:
        """The peer gives back `count` receipts. Unknown handles are ignored: the link may be ending.

        Returns:
            The object, if nobody refers to it any more: where it is let go of, its finalizer runs, which is user code.
        """
        with self._lock:
            owned = self._by_handle.get(handle)
            if owned is None:
                return None
            owned.count -= count
            if owned.count > 0:
                return None
            del self._by_handle[handle]
            del self._by_identity[id(owned.target)]
        return owned.target

    def release_frames(self) -> bytes:
        """RELEASE frames for everything the finalizers gave back since."""
        given_back = self._given_back
        if not given_back:
            return b""
        frames = []
        while given_back:
            popleft = given_back.popleft
            handles = [popleft() for _ in range(min(len(given_back), _FRAME_ENTRIES))]
            if len(set(handles)) == len(handles):  # most often, and counting costs as much as all the rest
                body = b"".join(map(RELEASED.pack, handles, repeat(1)))
            else:
                counts = Counter(handles)
                body = b"".join(map(RELEASED.pack, counts.keys(), counts.values()))
            frames.append(frame(FrameType.RELEASE, 0, body))
        return b"".join(frames)

    @property
    def waiting(self) -> int:
        """How many receipts wait to be given back."""
        return len(self._given_back)

    def __len__(self) -> int:
        return len(self._by_handle)

    def clear(self) -> list[object]:
        """Forget everything: the link is over. Returns the objects, to be let go of where user code may run."""
        with self._lock:
            by_handle, self._by_handle, self._by_identity = self._by_handle, {}, {}
        self._given_back.clear()
        return [owned.target for owned in by_handle.values()]
