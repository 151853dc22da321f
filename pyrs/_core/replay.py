"""A hub that keeps what it signalled, for Subscribers that come later."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, Generic, TypeVar

from pyrs._core.hub import EMITTING, IDLE, NON_SERIALIZED, OK, EmitResult, Hub, Tap
from pyrs.errors import NullSignal

__all__ = ["ReplayHub"]

T = TypeVar("T")


class _Node(Generic[T]):
    """An element of the history; each Subscriber stands at the last one that it was given."""

    __slots__ = ("element", "following", "number", "time")

    def __init__(self, element: T, number: int, time: float) -> None:
        self.element = element
        self.number = number
        self.time = time
        self.following: _Node[T] | None = None


class ReplayHub(Hub[T]):
    """A hub whose Subscribers each get the history first, and go on at their own pace.

    What a slow Subscriber has not been given is held for it, beyond the history.

    Args:
        limit: the most elements of the history; None for all.
        seconds: how long an element belongs to the history; None for ever.
        now: the clock for that.
        capacity: how many elements more than ``limit`` may be held for slow Subscribers; None where whoever pushes was
            asked for no more than there is room for, and pushes serially.
    """

    def __init__(
        self, limit: int | None, seconds: float | None, now: Callable[[], float], capacity: int | None
    ) -> None:
        super().__init__(guards=capacity is not None)
        self._limit = limit
        self._seconds = seconds
        self._now = now
        self._capacity = capacity
        # The history is what follows the head. What is before it is held by nobody but a Subscriber that stands there.
        self._head: _Node[Any] = _Node(None, 0, 0.0)
        self._tail = self._head

    @property
    def held(self) -> int:
        """How many elements the history has."""
        return self._tail.number - self._head.number

    def try_emit(self, element: T, /) -> EmitResult:
        """Add the element to the history, and signal it to every Subscriber that demanded it and has come so far.

        Returns:
            OK, or why it was not taken.

        Raises:
            NullSignal: the element is None.
        """
        if element is None:
            raise NullSignal("None is not an element")
        turn = self._turn
        try:
            del turn[0]
        except IndexError:
            result = self._append(element)
            self._again = True
        else:
            interrupt = None
            try:
                self._owner = get_ident()
                self._busy = EMITTING
                result = self._append(element)
                if result is OK:
                    for tap in self._taps:
                        self._feed(tap)
                if self._interrupt is not None:
                    interrupt = self._take_interrupt()
            finally:
                self._busy = IDLE
                turn.append(True)
            if interrupt is not None:
                self._run(interrupt)
        if self._again:
            self._run()
        return result

    def _append(self, element: T) -> EmitResult:
        time = self._now() if self._seconds is not None else 0.0
        before = None
        with self._lock:
            if self._collides():
                return NON_SERIALIZED
            if self._ended:
                return EmitResult.TERMINATED
            if self._abandoned:
                return EmitResult.CANCELLED
            tail = self._tail
            if self._capacity is not None and self._limit is not None:
                most = self._limit + self._capacity
                places = [tap.place for tap in self._taps]
                if any(place is not None and tail.number - place.number >= most for place in places):
                    return EmitResult.OVERFLOW
            node = _Node(element, tail.number + 1, time)
            self._tail = tail.following = node
            before = self._trim(time)
        del before  # not under the lock: elements may have finalizers
        return OK

    def _trim(self, time: float) -> object:
        """Take from the history what no longer belongs to it, and return what holds that. Under the lock."""
        limit, seconds = self._limit, self._seconds
        before = head = self._head
        while head.following is not None and (
            (limit is not None and self._tail.number - head.number > limit)
            or (seconds is not None and head.following.time <= time - seconds)
        ):
            head = head.following
        if head is self._tail:
            self._head = head  # the last element is held as long as it is the last
        elif head.element is not None:
            self._head = _Node(None, head.number, head.time)  # not the node itself: it would hold its element
            self._head.following = head.following
        return before

    def _admit(self, tap: Tap[T]) -> None:
        time = self._now() if self._seconds is not None else 0.0
        with self._lock:
            before = self._trim(time)
            if tap.live:
                tap.place = self._head
                self._include(tap)
        del before
        self._wake()

    def _feed(self, tap: Tap[T]) -> None:
        """Signal what the Subscriber demanded. By whoever has the turn."""
        node = tap.place
        while node is not None:
            ended = self._ended  # read before the next element: what came before the end is there by then
            node = node.following
            if node is None:
                if ended:
                    self._end_of(tap)
                return
            if tap.requested <= tap.emitted:
                return
            tap.place = node
            tap.emitted += 1
            try:
                tap.on_next(node.element)
            except BaseException as error:
                self._subscriber_raised(tap, error)
            if not tap.live:
                tap.place = node = None  # 3.13

    def _drain(self) -> None:
        for tap in self._taps:
            if self._abandoned:
                self._end_of(tap)
            else:
                self._feed(tap)
        self._drained()

    def _drained(self) -> None:
        """Subscribers were given what they demanded. By whoever has the turn."""
