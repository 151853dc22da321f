"""merge, flat_map and flat_map_sequential."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from pyrs._core import hooks
from pyrs._core.blocked_threads import running_loop
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import kind_of, name_of
from pyrs._core.fusion import Chain
from pyrs._core.inputs import Input, QueuedInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator, PublisherWrapper
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.operators.combining import call_text, checked_sources


def checked_inner(result: Any, operator: Operator[Any], loop: Any) -> Publisher[Any]:
    """Return the Publisher of a function's result.

    The result may be a Publisher, an awaitable or an asynchronous iterable.

    Args:
        result: the result of the function.
        operator: the operator that called the function; errors of an awaitable are attributed to the operator.
        loop: the asyncio loop that awaits. None selects the running loop, or the background loop if none runs.
    """
    if callable(getattr(result, "subscribe", None)) and not isinstance(result, type):
        return cast("Publisher[Any]", result)
    awaited = hasattr(type(result), "__await__")
    if awaited or hasattr(type(result), "__aiter__"):
        from pyrs.aio.sources import AsyncIterablePublisher, Once  # asyncio is a slow import

        inner = AsyncIterablePublisher(Once(result) if awaited else result, operator.call, loop)
        inner.site = operator.site  # not the line of the code that delivered the element
        return inner
    message = f"the function must return a Publisher, not {kind_of(result)}"
    if isinstance(result, Iterable):
        message += "; pyrs.from_iterable converts an iterable to a Publisher"
    raise TypeError(message)


def discard_inner(inner: Publisher[Any]) -> None:
    """Close the coroutine of an inner stream that will not be subscribed to."""
    sources = sys.modules.get("pyrs.aio.sources")  # not imported if nothing is awaited
    if sources is not None and isinstance(inner, sources.AsyncIterablePublisher):
        inner.discard()


class _FlatMapRun(Coordinator[Any]):
    """Subscribes to the inner streams and emits their elements in turns.

    An inner stream over an iterable is pulled in the drain loop, on demand; any other has a bounded queue. An inner
    stream adds itself to the queue ``_ready`` when it has a signal, so that idle ones cost nothing. It has at most one
    entry in both queues: an entry for each signal would remain as long as its buffer is never empty.
    """

    _passes = True  # an element may bypass the queue of its inner stream

    def __init__(self, subscriber: Subscriber[Any], operator: FlatMap | Merge) -> None:
        super().__init__(subscriber, operator)
        if operator.delay_errors:
            self._consumes = False  # an inner stream's error must follow all its elements
        self._source = operator.sources if isinstance(operator, Merge) else operator.source
        self._function = operator.function
        self._loop = running_loop()
        self._prefetch = operator.prefetch
        self._outer = _Outer(self, operator.concurrency)
        active: set[_Pulled | _Pushed] = set()
        self._inners: set[_Pulled | _Pushed] | deque[_Pulled | _Pushed] = active
        self._track: Callable[[_Pulled | _Pushed], None] = active.add
        self._ready: deque[_Pulled | _Pushed] = deque()
        # The inner streams that wait for demand; used in the drain loop only.
        self._without_demand: deque[_Pulled | _Pushed] = deque()
        self._delayed_errors: list[BaseException] | None = [] if operator.delay_errors else None

    def is_idle(self) -> bool:
        return not self._inners

    def _begin(self) -> None:
        self._outer.subscribe_to(self._source)

    def _open_inner(self, element: Any) -> None:
        """Subscribe to the stream of an element, on the thread that delivers the element."""
        try:
            publisher = checked_inner(self._function(element), self._operator, self._loop)
            source = publisher.source if isinstance(publisher, PublisherWrapper) else publisher
            if type(source) is IterablePublisher and not (source.stages and hooks.is_discarding(self.discards)):
                pulled = _Pulled(self, source)
                self._track(pulled)
                if self._live:
                    self.notice(pulled)
                else:  # _release cancelled the inner streams before this one was added
                    pulled.cancel()
            else:
                pushed = _Pushed(self, self._prefetch, passes=self._passes)
                self._track(pushed)
                if self._live:
                    pushed.subscribe_to(publisher)
                else:
                    discard_inner(publisher)
        except BaseException as error:
            self._outer.discard(element)
            self._operator.blame(error)
            self._outer.fail(error)
            if hooks.is_exit(error):
                raise

    def notice(self, inner: _Pulled | _Pushed) -> None:
        """Record that an inner stream has a signal, on any thread."""
        if inner.unqueued:
            self._queue(inner, self._ready)
        self.wake()

    def _queue(self, inner: _Pulled | _Pushed, queue: deque[_Pulled | _Pushed]) -> None:
        """Append an inner stream to a queue, unless it is in one already."""
        try:
            del inner.unqueued[0]
        except IndexError:
            return
        queue.append(inner)

    def _advance(self) -> None:
        ready, waiting = self._ready, self._without_demand
        all_begun = self._outer.ended  # read first: if it is true, all inner streams were added
        while not self._interrupted:
            demand = self._demand()
            if waiting and demand:
                inner = waiting.popleft()
            elif ready:
                inner = ready.popleft()
            else:
                break
            inner.unqueued.append(True)  # before its signals are read: a later signal queues it again
            ended = inner.ended  # read first: if it is true, no more elements are added
            if inner.has_elements():
                if demand:
                    inner.emit_up_to(min(demand, self._prefetch))
                if self._live:  # otherwise ``_release`` has emptied the queues
                    self._queue(inner, ready if demand else waiting)  # its next turn follows those of the others
            elif ended and inner in self._inners:
                self._inners.remove(inner)
                if inner.error is not None:
                    self._failed(inner.error)
                if self._outer.bounded:
                    self._outer.request(1)
        if all_begun and not self._interrupted:
            self._outer_ended()

    def _outer_ended(self) -> None:
        error = self._outer.take_error()
        if error is not None:
            self._failed(error)
        if not self._inners:
            self._end_with(self._delayed_errors.pop() if self._delayed_errors else None)

    def _failed(self, error: BaseException) -> None:
        if self._delayed_errors is None or hooks.is_exit(error):
            self._fail(error)
        elif not self._delayed_errors:
            self._delayed_errors.append(error)
        elif error is not self._delayed_errors[0]:
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream fails with an earlier error")

    def _upstreams(self) -> Iterator[Any]:
        yield self._outer
        yield from self._inners.copy()  # after the outer stream was cancelled

    def _release(self) -> None:
        self._outer.cancel()
        for inner in self._inners.copy():  # atomic: the outer stream's thread may add one
            inner.cancel()
            self._drop(inner.take_error())  # of a ``_Pulled``; the ``cancel`` of a ``_Pushed`` has reported its error
        for error in self._delayed_errors or ():
            self._drop(error)
        self._inners.clear()
        self._ready.clear()
        self._without_demand.clear()


class _SequentialRun(_FlatMapRun):
    """Emits the inner streams in the order of the outer elements.

    All but the first fill their queues.
    """

    _passes = False

    def __init__(self, subscriber: Subscriber[Any], operator: FlatMap | Merge) -> None:
        super().__init__(subscriber, operator)
        self._inners = self._order = deque[_Pulled | _Pushed]()
        self._track = self._order.append

    def notice(self, inner: _Pulled | _Pushed) -> None:
        self.wake()

    def _advance(self) -> None:
        order = self._order
        all_begun = self._outer.ended  # read first: if it is true, all inner streams were added
        while order and not self._interrupted:
            inner = order[0]
            ended = inner.ended  # read first: if it is true, no more elements are added
            if inner.has_elements():
                demand = self._demand()
                if not demand:
                    return
                inner.emit_up_to(min(demand, self._prefetch))
            elif ended:
                order.popleft()
                if inner.error is not None:
                    self._failed(inner.error)
                if self._outer.bounded:
                    self._outer.request(1)
            else:
                return
        if all_begun and not self._interrupted:
            self._outer_ended()


class MergeRun(_FlatMapRun):
    """Subscribes to the first ``concurrency`` sources before it emits.

    Otherwise an infinite first source would delay the others for ever.
    """

    _beginning = True

    def _begin(self) -> None:
        try:
            super()._begin()
        finally:
            self._beginning = False

    def _advance(self) -> None:
        if not self._beginning:
            super()._advance()


class _Outer(Input[Any]):
    """The outer stream, whose elements the function maps to inner streams."""

    def __init__(self, owner: _FlatMapRun, concurrency: int) -> None:
        super().__init__(owner, concurrency)
        self.bounded = concurrency < UNBOUNDED
        self._receive = owner._open_inner  # type: ignore[method-assign]

    def discard(self, element: Any) -> None:
        if not isinstance(self._owner._operator, Merge):  # the elements of a Merge are its sources
            super().discard(element)


class _Pushed(QueuedInput[Any]):
    """An inner stream with a bounded queue for the drain loop.

    Attributes:
        unqueued: empty while the stream is in a queue of its owner; the thread that deletes the item queues it.
    """

    _owner: _FlatMapRun

    def __init__(self, owner: _FlatMapRun, prefetch: int, *, passes: bool) -> None:
        super().__init__(owner, prefetch, passes=passes)
        self.unqueued = [True]

    def has_elements(self) -> bool:
        """Return whether there is a buffered element."""
        return bool(self.elements)

    def emit_up_to(self, limit: int) -> None:
        """Emit buffered elements up to the demand, in the drain loop."""
        self.taken(self._owner._emit_from(self.elements))

    def _notify(self) -> None:
        self._owner.notice(self)


class _Pulled:
    """An inner stream over an iterable, pulled on demand in the drain loop."""

    def __init__(self, owner: _FlatMapRun, source: IterablePublisher[Any]) -> None:
        self._owner = owner
        self.unqueued = [True]  # as in ``_Pushed``
        self._chain: Chain[Any] | None = None
        self.error: BaseException | None = None
        try:
            self._chain = Chain(source.iterable, source.stages, source.name, source.site)
            self.ended = self._chain.is_used_up()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if self._chain is not None:
                self._chain.explain(error)
            self.ended = True
            self.error = error

    def take_error(self) -> BaseException | None:
        """Return the error of the iterator, if it has failed."""
        return self.error

    def has_elements(self) -> bool:
        """Return whether there may be another element."""
        return not self.ended

    def emit_up_to(self, limit: int) -> None:
        """Pull and emit up to ``limit`` demanded elements, in the drain loop."""
        whole = self._chain
        assert whole is not None
        try:
            taken = self._owner._emit_through(whole.iterator, limit, steady=whole.steady)
            if taken == limit:
                self.ended = whole.is_used_up()
            elif not self._owner._interrupted:
                whole.check_end()
                self.ended = True
        except BaseException as error:
            whole.explain(error)
            self.error = error
            self.ended = True
            if hooks.is_exit(error):
                raise
            if self._owner._delayed_errors is None:
                self._owner._fail(error)  # before other elements: those of this iterator may not have been counted
        if self.ended:
            self.cancel()

    def cancel_upstream(self) -> None:
        """Do nothing: the drain loop may be pulling from the iterator."""

    def cancel(self) -> None:
        """Release the iterator."""
        whole, self._chain = self._chain, None
        if whole is not None:
            whole.release()


class FlatteningOperator(Operator[Any]):
    """The base class of operators with a function that returns inner streams."""

    name: str
    parameter = "function"

    def __init__(
        self, source: Publisher[Any], function: Callable[[Any], object], prefetch: int, delay_errors: bool = False
    ) -> None:
        super().__init__(source, f"{self.name}({name_of(function)})")
        self.function = checked_callable(function, self.parameter, awaited=True)  # see ``checked_inner``
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.delay_errors = delay_errors


class FlatMap(FlatteningOperator):
    """``flat_map(function)``: interleaves the inner streams."""

    name = "flat_map"
    run_type = _FlatMapRun
    saved = ()

    def __init__(
        self,
        source: Publisher[Any],
        function: Callable[[Any], object],
        concurrency: int,
        prefetch: int,
        delay_errors: bool,
    ) -> None:
        super().__init__(source, function, prefetch, delay_errors)
        self.concurrency = checked_natural(concurrency, "concurrency", 1)


class FlatMapSequential(FlatMap):
    """``flat_map_sequential(function)``: concurrent inner streams, emitted in order."""

    name = "flat_map_sequential"
    run_type = _SequentialRun


class Merge(Operator[Any]):
    """``merge(a, b, ...)``: interleaves the sources."""

    run_type = MergeRun

    def __init__(
        self, sources: Sequence[Publisher[Any]], concurrency: int | None, prefetch: int, delay_errors: bool
    ) -> None:
        super().__init__(None, call_text("merge", sources))
        self.sources: Publisher[Any] = IterablePublisher(checked_sources(sources), (), "sources")
        self.concurrency = UNBOUNDED if concurrency is None else checked_natural(concurrency, "concurrency", 1)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.delay_errors = delay_errors

    @staticmethod
    def function(source: Publisher[Any]) -> Publisher[Any]:
        """Return the inner stream of a source: itself."""
        return source
