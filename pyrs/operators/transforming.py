"""map, scan, handle, with_index, materialize and dematerialize."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, chain, count
from typing import Any

from pyrs._core.demand import non_positive
from pyrs._core.display import name_of, short
from pyrs._core.fusion import Chain, LengthHint, checked_result, null_element
from pyrs._core.sites import raise_again
from pyrs._core.stage import (
    DROP,
    END,
    MAP,
    DroppingRun,
    ElementStage,
    FunctionStage,
    PlainRun,
    PushedStage,
    Stage,
    StageRun,
    TailRun,
    ignored,
)
from pyrs._core.validation import MISSING, checked_callable, checked_given, checked_natural
from pyrs.errors import NonPositiveRequest
from pyrs.operators.notification import Notification


class Map(FunctionStage):
    """``map(function)``: the results of the function."""

    name = "map"
    is_mapping = passes_function = True
    saved = ()

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return map(self.function, iterator)

    def run(self) -> StageRun:
        return PlainRun(MAP, self.function)


class Scan(Stage):
    """``scan(function, initial)``: the intermediate results of a reduction."""

    passes_function = True

    def __init__(self, function: Callable[[Any, Any], Any], initial: Any) -> None:
        self.function = checked_callable(function, "function")
        self.initial = checked_given(initial, "initial")
        self.saved = ("value",) if initial is MISSING else ("_value", "_started")

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        if self.initial is not MISSING:
            iterator = chain(self._first(whole.hold_back()), iterator)
        return accumulate(iterator, self.function)

    def _first(self, hint: LengthHint) -> Iterator[Any]:
        hint.holding = False
        yield self.initial

    def run(self) -> StageRun:
        if self.initial is not MISSING:
            return _ScanFromRun(self.function, self.initial)
        function, value = self.function, MISSING

        def step(element: Any) -> Any:
            nonlocal value
            value = element if value is MISSING else function(value, element)
            return value

        return PlainRun(MAP, step)

    def __repr__(self) -> str:
        given = "" if self.initial is MISSING else f", {short(self.initial)}"
        return f"scan({name_of(self.function)}{given})"


class _ScanFromRun(TailRun):
    """Emits the initial value at the first demand.

    It requests nothing from upstream before that (§1.3). The value is not emitted before ``on_subscribe`` has returned.
    """

    drop = ignored  # the initial value is not an element of the source

    def __init__(self, function: Callable[[Any, Any], Any], value: Any) -> None:
        super().__init__()
        self._function = function
        self._value = value
        self._begun = False  # on_subscribe has returned
        self._started = False  # the initial value was emitted
        self._passes = False  # all demand before was requested upstream, and later requests pass this run
        self._requested_upstream = 0

    def begin(self) -> None:
        self._begun = True
        self.wake_here()

    def on_next(self, element: Any) -> None:
        value = self._value
        if value is MISSING:  # released, by a cancel while an earlier stage had the element
            self.discard(element)
            return
        self._value = value = self._function(value, element)
        self.emit(value)

    def on_complete(self) -> None:
        self.end_with()

    def on_error(self, error: BaseException) -> None:
        self.end_with(error=error)

    def request(self, n: int) -> None:
        if self._passes:
            self.request_upstream(n)
        else:
            super().request(n)

    def request_more(self, n: int) -> None:
        self.wake_here()

    def _work(self) -> None:
        if not (self._begun or self._source_ended):  # the second: no begin() follows if an earlier stage has ended
            self._again = False
            return
        if not (self._started or self._tail):
            self._tail.append(self._value)
        try:
            super()._work()
        finally:
            self._started = not self._tail

    def _after_drain(self) -> None:
        """Request what the initial value has not served."""
        with self._lock:
            self._passes = self._started and not (self._over or self._source_ended)
            n = self._requested - self._emitted - self._requested_upstream if self._passes else 0
            self._requested_upstream += n
        if n:
            self.request_upstream(n)

    def release(self) -> None:
        super().release()
        self._value = MISSING


class HandleSink:
    """Emits at most one element per source element for ``handle``.

    It is the second argument of the function of ``handle``. Use it only inside the function, on the thread that calls
    the function.
    """

    def __init__(self) -> None:
        self._result: Any = DROP
        self._ended = False

    def next(self, element: Any) -> None:
        """Emit an element.

        Raises:
            NullSignal: ``element`` is None.
            RuntimeError: ``next`` was already called for this element.
        """
        if self._result is not DROP:
            raise RuntimeError("handle: next() may be called once for an element; flat_map emits several")
        self._result = checked_given(element, "element")

    def complete(self) -> None:
        """Complete the stream, after the element of ``next`` if there is one."""
        self._ended = True


class _HandleRun(DroppingRun):
    def __init__(self, stage: Handle) -> None:
        self._function = stage.function
        self._sink = HandleSink()

    def on_next(self, element: Any) -> None:
        sink = self._sink
        if sink._ended:  # upstream emits inside the request that the last element has caused
            self.discard(element)
            return
        if (returned := self._function(element, sink)) is not None:
            checked_result(returned)
        result, sink._result = sink._result, DROP
        if result is DROP:
            self.discard(element)
        else:
            self.emit(result)
        if sink._ended:
            self.finish()  # type: ignore[unreachable]  # the function or on_next has called complete()
        elif result is DROP:
            self.skip()


class Handle(FunctionStage):
    """``handle(function)``: at most one element per source element, or completion."""

    name = "handle"
    run_type = _HandleRun
    saved = ()

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        function, sink = self.function, HandleSink()
        for element in iterator:
            try:
                if (returned := function(element, sink)) is not None:
                    checked_result(returned)
            except BaseException:
                whole.raised_in(self)
                raise
            result, sink._result = sink._result, DROP
            hint.used_up = sink._ended
            if result is not DROP:
                yield result
            if sink._ended:
                whole.ended = True
                return


class WithIndex(ElementStage):
    """``with_index(start)``: each element with its index."""

    calls_user_code = False
    saved = ("numbers",)

    def __init__(self, start: int) -> None:
        self.start = checked_natural(start, "start")
        self.call = f"with_index({self.start or ''})"

    def begin(self) -> Callable[[Any], Any]:
        numbers = count(self.start)
        return lambda element: (next(numbers), element)

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """Use ``enumerate``, which is faster than the function of ``begin``."""
        return enumerate(iterator, self.start)


class _MaterializeRun(TailRun):
    drop = ignored  # the notification of a terminal signal contains no element to discard

    def __init__(self, _: Materialize) -> None:
        super().__init__()

    def on_next(self, element: Any) -> None:
        if element is None:
            raise null_element()
        self.forward(Notification.next(element))

    def on_complete(self) -> None:
        self.end_with(Notification.completed())

    def on_error(self, error: BaseException) -> None:
        if self._illegal <= 0:  # §3.9: the error of an invalid request is not an element of the stream
            self.fail(error if isinstance(error, NonPositiveRequest) else non_positive(self._illegal))
        else:
            self.end_with(Notification.failed(error))


class Materialize(PushedStage):
    """``materialize()``: each signal as a Notification."""

    call = "materialize()"
    run_type = _MaterializeRun


class Dematerialize(ElementStage):
    """``dematerialize()``: the signal of each Notification."""

    call = "dematerialize()"

    def begin(self) -> Callable[[Any], Any]:
        return self._signalled

    def _signalled(self, element: Any) -> Any:
        if not isinstance(element, Notification):
            raise TypeError(f"dematerialize takes a stream of Notification, not of {type(element).__name__}")
        if element.error is not None:
            raise_again(element.error)
        return END if element.kind == "complete" else element.element
