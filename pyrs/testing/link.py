"""One Subscription of a TestPublisher: what waits to be signalled, who may have it when, and which rule it breaks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from threading import Condition
from typing import Any, Generic, NamedTuple, TypeVar

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, add_demand, checked_count, non_positive
from pyrs._core.display import short
from pyrs._core.drain import DrainLoop
from pyrs._core.states import Signal
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal

__all__ = ["Emission", "Link", "Violation", "amount"]

T = TypeVar("T")


class Violation(Enum):
    """A rule that a TestPublisher breaks on purpose. The first four have Reactor's names."""

    REQUEST_OVERFLOW = "1.1: elements come without demand"
    ALLOW_NULL = "2.13: None comes as an element or an error"
    CLEANUP_ON_TERMINATE = "1.7: signals come after the end too"
    DEFER_CANCELLATION = "1.8: signals go on after a cancel"
    NO_ON_SUBSCRIBE = "1.9: on_subscribe never comes, and what the test emits comes without it"
    TWO_ON_SUBSCRIBE = "2.12: on_subscribe comes twice, with two Subscriptions"
    CONCURRENT = "1.3: the first of several elements is still in on_next, on another thread, when the others come"


class Emission(NamedTuple):
    """A signal that a test wants to be sent."""

    kind: Signal
    value: Any = None

    def __str__(self) -> str:
        return self.kind.value if self.kind is Signal.ON_COMPLETE else f"{self.kind.value}({short(self.value)})"


class Link(DrainLoop, Subscription, Generic[T]):
    """Keeps the rules, one Subscriber at a time, except those that are to be broken.

    Args:
        subscriber: is told.
        violations: the rules to break.
        changed: the publisher's lock, told of every change.
        requested: called with each request, with the lock held.
        cancelled: called at the first cancel, with the lock held.
    """

    def __init__(
        self,
        subscriber: Subscriber[T],
        violations: frozenset[Violation],
        changed: Condition,
        requested: Callable[[int], None],
        cancelled: Callable[[], None],
    ) -> None:
        super().__init__()
        self.name = type(subscriber).__name__
        self.pending: deque[Emission] = deque()
        self.requested = 0
        self.sent = 0
        self.overflowed = False
        self.over = False  # cancelled, or told the end
        self.second_cancelled = False
        self._subscriber = subscriber
        self._violations = violations
        self._changed = changed
        self._tell_requested = requested
        self._tell_cancelled = cancelled
        self._heeds_demand = violations.isdisjoint({Violation.REQUEST_OVERFLOW, Violation.NO_ON_SUBSCRIBE})
        self._cancelled = False
        self._illegal: NonPositiveRequest | None = None
        self._started = False

    def __str__(self) -> str:
        return f"{self.name} ({amount(self.requested)} requested, {self.sent} sent)"

    def start(self) -> None:
        """Signal ``on_subscribe``, and then whatever waits. Rules: 1.9."""
        if Violation.NO_ON_SUBSCRIBE not in self._violations:
            self._call("on_subscribe", self)
            if Violation.TWO_ON_SUBSCRIBE in self._violations:
                self._call("on_subscribe", _Second(self))
        self._started = True  # what was requested in on_subscribe comes after it returned (1.3)
        self.run_here()

    # What the Subscriber may do.

    def request(self, n: int, /) -> None:
        n = checked_count(n)
        with self._changed:
            if self.over:
                return  # 3.6
            self._tell_requested(n)
            if n > 0:
                self.requested = add_demand(self.requested, n)  # 3.8
            else:
                self._illegal = non_positive(n)  # 3.9
            self._changed.notify_all()
        self._go_on()

    def cancel(self) -> None:
        with self._changed:
            if self.over:
                return  # 3.7
            self._cancelled = self.over = True
            self._tell_cancelled()
            self._changed.notify_all()

    # What the publisher does.

    @property
    def listens(self) -> bool:
        """Whether signals still go there."""
        if not self.over:
            return True
        defers = Violation.DEFER_CANCELLATION if self._cancelled else Violation.CLEANUP_ON_TERMINATE
        return defers in self._violations

    def has_demand(self, count: int) -> bool:
        """Whether so many more elements may be sent, after those that wait."""
        return (
            not self._heeds_demand
            or self.requested >= UNBOUNDED
            or self.requested - self.sent - len(self.pending) >= count
        )

    def push(self, emission: Emission) -> None:
        """Signal it as soon as nobody else is signalling (1.3, 3.3) and it was requested (1.1)."""
        self.pending.append(emission)
        self._go_on()

    def tell(self, emission: Emission) -> None:
        """Signal it at once, whoever else is signalling."""
        with self._changed:
            if not self.listens:
                return  # 1.7, 1.8
            if emission.kind is Signal.ON_NEXT:
                self.sent += 1
                self.overflowed = self.overflowed or self.sent > self.requested
            else:
                self.over = True  # 1.6
                self._changed.notify_all()
        if emission.kind is Signal.ON_COMPLETE:
            self._call("on_complete")
        else:
            self._call(emission.kind.value, emission.value)

    def _go_on(self) -> None:
        if self._started:
            self.run_here()

    def _has_work(self) -> bool:
        if self._illegal is not None:
            return True
        if not self.pending:
            return False
        free = not self._heeds_demand or self.requested >= UNBOUNDED or self.requested > self.sent
        return free or self.pending[0].kind is not Signal.ON_NEXT

    def _work(self) -> None:
        while self._has_work():
            illegal, self._illegal = self._illegal, None
            if illegal is not None:
                self.tell(Emission(Signal.ON_ERROR, illegal))
            else:
                self.tell(self.pending.popleft())

    def _call(self, signal: str, *arguments: Any) -> None:
        try:
            getattr(self._subscriber, signal)(*arguments)
        except BaseException as error:
            if isinstance(error, NullSignal) and arguments == (None,):
                return  # this is what 2.13 wants of a Subscriber
            self.cancel()  # 2.13
            if hooks.is_exit(error):
                raise
            hooks.on_error_dropped(error, f"raised by {signal} of {self.name}")


class _Second(Subscription):
    """The Subscription of the second ``on_subscribe``. Nothing ever comes of it."""

    def __init__(self, first: Link[Any]) -> None:
        self._first = first

    def request(self, n: int, /) -> None:
        return None

    def cancel(self) -> None:
        self._first.second_cancelled = True


def amount(n: int) -> str:
    """Return how a demand is shown."""
    return "an unbounded number" if n >= UNBOUNDED else str(n)
