"""Time-based operators.

They are sample, throttle, throttle_latest, debounce, delay, delay_subscription, timeout, timestamp and elapsed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import Chain
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.stage import SELECT, ElementStage, SelectingRun, Stage, StageRun
from pyrs._core.validation import MISSING, Seconds, checked_natural, checked_publisher, checked_seconds
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal, StreamTimeout
from pyrs.schedulers import Scheduler, checked_scheduler, current
from pyrs.schedulers.timer import Timer, waking_timer


class _Timed(Operator[Any]):
    """An operator with one duration and a clock."""

    name = ""
    positive = True

    def __init__(self, source: Publisher[Any], seconds: Seconds, scheduler: Scheduler | None) -> None:
        self.seconds = checked_seconds(seconds, "seconds", positive=self.positive)
        self.scheduler = checked_scheduler(scheduler)
        super().__init__(source, f"{self.name}({self.seconds:g})")


class Throttle(Stage):
    """``throttle(seconds)``: an element, then none for the given time."""

    saved = ("opens",)

    def __init__(self, seconds: Seconds, scheduler: Scheduler | None) -> None:
        self._seconds = checked_seconds(seconds, "seconds", positive=True)
        self.scheduler = checked_scheduler(scheduler)
        self.call = f"throttle({self._seconds:g})"

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return filter(self._gate(), iterator)

    def run(self) -> StageRun:
        return SelectingRun(SELECT, self._gate())

    def _gate(self) -> Callable[[Any], bool]:
        now, seconds, opens = current(self.scheduler).now, self._seconds, -inf

        def passes(element: Any) -> bool:
            nonlocal opens
            time = now()
            if time < opens:
                return False
            opens = time + seconds
            return True

        return passes


class Timestamp(ElementStage):
    """``timestamp()``: each element with the time of its arrival."""

    call = "timestamp()"
    saved: tuple[str, ...] | None = ()

    def __init__(self, scheduler: Scheduler | None) -> None:
        self.scheduler = checked_scheduler(scheduler)

    def begin(self) -> Callable[[Any], Any]:
        now = current(self.scheduler).now
        return lambda element: (now(), element)

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return map(self.begin(), iterator)  # not a generator, which would look up the clock only at the first element


class Elapsed(Timestamp):
    """``elapsed()``: each element with the time since the previous one."""

    call = "elapsed()"
    saved = ("last",)

    def begin(self) -> Callable[[Any], Any]:
        now = current(self.scheduler).now
        last = now()

        def timed(element: Any) -> tuple[float, Any]:
            nonlocal last
            before, last = last, now()
            return last - before, element

        return timed


class _LatestDueInput(Input[Any]):
    """Requests unbounded demand and stores the latest element.

    It posts nothing to the drain loop, so no queue grows.

    Args:
        timer: set to the time at which the latest element is due.
        seconds: the delay of an element; None if this input does not set the timer.
    """

    def __init__(self, owner: Coordinator[Any], timer: Timer, seconds: float | None) -> None:
        super().__init__(owner, UNBOUNDED)
        self._timer = timer
        self._seconds = seconds
        self._latest: Any = MISSING
        self._due = -inf
        self._overdue: Any = MISSING  # the element before the latest one, if it was due when that one arrived

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        seconds = self._seconds
        now = -inf if seconds is None else self._timer.now()
        due = now if seconds is None else now + seconds
        with self._guard:
            late, overdue = self._closed, False
            if late:
                dropped = element
            else:
                dropped, self._latest = self._latest, element
                if seconds is not None and dropped is not MISSING and now >= self._due:
                    overdue = True  # the drain loop has not taken it: the Subscriber is in on_next
                    dropped, self._overdue = self._overdue, dropped
                self._due = due
        if dropped is not MISSING:
            self.discard(dropped)
        if seconds is None or late:
            return
        try:
            self._timer.set(due)
        except Exception as error:  # the scheduler is closed; a third-party one may raise any error
            if hooks.is_exit(error):
                raise
            self.fail(error)
        if overdue:
            self._owner.wake()

    def rearm(self) -> None:
        """Set the timer again if an element is not due yet: a timer may fire early."""
        if self._seconds is not None:
            with self._guard:
                waits, due = self._latest is not MISSING, self._due
            if waits:
                self._timer.set(due)

    def take(self, now: float) -> Any:
        """Remove and return the latest element if it is due."""
        with self._guard:
            if now < self._due:
                return MISSING
            latest, self._latest = self._latest, MISSING
            return latest

    def take_overdue(self) -> Any:
        """Remove and return the element that was due before the latest one arrived."""
        with self._guard:
            overdue, self._overdue = self._overdue, MISSING
            return overdue


class _WakingInput(_LatestDueInput):
    """Wakes the drain loop for each element."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self._owner.wake()


class _LatestRun(Coordinator[Any]):
    """Emits the latest element when the timer fires and the element is due.

    Attributes:
        waits: whether an element is due ``seconds`` after its arrival; otherwise it is always due.
    """

    waits = True
    input_type: type[_LatestDueInput] = _LatestDueInput

    def __init__(self, subscriber: Subscriber[Any], operator: _Timed) -> None:
        super().__init__(subscriber, operator)
        self._seconds = operator.seconds
        self._timer = waking_timer(self, operator.scheduler)
        self._input = self.input_type(self, self._timer, operator.seconds if self.waits else None)
        self._due_element: Any = MISSING  # the element that is due and waits for demand

    def restored(self) -> None:
        self._input.rearm()

    def _timer_fired(self) -> None:
        """Handle the timer, in the drain loop."""

    def _take(self) -> Any:
        """Remove and return the latest element if it is due, in the drain loop."""
        if not self._timer.claim():
            return MISSING
        self._timer_fired()
        found = self._input.take(self._timer.now())
        if found is MISSING:
            self._input.rearm()
        return found

    def _advance(self) -> None:
        source = self._input
        ended = source.ended  # read first: if it is true, the latest element is the last one
        self._emit_due(source.take_overdue())
        found = self._take()
        if ended and source.error is None and found is MISSING:
            found = source.take(inf)
        self._emit_due(found)
        if ended and source.error is not None:
            self._end_with(source.take_error())  # without demand; _release discards the due element
        elif ended and self._due_element is MISSING:
            self._complete()

    def _release(self) -> None:
        super()._release()
        self._replace_due(self._input.take_overdue())
        self._replace_due(self._input.take(inf))
        self._replace_due(MISSING)

    def _emit_due(self, found: Any) -> None:
        """Emit the element that is due, or the one before it, if there is demand."""
        if found is not MISSING:
            self._replace_due(found)
        if self._due_element is not MISSING and self._demand() > 0 and not self._interrupted:
            element, self._due_element = self._due_element, MISSING
            self._emit(element)

    def _replace_due(self, element: Any) -> None:
        before, self._due_element = self._due_element, element
        if before is not MISSING:
            self._discard(before)


class _SampleRun(_LatestRun):
    """Sets the timer for each period."""

    waits = False
    _tick = 0.0

    def _begin(self) -> None:
        self._tick = self._timer.now() + self._seconds
        self._timer.set(self._tick)
        super()._begin()

    def _timer_fired(self) -> None:
        if not self._input.ended:
            self._tick = max(self._tick + self._seconds, self._timer.now())  # skips missed ticks
            self._timer.set(self._tick)


class Sample(_Timed):
    """``sample(seconds)``: the latest element of each period."""

    name = "sample"
    run_type = _SampleRun


class Debounce(_Timed):
    """``debounce(seconds)``: the elements that no other one follows in that time."""

    name = "debounce"
    run_type = _LatestRun
    saved = ("_input._latest", "_input._due")


class _ThrottleLatestRun(_LatestRun):
    """Emits the latest element when the timer fires, or at once if no timer is set."""

    waits = False
    input_type = _WakingInput
    _blocked = False  # whether the period of the last element is still running

    def _take(self) -> Any:
        self._blocked = self._blocked and not self._timer.claim()
        found = MISSING if self._blocked else self._input.take(inf)
        if found is not MISSING and not self._input.ended:
            self._blocked = True
            self._timer.set_after(self._seconds)
        return found


class ThrottleLatest(_Timed):
    """``throttle_latest(seconds)``: an element, then the latest one of each period."""

    name = "throttle_latest"
    run_type = _ThrottleLatestRun


class _DelayRun(Coordinator[Any]):
    """Buffers demanded elements until they are due, at most ``prefetch`` of them."""

    def __init__(self, subscriber: Subscriber[Any], operator: Delay) -> None:
        super().__init__(subscriber, operator)
        self._timer = waking_timer(self, operator.scheduler)
        self._input = _DelayedInput(self, self._timer, operator.seconds)
        self._prefetch = operator.prefetch
        self._requested_upstream = 0  # under the lock

    def _requested_more(self, n: int) -> None:
        self._request_ahead()

    def _request_ahead(self) -> None:
        with self._lock:
            wanted = min(self._requested, self._emitted + self._prefetch) - self._requested_upstream
            if wanted <= 0:
                return
            self._requested_upstream += wanted
        self._input.request(wanted)

    def _advance(self) -> None:
        self._timer.clear()
        source, now = self._input, self._timer.now()
        ended = source.ended  # read first: if it is true, the queue contains all remaining elements
        elements = source.elements
        while elements and not self._interrupted and elements[0][0] <= now:
            self._emit(elements.popleft()[1])
        if self._interrupted:
            return
        if self._requested_upstream - self._emitted <= self._prefetch >> 2:
            self._request_ahead()
        if elements:
            self._timer.set(elements[0][0])
        elif ended and now < source.ends_at:
            self._timer.set(source.ends_at)
        elif ended:
            self._end_with(source.take_error())


class Delay(_Timed):
    """``delay(seconds)``: every signal, delayed."""

    name = "delay"
    run_type = _DelayRun
    positive = False

    def __init__(self, source: Publisher[Any], seconds: Seconds, prefetch: int, scheduler: Scheduler | None) -> None:
        super().__init__(source, seconds, scheduler)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)


class _DelayedInput(Input[Any]):
    def __init__(self, owner: Coordinator[Any], timer: Timer, seconds: float) -> None:
        super().__init__(owner)
        self._timer = timer
        self._seconds = seconds
        self.elements: deque[tuple[float, Any]] = deque()
        self.ends_at = inf

    def _receive(self, element: Any) -> None:
        self.elements.append((self._timer.now() + self._seconds, element))
        if self._closed and self._owner._subscriber is None:  # released since ``on_next`` checked
            self.cancel()
        elif len(self.elements) == 1:  # otherwise the drain loop sets the timer when it reaches this element
            self._owner.wake()

    def cancel(self) -> None:
        super().cancel()
        for _, element in hooks.emptied(self.elements):
            self.discard(element)

    def _end(self, error: BaseException | None) -> None:
        self.ends_at = self._timer.now() + self._seconds
        super()._end(error)


class _DelaySubscriptionRun(SubscriptionArbiter[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: DelaySubscription) -> None:
        super().__init__(subscriber, operator)
        self._seconds = operator.seconds
        self._timer = Timer(operator.scheduler, super()._begin, self._fail)

    def _begin(self) -> None:
        self._timer.set_after(self._seconds)


class DelaySubscription(_Timed):
    """``delay_subscription(seconds)``: subscribes to the source later."""

    name = "delay_subscription"
    run_type = _DelaySubscriptionRun
    positive = False


class _TimeoutRun(Coordinator[Any]):
    """Emits elements and handles the timer in one drain loop.

    Therefore either an element or the timeout takes effect.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: Timeout) -> None:
        super().__init__(subscriber, operator)
        self._seconds = operator.seconds
        self._limit = operator.first  # the current time limit
        self._fallback = operator.fallback
        self._timer = waking_timer(self, operator.scheduler)
        self._deadline = inf
        self._forwarded = 0  # the demand forwarded to the current and earlier sources; under the lock
        self._input = _TimedInput(self)
        self._next: Publisher[Any] | None = None  # subscribed to outside the drain loop: ``subscribe`` may take long

    def _begin(self) -> None:
        upstream = self._input  # the timer may replace ``_input`` before this thread continues
        self._deadline = self._timer.now() + self._limit
        self._timer.set(self._deadline)
        upstream.subscribe_to(self._operator.source)

    def _requested_more(self, n: int) -> None:
        with self._lock:
            more, self._forwarded = self._requested - self._forwarded, self._requested
            upstream = self._input
        if more > 0:
            upstream.request(more)

    def deliver(self, upstream: _TimedInput, element: Any) -> None:
        """Emit the element if it is in time, in the drain loop."""
        if upstream is not self._input:
            self._discard(element)
            return
        self._emit(element)
        if self._deadline < inf and self._live:
            # Measured from the return of on_next, so the time that the Subscriber takes does not count.
            self._deadline = self._timer.now() + self._seconds
            if self._limit != self._seconds:  # the limit was that of the first element, and may be longer
                self._limit = self._seconds
                try:
                    self._timer.set(self._deadline)
                except Exception as error:  # not raised, because the source called on_next
                    if hooks.is_exit(error):
                        raise
                    self._fail(error)

    def end(self, upstream: _TimedInput, error: BaseException | None) -> None:
        """Handle the terminal signal of the source, in the drain loop."""
        if upstream is self._input:
            self._end_with(error)
        elif error is not None:
            hooks.on_error_dropped(error, f"{self._operator.call}: the error arrived after the timeout")

    def _advance(self) -> None:
        if not self._timer.claim():
            return
        if self._timer.now() < self._deadline:
            self._timer.set(self._deadline)
        elif self._fallback is None:
            self._raised(StreamTimeout(f"no element arrived within {self._limit:g} seconds"))
        else:
            self._deadline = inf
            self._input.cancel()
            with self._lock:
                self._input = _TimedInput(self, self._requested - self._emitted)
                self._forwarded = self._requested
                self._next = self._fallback

    def _after_drain(self) -> None:
        if self._next is not None:
            with self._lock:
                source, self._next = self._next, None
            if source is not None:
                self._input.subscribe_to(source)  # a closed input cancels its Subscription


class Timeout(_Timed):
    """``timeout(seconds)``: fails or switches to a fallback if a signal is late."""

    name = "timeout"
    run_type = _TimeoutRun

    def __init__(
        self,
        source: Publisher[Any],
        seconds: Seconds,
        first: Seconds | None,
        fallback: Publisher[Any] | None,
        scheduler: Scheduler | None,
    ) -> None:
        super().__init__(source, seconds, scheduler)
        self.first = self.seconds if first is None else checked_seconds(first, "first", positive=True)
        self.fallback = None if fallback is None else checked_publisher(fallback, "fallback")


class _TimedInput(Input[Any]):
    _owner: _TimeoutRun

    def _receive(self, element: Any) -> None:
        """Signal the element if it arrived in time, now or when the drain loop is free."""
        owner = self._owner
        if owner._posted or not owner.attempt(self._deliver, element):
            owner.post_element(self._deliver, element)  # after the elements that arrived before it

    def _deliver(self, element: Any) -> bool:
        self._owner.deliver(self, element)
        return True

    def _end(self, error: BaseException | None) -> None:
        self._owner.post_end(self._finish, error)

    def _finish(self, error: BaseException | None) -> None:
        self._owner.end(self, error)
