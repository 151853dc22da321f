"""Flattening operators with one inner stream at a time.

They are concat_map, filter_when, delay_until, switch_map and expand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import Any

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.blocked_threads import running_loop
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import short
from pyrs._core.inputs import CallbackInput, Input, QueuedInput
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.stage import PushedStage, TailRun
from pyrs.api import Publisher, Subscriber
from pyrs.operators.filtering import IgnoreElements
from pyrs.operators.folding import First
from pyrs.operators.merging import FlatteningOperator, checked_inner, discard_inner


class _ConcatMapRun(SubscriptionArbiter[Any]):
    """Emits inner streams sequentially; outer elements wait in a bounded queue."""

    _operator: ConcatMap

    def __init__(self, subscriber: Subscriber[Any], operator: ConcatMap) -> None:
        super().__init__(subscriber, operator)
        self._function = operator.function
        self._loop = running_loop()
        self._outer = CallbackInput[Any](self, self._outer_next, self._outer_ended, operator.prefetch)
        self._waiting: deque[Any] = deque()
        self._choosing = RLock()  # guards the choice of the thread that subscribes to the next inner stream
        self._idle = True  # no inner stream is active
        self._ended = False
        self._error: BaseException | None = None

    def is_idle(self) -> bool:
        return self._idle

    def _begin(self) -> None:
        self._outer.subscribe_to(self._operator.source)

    def _outer_next(self, element: Any) -> None:
        with self._choosing:
            self._waiting.append(element)
        if self._live:
            self._subscribe_next()
        else:
            self._discard_waiting()

    def _outer_ended(self, error: BaseException | None) -> None:
        if error is not None:
            self._delay(error)
        with self._choosing:
            self._ended = True
        self._subscribe_next()

    def _delay(self, error: BaseException) -> None:
        with self._choosing:
            if self._error is None:
                self._error = error
            delayed = self._error
        if delayed is not error:
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream fails with an earlier error")
        elif not self._live:  # cancelled since the source terminated: _release may have found no error
            self._drop_delayed()

    def _drop_delayed(self) -> None:
        with self._choosing:
            error, self._error = self._error, None
        self._drop(error)

    def _source_failed(self, error: BaseException) -> None:
        if not self._operator.delay_errors or hooks.is_exit(error):
            self._fail(error)
        else:
            self._delay(error)
            self._source_completed()

    def _source_completed(self) -> None:
        with self._choosing:
            self._idle = True
        self._subscribe_next()

    def _subscribe_next(self) -> None:
        """Subscribe to the next inner stream, unless one is active or being subscribed to."""
        with self._choosing:
            if not self._idle or not (self._waiting or self._ended):
                return
            self._idle = False
            element = self._waiting.popleft() if self._waiting else None
            if element is None:
                error, self._error = self._error, None
        if element is None:
            self._end_with(error)
            return
        self._outer.taken()
        try:
            inner = checked_inner(self._function(element), self._operator, self._loop)
        except BaseException as error:
            self._discard(element)
            self._raised(error)
            return
        if not self._switch_to(self._operator.emitted_of(inner, element)):
            discard_inner(inner)
            if self._operator.emits_elements:
                self._discard(element)

    def _release(self) -> None:
        self._outer.cancel()
        self._discard_waiting()
        self._drop_delayed()

    def _discard_waiting(self) -> None:
        with self._choosing:
            waiting, self._waiting = self._waiting, deque()
        self._discard_all(waiting)  # not under the lock: it runs user code, and elements may have finalizers


class ConcatMap(FlatteningOperator):
    """``concat_map(function)``: the inner streams, sequentially."""

    name = "concat_map"
    run_type = _ConcatMapRun
    saved = ()
    emits_elements = False  # whether the operator emits the outer elements instead of those of the inner streams

    def emitted_of(self, inner: Publisher[Any], element: Any) -> Publisher[Any]:
        """Return the Publisher to emit for an element and its inner stream."""
        return inner


class FilterWhen(ConcatMap):
    """``filter_when(predicate)``: the elements whose inner stream first emits true."""

    name, parameter = "filter_when", "predicate"
    emits_elements = True

    def emitted_of(self, inner: Publisher[Any], element: Any) -> Publisher[Any]:
        return PushedChainPublisher(inner, (First(False), _Holding(element, waits=False)))


class DelayUntil(ConcatMap):
    """``delay_until(function)``: each element, when its inner stream has completed."""

    name = "delay_until"
    emits_elements = True

    def emitted_of(self, inner: Publisher[Any], element: Any) -> Publisher[Any]:
        return PushedChainPublisher(inner, (IgnoreElements(), _Holding(element, waits=True)))


class _HoldingRun(TailRun):
    """Emits the element that its stage holds, or discards it."""

    def __init__(self, stage: _Holding) -> None:
        super().__init__()
        self._held = [stage.element]
        self._waits = stage.waits

    def on_next(self, decision: Any) -> None:
        if decision:
            for element in self._take():
                self.forward(element)

    def on_complete(self) -> None:
        taken = self._take() if self._waits else []
        if taken:
            self.end_with(*taken)
        else:
            self.complete()

    def _take(self) -> list[Any]:
        try:
            return [self._held.pop()]
        except IndexError:
            return []  # release has run on another thread

    def release(self) -> None:
        super().release()
        self.discard_all(self._held)


class _Holding(PushedStage):
    """Holds an element until its inner stream releases it.

    The inner stream releases it by a true element or, with ``waits``, by its completion. Serves one subscription.
    """

    run_type = _HoldingRun

    def __init__(self, element: Any, waits: bool) -> None:
        self.element = element
        self.waits = waits

    def __repr__(self) -> str:
        return f"emit({short(self.element)})"  # not ``call``: a stage is created for each element


class _SwitchMapRun(Coordinator[Any]):
    """Switches and emits in one drain loop.

    Therefore no element of an old stream follows one of a new stream.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: SwitchMap) -> None:
        super().__init__(subscriber, operator)
        self._function = operator.function
        self._loop = running_loop()
        self._prefetch = operator.prefetch
        self._input = _NewestInput(self)
        self._inner: QueuedInput[Any] | None = None

    def _advance(self) -> None:
        outer = self._input
        while not self._interrupted:
            all_received = outer.ended  # read first: if it is true, the newest element is the last one
            if outer.newest:
                try:
                    newest = outer.newest.popleft()
                except IndexError:
                    continue  # upstream is replacing it, and wakes the drain loop afterwards
                self._switch_for(newest)
                continue
            if all_received and outer.error is not None:
                self._end_with(outer.take_error())
                return
            inner = self._inner
            if inner is None:
                if all_received:
                    self._complete()
                return
            ended = inner.ended
            if inner.elements:
                if not self._demand():
                    return
                self._emit(inner.elements.popleft())
                inner.taken()
            elif ended:
                self._inner = None
                if inner.error is not None:
                    self._fail(inner.error)
            else:
                return

    def _switch_for(self, element: Any) -> None:
        self._cancel_inner()
        try:
            publisher = checked_inner(self._function(element), self._operator, self._loop)
        except BaseException as error:
            self._discard(element)
            self._raised(error)
            return
        if self._live:
            self._inner = QueuedInput(self, self._prefetch)
            self._inner.subscribe_to(publisher)
        else:
            discard_inner(publisher)

    def _cancel_inner(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.cancel()

    def _upstreams(self) -> Iterator[Any]:
        yield self._input
        inner = self._inner  # read once: the drain loop may switch
        if inner is not None:
            yield inner

    def _release(self) -> None:
        self._input.cancel()
        self._discard_all(self._input.newest)
        self._cancel_inner()


class SwitchMap(FlatteningOperator):
    """``switch_map(function)``: the latest inner stream."""

    name = "switch_map"
    run_type = _SwitchMapRun


class _NewestInput(Input[Any]):
    """The outer stream of a ``switch_map``, of which only the newest element is kept."""

    def __init__(self, owner: _SwitchMapRun) -> None:
        super().__init__(owner, UNBOUNDED)
        self.newest: deque[Any] = deque()

    def _receive(self, element: Any) -> None:
        newest = self.newest
        if newest:  # the drain loop may take it at the same time
            hooks.discard_all(self.discards, newest)
        newest.append(element)
        if self._closed:  # cancelled since ``on_next`` checked
            hooks.discard_all(self.discards, newest)
        else:
            self._owner.wake()


class _ExpandRun(Coordinator[Any]):
    """Emits one stream at a time, in the drain loop.

    Breadth-first, emitted elements wait in a queue until the streams before theirs have completed. Depth-first, the
    stream of an element interrupts the stream that emitted it.
    """

    _operator: Expand

    def __init__(self, subscriber: Subscriber[Any], operator: Expand) -> None:
        super().__init__(subscriber, operator)
        self._loop = running_loop()
        self._input = QueuedInput[Any](self, operator.prefetch)
        self._path = [self._input]  # the last stream is active, the others are interrupted
        self._unexpanded: deque[Any] = deque()  # emitted elements, breadth-first

    def _advance(self) -> None:
        path = self._path
        while not self._interrupted:
            active = path[-1]
            ended = active.ended  # read first: if it is true, the queue contains all remaining elements
            if active.elements:
                if not self._demand():
                    return
                element = active.elements.popleft()
                active.taken()
                self._emit(element)
                if self._operator.depth_first:
                    self._expand(element)
                else:
                    self._unexpanded.append(element)
            elif not ended:
                return
            else:
                path.pop()
                if active.error is not None:
                    self._fail(active.error)
                elif self._unexpanded:
                    self._expand(self._unexpanded.popleft())
                elif not path:
                    self._complete()

    def _expand(self, element: Any) -> None:
        if not self._live:
            return  # the Subscriber has cancelled
        try:
            inner = checked_inner(self._operator.function(element), self._operator, self._loop)
        except BaseException as error:
            self._raised(error)
            return
        if self._interrupted:
            discard_inner(inner)  # the function has cancelled
            return
        upstream = QueuedInput[Any](self, self._operator.prefetch)
        self._path.append(upstream)
        upstream.subscribe_to(inner)

    def _upstreams(self) -> Iterable[Any]:
        return tuple(self._path)

    def _release(self) -> None:
        super()._release()
        self._path.clear()
        self._unexpanded.clear()


class Expand(FlatteningOperator):
    """``expand(function)``: each element, and recursively those of its stream."""

    name = "expand"
    run_type = _ExpandRun

    def __init__(
        self, source: Publisher[Any], function: Callable[[Any], object], depth_first: bool, prefetch: int
    ) -> None:
        super().__init__(source, function, prefetch)
        self.depth_first = depth_first
