"""Iterate over a Publisher asynchronously, and await terminal operations.

Demand is bounded. The loop does not wait for other threads: the elements that they emit wake it once per batch.
Iteration over a synchronous source yields to other tasks every 128 elements.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, closing
from typing import Any, TypeVar

from pyrs._core import hooks
from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import Chain, null_element
from pyrs._core.inputs import PrefetchingInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.observation import awaited, last_operator, last_subscriber, pulled
from pyrs._core.pushed_chain import PushedChainPublisher, PushedChainSubscriber
from pyrs._core.sites import raise_again
from pyrs._core.stage import FoldStage
from pyrs.aio.waking import TURN, Waker, current_waker, is_trio
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal, TooManyElements
from pyrs.operators.terminal import only_element, second_element

T = TypeVar("T")

_PREFETCH = 256


async def elements(source: Publisher[T], prefetch: int, *, observed: bool = True) -> AsyncGenerator[T, None]:
    """Iterate over a Publisher on the running loop.

    Requests ``prefetch`` elements at the first iteration and replenishes at 75 %; ``prefetch=1`` requests each element
    when it is needed. A chain over an iterable is pulled on the loop itself, and yields to other tasks every 128
    elements. Signals may arrive on any thread. The end of the iteration or a closed loop cancels upstream. ``observed``
    is false if the caller observes the subscription.

    Raises:
        BaseException: the error of the stream.
    """
    waker = current_waker()
    if isinstance(source, IterablePublisher):
        discards = source.stages and hooks.is_discarding(())  # an iterator chain cannot discard elements
        if discards or not all(stage.is_mapping for stage in source.stages):
            async with aclosing(_Paced(source, observed).elements(waker)) as paced:
                async for element in paced:
                    yield element
            return
        with closing(pulled(source, observed)) as iterator:
            turn = 0
            for element in iterator:
                yield element
                turn += 1
                if turn == TURN:
                    turn = 0
                    await waker.pause()
        return
    inbox: _Inbox[T] = _Inbox(waker, prefetch)
    try:
        attach(last_operator(source) if observed else source, inbox)
        arrived = inbox.arrived
        turn = 0
        while True:
            if not arrived:
                if inbox.ended:
                    # Checked after ended: elements are in the deque before ended is set.
                    if arrived:
                        continue
                    if (error := inbox.take_error()) is not None:
                        raise_again(error)
                    return
                # turn is not reset here: if the wait returns at once, no other task has run.
                await waker.wait(inbox.is_ready)
                continue
            yield arrived.popleft()
            inbox.taken()  # after the yield: the element has been consumed when the next one is requested
            turn += 1
            if turn == TURN:
                turn = 0
                await waker.pause()
    finally:
        inbox.close()


class _Paced(Subscriber[Any], Subscription):
    """Pulls from an iterable and pushes through the stages, one element at a time.

    It yields to other tasks after every 128 pulled elements. A stage may consume many elements before it emits one: a
    filter that drops everything, over an infinite source, would block the loop if the chain were pulled for its next
    element.
    """

    catches_user_errors = True

    def __init__(self, source: IterablePublisher[Any], observed: bool) -> None:
        self._arrived: deque[Any] = deque()
        self._error: BaseException | None = None
        self._ended = False
        self._chain: Chain[Any] = Chain(source.iterable, (), source.name, source.site)
        subscriber = last_subscriber(source, self) if observed else self
        self._stages = PushedChainSubscriber(subscriber, source.stages)
        self._subscription: Subscription = self._stages

    async def elements(self, waker: Waker) -> AsyncGenerator[Any, None]:
        """Iterate over the emitted elements, and pull when none is buffered."""
        turn = 0
        try:
            self._stages.on_subscribe(self)
            iterator = self._chain.iterator
            while True:
                while self._arrived:
                    yield self._arrived.popleft()
                error, self._error = self._error, None
                if error is not None:
                    raise_again(error)
                if self._ended:
                    return
                self._pull(iterator)
                turn += 1
                if turn == TURN:
                    turn = 0
                    await waker.pause()
        finally:
            self._subscription.cancel()
            self._chain.release()
            hooks.discard_all((), self._arrived)
            error, self._error = self._error, None
            if error is not None and not hooks.is_exit(error):
                hooks.on_error_dropped(error, "the iteration has ended")

    def _pull(self, iterator: Iterator[Any]) -> None:
        try:
            element = next(iterator)
            if element is None:
                raise null_element()
        except StopIteration:
            self._stages.on_complete()
        except BaseException as error:
            self._chain.explain(error)
            self._stages.on_error(error)
            if hooks.is_exit(error):
                raise
        else:
            self._stages.on_next(element)

    # The Subscription of the stages: elements are pulled one by one, whatever the stages request.

    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        pass

    # The Subscriber of the stages

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        subscription.request(UNBOUNDED)

    def on_next(self, element: Any, /) -> None:
        self._arrived.append(element)

    def on_error(self, error: BaseException, /) -> None:
        self._error = error

    def on_complete(self) -> None:
        self._ended = True


class _Inbox(PrefetchingInput[T]):
    """Buffers at most ``prefetch`` elements for the loop and wakes it once per batch.

    Rules: 2.2, 2.11, and those of ``PrefetchingInput``.
    """

    def __init__(self, waker: Waker, prefetch: int) -> None:
        super().__init__(None, prefetch)
        self.arrived: deque[T] = deque()
        self._waker = waker

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            hooks.discard((), element)
            return
        self.arrived.append(element)
        if self.closed:  # cancelled since the check above
            hooks.discard_all((), self.arrived)
        elif self._waker.waiting:
            self._notify()

    def is_ready(self) -> bool:
        """Return whether there is an element or a terminal signal."""
        return bool(self.arrived) or self.ended

    def close(self) -> None:
        """Cancel, unless the stream has terminated."""
        self.ended = True
        self.cancel()
        hooks.discard_all((), self.arrived)

    def _notify(self) -> None:
        if not self._waker.wake():
            self.close()  # the loop is closed, so no element will be consumed


async def single(source: Publisher[Any], optional: bool) -> Any:
    """Return the only element of a Publisher, or None if it is optional and missing.

    If the last stage is a fold, this function iterates over the elements before it, so that a long source does not
    block the loop.

    Raises:
        BaseException: the error of the stream.
    """
    chained = source if isinstance(source, (IterablePublisher, PushedChainPublisher)) and source.stages else None
    if chained is not None and not hooks.is_discarding(()) and isinstance(fold := chained.stages[-1], FoldStage):
        with awaited(chained):
            return await _folded(chained, fold)
    found: list[Any] = []
    try:
        async with aclosing(elements(source, 1)) as arriving:  # so that a cancelled task cancels upstream at once
            async for element in arriving:
                found.append(element)
                if len(found) > 1:
                    raise TooManyElements(second_element(optional))
    except BaseException:
        hooks.discard_all((), found)
        raise
    return only_element(found, optional)


async def _folded(chained: IterablePublisher[Any] | PushedChainPublisher, fold: FoldStage) -> Any:
    """Return the result of the last stage of a chain, a fold."""
    step, result = fold.begin()
    upstream: Publisher[Any]
    if isinstance(chained, IterablePublisher):
        upstream = IterablePublisher(chained.iterable, chained.stages[:-1], chained.name, chained.site)
    else:
        upstream = PushedChainPublisher(chained.source, chained.stages[:-1]) if chained.stages[1:] else chained.source
    async with aclosing(elements(upstream, _PREFETCH, observed=False)) as gathered:
        async for element in gathered:
            try:
                step(element)
            except BaseException as error:
                fold.blame(error)
                raise
    try:
        folded = result()
        if folded is None:
            raise null_element()
    except BaseException as error:
        fold.blame(error)
        raise
    return folded


async def for_each(source: Publisher[T], action: Callable[[T], Awaitable[object]], concurrency: int) -> None:
    """Await the action for each element, at most ``concurrency`` at a time.

    Raises:
        BaseException: the error of the stream or of an action.
    """
    if concurrency > 1:
        if is_trio():
            raise RuntimeError("for_each: concurrency needs an asyncio loop; under trio use concurrency=1")
        from pyrs.operators.coroutines import AsyncMap

        async def act(element: T) -> bool:
            await action(element)
            return True

        async with aclosing(elements(AsyncMap(source, act, concurrency, ordered=False), concurrency)) as done:
            async for _ in done:
                pass
        return
    async with aclosing(elements(source, 1)) as arriving:
        async for element in arriving:
            await action(element)
