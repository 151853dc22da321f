"""The Subscription of a TestPublisher, which obeys or violates chosen rules."""

from __future__ import annotations

from collections import deque
from enum import Enum
from threading import Condition
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, add_demand, non_positive
from pyrs._core.display import short
from pyrs._core.drain import DrainLoop
from pyrs._core.states import Signal
from pyrs._core.validation import checked_integer
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal

T = TypeVar("T")


class Violation(Enum):
    """A rule that a TestPublisher violates on purpose.

    The first four have Reactor's names.
    """

    REQUEST_OVERFLOW = "1.1: elements are emitted without demand"
    ALLOW_NULL = "2.13: None is emitted as an element or an error"
    CLEANUP_ON_TERMINATE = "1.7: signals are emitted after the terminal signal"
    DEFER_CANCELLATION = "1.8: signals are emitted after a cancel"
    NO_ON_SUBSCRIBE = "1.9: on_subscribe is never called; other signals are emitted without it"
    TWO_ON_SUBSCRIBE = "2.12: on_subscribe is called twice, with two Subscriptions"
    CONCURRENT = "1.3: while the first of several elements is in on_next on another thread, the others are emitted"


class Emission(NamedTuple):
    """A signal to emit."""

    kind: Signal
    value: Any = None

    def __str__(self) -> str:
        return self.kind.value if self.kind is Signal.ON_COMPLETE else f"{self.kind.value}({short(self.value)})"


class Owner(Protocol):
    """The part of a TestPublisher that its Subscriptions use."""

    violations: frozenset[Violation]
    _changed: Condition
    requests: list[int]
    cancel_count: int


class ScriptedSubscription(DrainLoop, Subscription, Generic[T]):
    """Emits signals to one Subscriber, with the violations of its TestPublisher."""

    def __init__(self, subscriber: Subscriber[T], publisher: Owner) -> None:
        super().__init__()
        self.name = type(subscriber).__name__
        self.pending: deque[Emission] = deque()
        self.requested = 0
        self.sent = 0
        self.overflowed = False
        self.ended = False  # cancelled or terminated
        self.second_cancelled = False
        self._subscriber = subscriber
        self._publisher = publisher
        self._violations = publisher.violations
        self._changed = publisher._changed
        self._respects_demand = self._violations.isdisjoint({Violation.REQUEST_OVERFLOW, Violation.NO_ON_SUBSCRIBE})
        self._cancelled = False
        self._invalid_request: NonPositiveRequest | None = None
        self._started = False

    def __str__(self) -> str:
        return f"{self.name} ({amount(self.requested)} requested, {self.sent} sent)"

    def start(self) -> None:
        """Emit ``on_subscribe`` and then the pending signals. Rules: 1.9."""
        if Violation.NO_ON_SUBSCRIBE not in self._violations:
            self._call("on_subscribe", self)
            if Violation.TWO_ON_SUBSCRIBE in self._violations:
                self._call("on_subscribe", _SecondSubscription(self))
        self._started = True  # elements requested in on_subscribe are emitted after it has returned (§1.3)
        self.run_here()

    # The Subscription

    def request(self, n: int, /) -> None:
        n = checked_integer(n, "n")
        with self._changed:
            if self.ended:
                return  # 3.6
            self._publisher.requests.append(n)
            if n > 0:
                self.requested = add_demand(self.requested, n)  # 3.8
            else:
                self._invalid_request = non_positive(n)  # 3.9
            self._changed.notify_all()
        self._run_if_started()

    def cancel(self) -> None:
        with self._changed:
            if self.ended:
                return  # 3.7
            self._cancelled = self.ended = True
            self._publisher.cancel_count += 1
            self._changed.notify_all()

    # The methods that TestPublisher calls

    @property
    def accepts_signals(self) -> bool:
        """Return whether the Subscriber still receives signals."""
        if not self.ended:
            return True
        defers = Violation.DEFER_CANCELLATION if self._cancelled else Violation.CLEANUP_ON_TERMINATE
        return defers in self._violations

    def has_demand(self, count: int) -> bool:
        """Return whether ``count`` more elements may follow the pending ones."""
        return (
            not self._respects_demand
            or self.requested >= UNBOUNDED
            or self.requested - self.sent - len(self.pending) >= count
        )

    def push(self, emission: Emission) -> None:
        """Emit the signal as soon as it is serial (§1.3, §3.3) and demanded (§1.1)."""
        self.pending.append(emission)
        self._run_if_started()

    def emit_now(self, emission: Emission) -> None:
        """Emit the signal immediately, even if another thread is emitting."""
        with self._changed:
            if not self.accepts_signals:
                return  # 1.7, 1.8
            if emission.kind is Signal.ON_NEXT:
                self.sent += 1
                self.overflowed = self.overflowed or self.sent > self.requested
            else:
                self.ended = True  # 1.6
                self._changed.notify_all()
        if emission.kind is Signal.ON_COMPLETE:
            self._call("on_complete")
        else:
            self._call(emission.kind.value, emission.value)

    def _run_if_started(self) -> None:
        if self._started:
            self.run_here()

    def _has_work(self) -> bool:
        if self._invalid_request is not None:
            return True
        if not self.pending:
            return False
        demanded = not self._respects_demand or self.requested >= UNBOUNDED or self.requested > self.sent
        return demanded or self.pending[0].kind is not Signal.ON_NEXT

    def _work(self) -> None:
        while self._has_work():
            invalid, self._invalid_request = self._invalid_request, None
            if invalid is not None:
                self.emit_now(Emission(Signal.ON_ERROR, invalid))
            else:
                self.emit_now(self.pending.popleft())

    def _call(self, signal: str, *arguments: Any) -> None:
        try:
            getattr(self._subscriber, signal)(*arguments)
        except BaseException as error:
            if isinstance(error, NullSignal) and arguments == (None,):
                return  # §2.13 requires a Subscriber to raise for None
            self.cancel()  # 2.13
            if hooks.is_exit(error):
                raise
            hooks.on_error_dropped(error, f"raised by {signal} of {self.name}")


class _SecondSubscription(Subscription):
    """The Subscription of the second ``on_subscribe``. It emits nothing."""

    def __init__(self, first: ScriptedSubscription[Any]) -> None:
        self._first = first

    def request(self, n: int, /) -> None:
        return None

    def cancel(self) -> None:
        self._first.second_cancelled = True


def amount(n: int) -> str:
    """Return a demand as text."""
    return "an unbounded number" if n >= UNBOUNDED else str(n)
