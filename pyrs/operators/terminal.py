"""Terminal operations that block the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event
from time import perf_counter
from typing import Any

from pyrs._core import hooks
from pyrs._core.blocked_threads import while_blocked
from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import IteratorConsumer, checked_result, non_null, null_element, skip
from pyrs._core.inputs import Input, PrefetchingInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.observation import last_operator, pulled
from pyrs._core.sites import raise_again
from pyrs._core.validation import checked_timeout
from pyrs.api import Publisher, T
from pyrs.errors import NullSignal, SpecViolation, TooManyElements

_IN_MEMORY: type = type(iter([]))
_PREFETCH, _MAX_PREFETCH, _GROWTH = 256, 4096, 4
# A consumer is fast if an element takes less time. At 1 GB/s, 4,096 elements of such a stream have at most 16 MB.
_FAST_SECONDS = 4e-6


def for_each(source: Publisher[T], action: Callable[[T], object], timeout: float | None) -> None:
    """Implement ``Stream.for_each`` with a plain function."""
    _ForEach(action).run(source, _checked(timeout))


def collect(source: Publisher[T], timeout: float | None) -> list[T]:
    """Implement ``Stream.collect``."""
    elements: list[T] = []
    try:
        _Collect(elements).run(source, _checked(timeout))
    except BaseException:
        hooks.discard_all((), elements)
        raise
    return elements


def single(source: Publisher[T], timeout: float | None, optional: bool) -> Any:
    """Wait for the only element of a Single, or the ``optional`` one of a Maybe."""
    found: list[Any] = []

    def take(element: Any) -> None:
        if found:
            hooks.discard((), element)
            raise TooManyElements(second_element(optional))
        found.append(element)

    try:
        _ForEach(take).run(source, _checked(timeout))
    except BaseException:
        hooks.discard_all((), found)
        raise
    return only_element(found, optional)


def only_element(found: list[Any], optional: bool) -> Any:
    """Return the element of a completed stream, or None if it is optional and missing."""
    if found or optional:
        return found[0] if found else None
    raise SpecViolation("a Single completed without an element; it must emit exactly one", party="Publisher")


def second_element(optional: bool) -> str:
    """Return the error message for a Maybe or Single that emitted a second element."""
    kind = "a Maybe must emit at most one element" if optional else "a Single must emit exactly one element"
    return f"{kind}, but emitted a second one; use concat_map, or Stream(single), for several elements"


def _checked(timeout: float | None) -> float | None:
    return None if timeout is None else checked_timeout(timeout, "timeout")


class _ForEach(Input[T], IteratorConsumer[T]):
    """Calls the action with each element; one thread waits for the terminal signal.

    Rules: 2.1, and those of ``Input``.
    """

    def __init__(self, action: Callable[[T], object]) -> None:
        super().__init__(None, UNBOUNDED)
        self._action = action
        self._done = Event()

    def run(self, source: Publisher[T], timeout: float | None) -> None:
        try:
            while_blocked(attach, last_operator(source), self)
            if not self._done.wait(timeout):
                raise TimeoutError(f"the stream did not terminate within {timeout} seconds")
        except BaseException as raised:
            if self.error is raised:
                self.take_error()  # not dropped: the caller receives it
            self.cancel()
            raise
        if self.error is not None and (error := self.take_error()) is not None:
            try:
                raise_again(error)
            finally:
                del error  # breaks the reference cycle of the error, its traceback and this frame

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        action = self._action
        taken = 0
        for element in iterator:
            if element is None:
                raise null_element()
            try:
                if (result := action(element)) is not None:
                    checked_result(result)
            except BaseException as error:
                self.fail(error)
            taken += 1
            if taken == limit or self._closed:
                break
        return taken + self._skip(iterator, limit - taken)

    def _skip(self, iterator: Iterator[T], limit: int) -> int:
        """After the end, discard elements until upstream is cancelled."""
        return skip(iterator, limit, lambda: self._upstream_over, self.discard) if self._closed else 0

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
        else:
            try:
                if (result := self._action(element)) is not None:
                    checked_result(result)
            except BaseException as error:  # raised again by run(), on the thread that waits
                self.fail(error)

    def _notify(self) -> None:
        self._done.set()


class _Collect(_ForEach[T]):
    """Appends the elements to a list, in whole batches if they are in memory."""

    def __init__(self, elements: list[T]) -> None:
        super().__init__(elements.append)
        self._elements = elements

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        if type(iterator) is _IN_MEMORY and not self._closed:
            batch, null = non_null(iterator, limit)
            self._elements += batch
            if null:
                raise null_element()
            return len(batch)
        append = self._elements.append
        taken = 0
        for element in iterator:
            if element is None:
                raise null_element()
            append(element)
            taken += 1
            if taken == limit or self._closed:
                break
        return taken + self._skip(iterator, limit - taken)


def to_iterable(
    source: Publisher[T], prefetch: int | None, timeout: float | None, late: Any = TimeoutError
) -> Iterator[T]:
    """Implement ``Stream.to_iterable``.

    If no element arrives within the timeout, a ``late`` that is not ``TimeoutError`` is yielded, and the stream
    continues.
    """
    timeout = _checked(timeout)
    queue: _Queue[T]
    if isinstance(source, IterablePublisher):
        if not (source.stages and hooks.is_discarding(())):
            return pulled(source)
        queue = _Queue(1)  # pushed, as in ``subscribe``: an iterator chain cannot discard the elements that it drops
    else:
        queue = _Queue(_PREFETCH, _MAX_PREFETCH) if prefetch is None else _Queue(prefetch)
    return _iterate(source, queue, timeout, late)


def _iterate(source: Publisher[T], queue: _Queue[T], timeout: float | None, late: Any) -> Iterator[T]:
    prefetch = queue.prefetch
    left: Iterator[T] = iter(())
    try:
        while_blocked(last_operator(source).subscribe, queue)
        while True:
            try:
                elements, ended = queue.arrived.get(True, timeout)
            except Empty:
                if late is TimeoutError:
                    raise TimeoutError(f"no element arrived within {timeout} seconds") from None
                yield late
                continue
            if ended:
                if (error := queue.take_error()) is not None:
                    raise_again(error)
                return
            left, size = iter(elements), len(elements)
            while size:
                run = min(size, prefetch.until_refill)
                yield from islice(left, run)
                size -= run
                prefetch.consumed += run  # after the yield: the caller has consumed the elements
                if prefetch.consumed >= prefetch.refill_at:
                    while_blocked(queue.refill)
    finally:
        queue.cancel()
        hooks.discard_all((), [*left])
        queue.discard_arrived()


class _Queue(PrefetchingInput[T], IteratorConsumer[T]):
    """Passes elements to another thread, in batches if the source emits batches.

    Args:
        prefetch: the initial maximum number of buffered elements.
        most: the maximum to which ``prefetch`` grows while the consumer is fast; 0 for no growth.
    """

    steady_only = True

    def __init__(self, prefetch: int, most: int = 0) -> None:
        super().__init__(None, prefetch)
        self.arrived: SimpleQueue[tuple[Any, bool]] = SimpleQueue()  # elements, or () and True at the end
        self._most = most
        self._refilled = perf_counter()

    def refill(self) -> None:
        """Request the consumed elements, and more if they were consumed fast.

        A refill costs a thread switch. This dominates the time of a fast consumer, and a larger buffer spreads the
        cost over more elements. Large elements arrive too slowly for the buffer to grow, which bounds its memory.
        """
        prefetch = self.prefetch
        now = perf_counter()
        fast = now - self._refilled < prefetch.consumed * _FAST_SECONDS
        self._refilled = now
        more = prefetch.grow(min(prefetch.size * _GROWTH, self._most)) if fast and prefetch.size < self._most else 0
        more += prefetch.consume(0, at_once=True)
        if not self._closed:
            self.request(more)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            hooks.discard((), element)
            return
        self.arrived.put(((element,), False))
        if self.closed:  # cancelled since the check above
            self.discard_arrived()

    def discard_arrived(self) -> None:
        """Discard the elements that were not consumed, after a cancel, on any thread."""
        while hooks.is_discarding(()):
            try:
                elements, ended = self.arrived.get_nowait()
            except Empty:
                return
            if not ended:
                hooks.discard_all((), list(elements))

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        batch, null = non_null(iterator, limit)
        self.arrived.put((batch, False))
        if self._closed:
            self.discard_arrived()
        if null:
            raise null_element()
        return len(batch)

    def _notify(self) -> None:
        self.arrived.put(((), True))
