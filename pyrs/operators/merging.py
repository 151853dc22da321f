"""Several streams at once, their elements as they come: merge, and flat_map, whose streams are made as it goes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from pyrs._core import hooks
from pyrs._core.blocking import is_blocked
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import kind_of, name_of
from pyrs._core.fusion import Chain
from pyrs._core.inputs import Input, QueuedInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.operators.combining import checked_sources, written
from pyrs.stream.family import Family

__all__ = ["FlatMap", "Merge", "checked_inner", "forgo", "running_loop"]


def checked_inner(result: Any, operator: Operator[Any], loop: Any) -> Publisher[Any]:
    """Return the Publisher that a function gave: of an awaitable its result, of an asynchronous iterable its elements.

    Args:
        result: what the function returned.
        operator: whose function it is: what is awaited and fails, failed there.
        loop: the asyncio loop for what has to be awaited; None for the one that runs here, else the background's.

    Raises:
        TypeError: it is none of these.
    """
    if callable(getattr(result, "subscribe", None)) and not isinstance(result, type):
        return cast("Publisher[Any]", result)
    awaited = hasattr(type(result), "__await__")
    if awaited or hasattr(type(result), "__aiter__"):
        from pyrs.aio.sources import AsyncIterablePublisher, Once  # asyncio is a slow import

        inner = AsyncIterablePublisher(Once(result) if awaited else result, operator.call, loop, only=awaited)
        inner.site = operator.site  # not the line that happened to run when the element came
        return inner
    message = f"the function must return a Publisher, not {kind_of(result)}"
    if isinstance(result, Iterable):
        message += "; pyrs.from_iterable makes a Publisher of an iterable"
    raise TypeError(message)


def forgo(inner: Publisher[Any]) -> None:
    """Nobody will subscribe to what ``checked_inner`` returned, for the stream is over: close what it would await."""
    sources = sys.modules.get("pyrs.aio.sources")  # without it nothing is awaited
    if sources is not None and isinstance(inner, sources.AsyncIterablePublisher):
        inner.discard()


def running_loop() -> Any:
    """Return the asyncio loop that runs on this thread, None where there is none, or one that this stream blocks."""
    asyncio = sys.modules.get("asyncio")  # who has not imported it runs no loop
    return None if asyncio is None or is_blocked() else asyncio._get_running_loop()


class FlatMap(Operator[Any]):
    """``flat_map(function)``: the elements of the function's Publishers, as they come."""

    def __init__(
        self,
        source: Publisher[Any],
        function: Callable[[Any], object],  # see checked_inner
        concurrency: int,
        prefetch: int,
        delay_errors: bool,
    ) -> None:
        super().__init__(source, f"flat_map({name_of(function)})")
        self.outer = source
        self.function = checked_callable(function, "function", awaited=True)
        self.concurrency = concurrency
        self.prefetch = prefetch
        self.delay_errors = delay_errors

    def run(self, subscriber: Subscriber[Any]) -> _FlatMapRun:
        return _FlatMapRun(subscriber, self)


class Merge(Operator[Any]):
    """``merge(a, b, ...)``: elements of all sources as they come."""

    def __init__(
        self, sources: Sequence[Publisher[Any]], concurrency: int | None, prefetch: int, delay_errors: bool
    ) -> None:
        super().__init__(None, written("merge", sources))
        self.outer: Publisher[Any] = IterablePublisher(checked_sources(sources), (), "sources")
        self.function = _same
        self.concurrency = concurrency or UNBOUNDED
        self.prefetch = prefetch
        self.delay_errors = delay_errors

    def run(self, subscriber: Subscriber[Any]) -> _FlatMapRun:
        return _MergeRun(subscriber, self)


def _same(source: Publisher[Any]) -> Publisher[Any]:
    return source


class _FlatMapRun(Coordinator[Any]):
    """Takes inner streams from an outer one and hands on what they give, in turn.

    An inner stream over an iterable is pulled from on the lane, exactly as demanded; any other has a bounded queue.
    Each of them puts itself on the line ``_ready`` when there is something to see, so that no time goes into looking at
    those that are silent. The line is bounded: one entry for each element that is held and each end.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: FlatMap | Merge) -> None:
        super().__init__(subscriber, operator)
        if operator.delay_errors:
            self._consumes = False  # when an inner stream fails it must be known how many elements it gave
        self._source: Publisher[Any] = operator.outer
        self._function = operator.function
        self._loop = running_loop()
        self._prefetch = operator.prefetch
        self._outer = _Outer(self, operator.concurrency)
        self._inners: set[_Pulled | _Pushed] = set()
        self._ready: deque[_Pulled | _Pushed] = deque()
        self._held: deque[_Pulled | _Pushed] = deque()  # those that wait for demand; only the lane sees it
        self._delayed: list[BaseException] | None = [] if operator.delay_errors else None

    def _begin(self) -> None:
        self._outer.subscribe_to(self._source)

    def _open_inner(self, element: Any) -> None:
        """Begin the stream of an element. On the thread that brings the element."""
        publisher = checked_inner(self._function(element), self._operator, self._loop)
        source = publisher.source if isinstance(publisher, Family) else publisher
        if type(source) is IterablePublisher:
            pulled = _Pulled(self, source)
            self._inners.add(pulled)
            if self._live:
                self.notice(pulled)
            else:  # it came too late to be cancelled with the others
                pulled.cancel()
        else:
            pushed = _Pushed(self, self._prefetch, passes=True)
            self._inners.add(pushed)
            if self._live:
                pushed.subscribe_to(publisher)
            else:
                forgo(publisher)

    def notice(self, inner: _Pulled | _Pushed) -> None:
        """There is something to see. From any thread."""
        self._ready.append(inner)
        self.wake()

    def _advance(self) -> None:
        ready, held = self._ready, self._held
        all_begun = self._outer.ended  # read before the inner streams: what began before the end is among them
        while self._live:
            demand = self._demand()
            if held and demand:
                inner = held.popleft()
            elif ready:
                inner = ready.popleft()
            else:
                break
            ended = inner.ended  # read before what it holds: what came before the end is there
            if inner.holds():
                if demand:
                    inner.hand_on(min(demand, self._prefetch))
                    ready.append(inner)  # its next turn is after the others'
                else:
                    held.append(inner)
            elif ended and inner in self._inners:
                self._inners.remove(inner)
                if inner.error is not None:
                    self._failed(inner.error)
                if self._outer.bounded:
                    self._outer.request(1)
        if self._live and all_begun:
            error, self._outer.error = self._outer.error, None
            if error is not None:
                self._failed(error)
            if not self._inners:
                if self._delayed:
                    self._fail(self._delayed.pop())
                else:
                    self._complete()

    def _failed(self, error: BaseException) -> None:
        if self._delayed is None or hooks.is_exit(error):
            self._fail(error)
        elif not self._delayed:
            self._delayed.append(error)
        else:
            hooks.on_error_dropped(error, f"{self._operator.call}: it is to fail with another")

    def _release(self) -> None:
        self._outer.cancel()
        for inner in tuple(self._inners):
            inner.cancel()
            self._drop(inner.error)
        for error in (self._outer.error, *(self._delayed or ())):
            self._drop(error)
        self._inners.clear()
        self._ready.clear()
        self._held.clear()


class _MergeRun(_FlatMapRun):
    """Begins all the sources that it may before it hands on anything: the first of them may never end."""

    def __init__(self, subscriber: Subscriber[Any], operator: Merge) -> None:
        super().__init__(subscriber, operator)
        self._beginning = True

    def _begin(self) -> None:
        try:
            super()._begin()
        finally:
            self._beginning = False

    def _advance(self) -> None:
        if not self._beginning:
            super()._advance()


class _Outer(Input[Any]):
    """The stream of the elements from which the inner streams are made."""

    def __init__(self, owner: _FlatMapRun, concurrency: int) -> None:
        super().__init__(owner, concurrency)
        self.bounded = concurrency < UNBOUNDED

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            return
        try:
            self._owner._open_inner(element)
        except BaseException as error:
            self._owner._operator.blame(error)
            self.fail(error)
            if hooks.is_exit(error):
                raise


class _Pushed(QueuedInput[Any]):
    """An inner stream that is asked for a few elements ahead and holds them for the lane."""

    _owner: _FlatMapRun

    def holds(self) -> bool:
        """Whether there is an element for the Subscriber."""
        return bool(self.elements)

    def hand_on(self, limit: int) -> None:
        """Signal what is held, as far as it is demanded. On the lane."""
        self.taken(self._owner._emit_from(self.elements))

    def _notify(self) -> None:
        self._owner.notice(self)


class _Pulled:
    """An inner stream over an iterable: elements are pulled from it on the lane, as they are demanded."""

    def __init__(self, owner: _FlatMapRun, source: IterablePublisher[Any]) -> None:
        self._owner = owner
        self._chain: Chain[Any] | None = None
        self.error: BaseException | None = None
        try:
            self._chain = Chain(source.iterable, source.stages, source.name, source.site)
            self.ended = self._chain.is_used_up()
        except Exception as error:
            self.ended = True
            self.error = error

    def holds(self) -> bool:
        """Whether there may be an element for the Subscriber."""
        return not self.ended

    def hand_on(self, limit: int) -> None:
        """Signal up to ``limit`` elements, which were demanded. On the lane."""
        whole = self._chain
        assert whole is not None
        try:
            taken = self._owner._emit_through(whole.iterator, limit, steady=whole.steady)
            if taken == limit:
                self.ended = whole.is_used_up()
            elif self._owner._live:
                whole.check_end()
                self.ended = True
        except BaseException as error:
            whole.explain(error)
            self.error = error
            self.ended = True
            if hooks.is_exit(error):
                raise
        if self.ended:
            self.cancel()

    def cancel(self) -> None:
        """Let go of the iterator."""
        whole, self._chain = self._chain, None
        if whole is not None:
            whole.release()
