"""A hub that keeps a history of its elements for later Subscribers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, Generic

from pyrs._core import hooks
from pyrs._core.drain import TURN
from pyrs._core.hub import EMITTING, IDLE, OK, EmitResult, Hub, HubSubscription
from pyrs.api import T
from pyrs.errors import NullSignal


class _Node(Generic[T]):
    """An element of the history. Each Subscriber refers to the last one it received."""

    def __init__(self, element: T, number: int, time: float) -> None:
        self.element = element
        self.number = number
        self.time = time
        self.following: _Node[T] | None = None


class ReplayHub(Hub[T]):
    """A hub whose Subscribers receive the history first, each at its own pace.

    Elements that a slow Subscriber has not received are buffered for it, beyond the history. An element that leaves the
    history, or that is buffered when the hub is abandoned, is discarded if no Subscriber has received it.

    Args:
        limit: the maximum number of elements in the history; None for all.
        seconds: how long an element belongs to the history, None for no limit.
        now: the clock that measures ``seconds``.
        capacity: the maximum number of elements buffered for slow Subscribers beyond ``limit``, ignored without a
            limit; None as in ``AlignedHub``.
    """

    def __init__(
        self, limit: int | None, seconds: float | None, now: Callable[[], float], capacity: int | None
    ) -> None:
        super().__init__(guards=capacity is not None)
        self._limit = limit
        self._seconds = seconds
        self._now = now
        self._capacity = capacity
        # The history follows the head. Only the positions of slow Subscribers refer to earlier nodes.
        self._head: _Node[Any] = _Node(None, 0, 0.0)
        self._tail = self._head
        self._departed: deque[HubSubscription[T]] = deque()  # excluded and not settled; under the lock
        self._received = 0  # the number of the last element that a settled Subscriber has received; under the lock
        self._lost: deque[T] = deque()  # to be discarded by the drain loop

    def _buffered(self) -> int:
        """Return the number of elements in the history."""
        return self._tail.number - self._head.number

    def try_emit(self, element: T, /) -> EmitResult:
        """Append the element to the history, and signal it to Subscribers with demand."""
        if element is None:
            raise NullSignal("None is not an element")
        result = self.attempt(self._emit, element)
        if result is None:
            result = self._append(element)
            self.wake_here()
        return result

    def _emit(self, element: T) -> EmitResult:
        try:
            self._owner = get_ident()
            self._activity = EMITTING
            result = self._append(element)
            if result is OK:
                for each in self._subscriptions:
                    self._feed(each)
            if self._interrupt is not None:
                self._raise_interrupt()
            return result
        finally:
            self._activity = IDLE

    def _append(self, element: T) -> EmitResult:
        time = self._now() if self._seconds is not None else 0.0
        with self._lock:
            if (refusal := self._refusal()) is not None:
                return refusal
            tail = self._tail
            if self._capacity is not None and self._limit is not None:
                most = self._limit + self._capacity
                positions = [each.position for each in self._subscriptions]
                if any(each is not None and tail.number - each.number >= most for each in positions):
                    return EmitResult.OVERFLOW
            node = _Node(element, tail.number + 1, time)
            self._tail = tail.following = node
            before = self._trim(time)
        del before  # not under the lock: elements may have finalizers
        return OK

    def _trim(self, time: float) -> object:
        """Remove elements that no longer belong to the history; called under the lock.

        Returns the node before them, which the caller releases after the lock.
        """
        limit, seconds = self._limit, self._seconds
        before = head = self._head
        while head.following is not None and (
            (limit is not None and self._tail.number - head.number > limit)
            or (seconds is not None and head.following.time <= time - seconds)
        ):
            head = head.following
        if head is not before and not (self._subscriptions or self._departed):
            self._lose(before, head.number)  # else each Subscriber has received or will receive them
        if head is self._tail:
            self._head = head  # the last element stays until another one follows
        elif head.element is not None:
            self._head = _Node(None, head.number, head.time)  # a new node: the old one refers to its element
            self._head.following = head.following
        return before

    def _admit(self, subscription: HubSubscription[T]) -> None:
        time = self._now() if self._seconds is not None else 0.0
        with self._lock:
            before = self._trim(time)
            if subscription._live:
                subscription.position = self._head
                subscription.joined = self._head.number
                self._include(subscription)
        del before
        self.wake_here()

    def _demanded(self, subscription: HubSubscription[T]) -> None:
        position = subscription.position
        # Without a following element there is nothing to signal: a thread that appends one reads the demand afterwards.
        if position is not None and position.following is not None:
            self.wake_here()

    def _feed(self, subscription: HubSubscription[T]) -> None:
        """Signal up to ``TURN`` demanded elements, with the turn."""
        node = subscription.position
        if node is None:
            return
        for _ in range(TURN):
            ended = self._ended  # read first: if it is true, the last element is already linked
            node = node.following
            if node is None:
                if ended:
                    self._finish_one(subscription)
                return
            if subscription._requested <= subscription._emitted:
                return
            subscription.position = node
            subscription._emitted += 1
            try:
                subscription.on_next(node.element)
            except BaseException as error:
                self._subscriber_raised(subscription, error)
            if subscription._interrupted:
                return  # 1.8, 3.9
        # The other Subscribers must not starve: elements may be added as fast as this one receives them.
        self._again = True

    def _drain(self) -> None:
        for each in self._subscriptions:
            if self._abandoned:
                self._finish_one(each)
            else:
                self._feed(each)
        while self._departed:
            self._settle()
        if self._abandoned:
            self._report_error("the last Subscriber cancelled, or the connection was cancelled")
            with self._lock:
                before = self._head
                self._lose(before, self._tail.number)
                self._head = self._tail = _Node(None, self._tail.number, 0.0)
            del before  # not under the lock: elements may have finalizers
        if self._lost:
            hooks.discard_all(self.discards, self._lost)
        self._drained()

    def _exclude(self, subscription: HubSubscription[T]) -> None:
        super()._exclude(subscription)
        if subscription.position is not None:
            self._departed.append(subscription)
            self._again = True  # settled in the drain loop, where none of its signals is in progress

    def _settle(self) -> None:
        """Release the positions of departed Subscribers, and find unreceived elements.

        Runs with the turn. Settles all of them in one pass. With a pass for each one, threads that subscribe and cancel
        could add departed Subscribers faster than this thread settles them.
        """
        with self._lock:
            departed, self._departed = self._departed, deque()
            # Subscriptions that are settled later have received, or will receive, each element after ``joined``.
            last = min([self._head.number, *[each.joined for each in (*self._subscriptions, *self._departed)]])
            lasts = []
            for each in reversed(departed):
                lasts.append(last)
                last = min(last, each.joined)
            positions = []
            for each in departed:
                position, each.position = each.position, None
                positions.append(position)
                received = position.number - each.missed
                self._lose(position, lasts.pop(), each.missed)
                self._received = max(self._received, received)
        del position, positions, departed  # not under the lock: the elements of the nodes may have finalizers

    def _lose(self, node: _Node[Any] | None, last: int, missed: bool = False) -> None:
        """Record, under the lock, unreceived elements after a node, up to a number.

        With ``missed``, the element of the node itself is included.
        """
        if hooks.is_discarding(self.discards):
            node = node if missed or node is None else node.following
            while node is not None and node.number <= last:
                if node.number > self._received:
                    self._lost.append(node.element)
                    self._again = True
                node = node.following
