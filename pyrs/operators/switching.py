"""switch_on_first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import name_of
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.validation import MISSING, checked_callable, checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.operators.notification import Notification


class _SwitchOnFirstRun(SubscriptionArbiter[Any]):
    """Requests one element, and switches to the result of the function."""

    _operator: SwitchOnFirst

    def __init__(self, subscriber: Subscriber[Any], operator: SwitchOnFirst) -> None:
        super().__init__(subscriber, operator)
        self._input = _FirstInput(self)

    def _begin(self) -> None:
        self._input.subscribe_to(self._operator.source)

    def signalled(self, signal: Notification[Any]) -> None:
        """Receive the first signal of the source."""
        operator = self._operator
        try:
            whole = operator.wrap(_Whole(self._input, str(operator.call)))
            result = checked_publisher(operator.function(signal, whole), "the result of function")
        except BaseException as error:
            self._raised(error)
        else:
            self._switch_to(result)

    def _release(self) -> None:
        self._input.cancel()
        self._input.discard_first()


class _FirstInput(Input[Any]):
    """The input for the source; it stores the first element until ``_Whole`` emits it."""

    def __init__(self, run: _SwitchOnFirstRun) -> None:
        super().__init__(demand=1)
        self.discards = run.discards
        self._run = run
        self._begins_with_element = False
        self._begins_with_end = False  # the function receives the terminal signal; set under the guard
        self.first: Any = MISSING
        self.consumer: _WholeRun | None = None

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        consumer = self.consumer
        if self._closed:
            self.discard(element)
        elif not self._begins_with_element:
            self._begins_with_element = True
            self.first = element
            self._run.signalled(Notification.next(element))
            if self.closed and self.consumer is None:
                self.discard_first()  # cancelled since the check above
        elif consumer is None:
            self.discard(element)
        elif not consumer.try_emit(element):
            consumer.post_element(consumer._emit, element)

    def discard_first(self) -> None:
        """Discard the first element, unless it was emitted."""
        first = self.take_first()
        if first is not MISSING:
            self.discard(first)

    def take_first(self) -> Any:
        """Remove and return the first element, or MISSING; callable on any thread."""
        with self._guard:
            first, self.first = self.first, MISSING
        return first

    def _drop(self, error: BaseException) -> None:
        self._run._drop(error)

    def _drop_error(self) -> None:
        if self._begins_with_end:
            self.take_error()  # not dropped: the function receives it
        else:
            super()._drop_error()

    def _end(self, error: BaseException | None) -> None:
        with self._guard:  # the Subscriber's thread may cancel
            self._begins_with_end = not (self._begins_with_element or self._cancelled)
        super()._end(error)
        if self._begins_with_end:
            self._run.signalled(Notification.completed() if error is None else Notification.failed(error))
        elif self.consumer is not None:
            self.consumer.wake()


class _Whole(Operator[Any]):
    """The stream of all elements, for the function; it accepts one Subscriber."""

    def __init__(self, source: _FirstInput, call: str) -> None:
        super().__init__(None, f"the stream of {call}")
        self.input = source

    def run(self, subscriber: Subscriber[Any]) -> _WholeRun:
        if not self.input._run._live:
            raise RuntimeError(f"{self.call} is over: the Publisher of the function terminated or was cancelled")
        if self.input.consumer is not None:
            raise RuntimeError(f"{self.call} accepts one Subscriber; use publish().ref_count(n) for n Subscribers")
        self.input.consumer = _WholeRun(subscriber, self)
        return self.input.consumer


class _WholeRun(Coordinator[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: _Whole) -> None:
        super().__init__(subscriber, operator)
        self._input = operator.input
        self._owes_first = self._input.first is not MISSING  # the first element was not demanded yet; under the lock
        self._wanted = 0  # the demand to forward; under the lock

    def _begin(self) -> None:
        """Do nothing: the source was subscribed to before."""

    def _requested_more(self, n: int) -> None:
        with self._lock:
            self._wanted += n if n >= UNBOUNDED else n - self._owes_first
            self._owes_first = False
        self.wake()

    def _after_drain(self) -> None:
        # The request is sent outside the drain loop: inside it, a synchronous source would post all its elements.
        if self._input.first is not MISSING:
            return  # another thread is about to emit the first element, and no other element may precede it
        with self._lock:
            wanted, self._wanted = self._wanted, 0
        if wanted:
            self._input.request(wanted)

    def _advance(self) -> None:
        ended = self._input.ended  # read first: if it is true, no more elements are posted
        if self._input.first is not MISSING and self._demand():
            first = self._input.take_first()
            if first is not MISSING:
                self._emit(first)
        if ended and self._input.first is MISSING and not self._posted:
            self._end_with(self._input.take_error())

    def _release(self) -> None:
        self._input.cancel()
        self._input.discard_first()


class SwitchOnFirst(Operator[Any]):
    """``switch_on_first(function)``: the Publisher that the function returns."""

    run_type = _SwitchOnFirstRun

    def __init__(
        self,
        source: Publisher[Any],
        function: Callable[[Any, Any], Publisher[Any]],
        wrap: Callable[[Publisher[Any]], Publisher[Any]],
    ) -> None:
        super().__init__(source, f"switch_on_first({name_of(function)})")
        self.function = checked_callable(function, "function")
        self.wrap = wrap
