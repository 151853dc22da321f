"""Count the handles that the peer holds, and queue the peer's handles to release."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from pyrs._core.sites import Site
from pyrs.errors import ConversionError, ProtocolError
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import RELEASED, FrameType, frame

_FRAME_ENTRIES = LIMITS["release.entries"]
MAX_HANDLES = LIMITS["link.handles"]


class MissingHandle(ProtocolError, LookupError):
    """A handle is not in the table. The call or the stream that used it fails."""

    def __init__(self, handle: int) -> None:
        super().__init__(f"there is no handle {handle}: it was never sent, or it was released already")


@dataclass(eq=False, slots=True)
class Owned:
    """An object of this side, with the number of its receipts and pins."""

    handle: int
    target: object
    site: Site | None = None
    count: int = 0
    pins: int = 0  # included in ``count``
    claimed: bool = False


class Handles:
    """The table of exported objects, and the queue of the peer's handles to release.

    Invariants: both maps have the same entries; the count of an entry is the number of receipts and pins, and an
    entry is removed when its count is zero; each receipt passed to ``release`` is in one RELEASE, unless the link ends
    first.

    ``release`` only appends to a deque. A method that changes the table holds a lock for a short time, and no method
    calls user code. The garbage collector may run while the lock is held, and with it finalizers, which are user code.
    The lock is therefore reentrant, and between the last look-up of an entry and a change of its count there is no
    call, because the collector runs after calls.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_handle: dict[int, Owned] = {}
        # The key is the id() and not the object, whose __eq__ and __hash__ are user code. The entry references the
        # object, so its id is not reused.
        self._by_identity: dict[int, Owned] = {}
        self._last = 0
        self._closed = False
        self._to_release: deque[int] = deque()
        self.release: Callable[[int], None] = self._to_release.append

    def own(self, target: object, site: Site | None = None) -> int:
        """Return the handle of ``target``, counted as sent once more.

        Args:
            target: The object.
            site: The line of user code that exports it.

        Raises:
            ConversionError: The peer refers to as many objects as a link allows.
        """
        identity = id(target)
        with self._lock:
            if self._closed:
                # The handle is never sent, so no RELEASE would remove its entry.
                self._last += 1
                return self._last
            if identity not in self._by_identity:
                if len(self._by_handle) >= MAX_HANDLES:
                    raise ConversionError(
                        f"the JVM refers to {MAX_HANDLES:,} Python objects, the limit of a link (link.handles): "
                        "release some of them in Java, or send values instead of references"
                    )
                self._last += 1
                new = Owned(self._last, target)
                if identity not in self._by_identity:  # a finalizer may have exported it during the call
                    self._by_identity[identity] = self._by_handle[new.handle] = new
            owned = self._by_identity[identity]
            owned.count += 1
            if site is not None:
                owned.site = site
            return owned.handle

    def local(self, handle: int) -> object:
        """Return the object of a handle; raise ``MissingHandle`` for an unknown one."""
        owned = self._by_handle.get(handle)
        if owned is None:
            raise MissingHandle(handle)
        return owned.target

    def find(self, handle: int) -> tuple[Any, Site | None]:
        """Return the object of a handle and the line that exported it, or two Nones."""
        owned = self._by_handle.get(handle)
        return (None, None) if owned is None else (owned.target, owned.site)

    def pin(self, handles: list[int]) -> None:
        """Keep the objects of the handles in a received batch until ``unpin``.

        The drain loop of the stream decodes or discards the batch later, and then calls ``unpin``. Before that, a
        RELEASE of the handles may arrive, or the link may end.
        """
        with self._lock:
            for handle in handles:
                if handle in self._by_handle:
                    owned = self._by_handle[handle]
                    owned.count += 1
                    owned.pins += 1

    def unpin(self, handles: list[int]) -> list[object]:
        """End a ``pin``; return the objects that the peer no longer references."""
        with self._lock:
            for handle in handles:
                if handle in self._by_handle:
                    self._by_handle[handle].pins -= 1
        return [target for handle in handles if (target := self.released(handle, 1)) is not None]

    def claim_subscriber(self, handle: int) -> Any:
        """Return the Subscriber of a handle, only once (§2.5, §2.12); else None."""
        owned = self._by_handle.get(handle)
        if owned is None:
            return None
        with self._lock:
            claimed, owned.claimed = owned.claimed, True
        return None if claimed else owned.target

    def released(self, handle: int, count: int) -> object | None:
        """Subtract ``count`` receipts that the peer releases; ignore unknown handles.

        Returns:
            The object, if the peer holds no reference to it any more. The caller drops it where its finalizer, which is
            user code, may run.
        """
        with self._lock:
            owned = self._by_handle.get(handle)
            if owned is None:
                return None
            identity = id(owned.target)
            if handle not in self._by_handle:  # a finalizer may have released it during the calls
                return None
            owned.count -= count
            if owned.count > 0:
                return None
            del self._by_handle[handle]
            del self._by_identity[identity]
        return owned.target

    def release_frames(self) -> bytes:
        """Return RELEASE frames for the handles that were released since the last call."""
        to_release = self._to_release
        if not to_release:
            return b""
        frames = []
        while to_release:
            popleft = to_release.popleft
            try:
                handles = [popleft() for _ in range(min(len(to_release), _FRAME_ENTRIES))]
            except IndexError:
                return b""  # the link has ended on another thread, which cleared the queue
            if len(set(handles)) == len(handles):  # the usual case; counting takes longer
                body = b"".join(map(RELEASED.pack, handles, repeat(1)))
            else:
                counts = Counter(handles)
                body = b"".join(map(RELEASED.pack, counts.keys(), counts.values()))
            frames.append(frame(FrameType.RELEASE, 0, body))
        return b"".join(frames)

    @property
    def waiting(self) -> int:
        """The number of receipts to release."""
        return len(self._to_release)

    def __len__(self) -> int:
        return len(self._by_handle)

    def clear(self) -> list[object]:
        """Clear the table at the end of the link, except for pinned objects.

        Returns:
            The removed objects, to be dropped where user code may run.
        """
        removed: list[object] = []
        with self._lock:
            self._closed = True
            for handle, owned in list(self._by_handle.items()):
                identity = id(owned.target)
                if handle not in self._by_handle:  # a finalizer may have released it during the calls
                    continue
                if owned.pins > 0:
                    owned.count = owned.pins
                else:
                    del self._by_handle[handle]
                    del self._by_identity[identity]
                    removed.append(owned.target)
        self._to_release.clear()
        return removed
