"""map, scan, handle, with_index, materialize and dematerialize."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, chain, count
from threading import RLock
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
    is_mapping = True
    saved = ()

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return map(self.function, iterator)

    def run(self) -> StageRun:
        return PlainRun(MAP, self.function)

    def functions(self) -> tuple[object, ...]:
        return (self.function,)


class Scan(Stage):
    """``scan(function, initial)``: the intermediate results of a reduction."""

    def __init__(self, function: Callable[[Any, Any], Any], initial: Any) -> None:
        self.function = checked_callable(function, "function")
        self.initial = checked_given(initial, "initial")
        self.saved = ("value",) if initial is MISSING else ("_value", "_owed", "_started")

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

    def functions(self) -> tuple[object, ...]:
        return (self.function,)

    def __repr__(self) -> str:
        given = "" if self.initial is MISSING else f", {short(self.initial)}"
        return f"scan({name_of(self.function)}{given})"


class _ScanFromRun(StageRun):
    """Emits the initial value at the first demand.

    It requests nothing from upstream before that (§1.3). The value is not emitted before ``on_subscribe`` has returned.
    """

    def __init__(self, function: Callable[[Any, Any], Any], value: Any) -> None:
        self._function = function
        self._value = value
        self._lock = RLock()  # request is called from any thread
        self._owed: int | None = -1  # the demand less the initial value, to forward later; None: forward directly
        self._begun = False  # on_subscribe has returned
        self._started = False  # one thread emits the initial value; the others only add demand
        self._illegal = 1  # the n <= 0 that was requested; 1 if none was
        self._end: Callable[[], None] | None = None

    def on_next(self, element: Any) -> None:
        value = self._value
        if value is MISSING:  # released, by a cancel while an earlier stage had the element
            self.discard(element)
            return
        self._value = value = self._function(value, element)
        self.emit(value)

    def release(self) -> None:
        self._value = MISSING

    def begin(self) -> None:
        with self._lock:
            self._begun = True
        self._start()

    def on_complete(self) -> None:
        self._end_by(self.complete)

    def on_error(self, error: BaseException) -> None:
        self._end_by(lambda: self.fail(error))

    def _end_by(self, end: Callable[[], None]) -> None:
        with self._lock:
            waits = self._owed is not None
            if waits:
                self._end = end  # a terminal signal without demand waits for the initial value
                self._begun = True  # no begin() follows if an earlier stage has terminated the stream
        if waits:
            self._start()
        else:
            end()

    def request(self, n: int) -> None:
        with self._lock:
            waits = self._owed is not None
            if n <= 0:
                self._illegal = n
                waits = self._end is not None
            elif self._owed is not None:
                self._owed += n
        if waits:
            self._start()
        else:
            self.request_upstream(n)

    def _start(self) -> None:
        """Emit the initial value if it is due, and then the signals that waited for it."""
        with self._lock:
            illegal = self._illegal <= 0 and self._end is not None  # §3.9: no source is left to report it
            if self._started or not self._begun or not (illegal or (self._owed is not None and self._owed >= 0)):
                return
            self._started = True
        value = self._value
        if not illegal and value is not MISSING:  # else released, by a cancel on another thread
            self.emit(value)
        with self._lock:
            n, self._owed = self._owed, None
            end = self._end
        if end is not None and self._illegal <= 0:
            self.fail(non_positive(self._illegal))
        elif end is not None:
            end()
        elif n:
            self.request_upstream(n)


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
