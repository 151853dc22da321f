"""buffer and buffer_*: collect elements into lists, by count, by time or by value."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from sys import maxsize
from typing import TYPE_CHECKING, Any, ClassVar

from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import name_of
from pyrs._core.fusion import Chain, LengthHint
from pyrs._core.inputs import QueuedInput
from pyrs._core.operator import Operator
from pyrs._core.stage import DROP, Stage, TailRun
from pyrs._core.validation import Seconds, checked_callable, checked_natural, checked_seconds
from pyrs.api import Publisher, Subscriber
from pyrs.operators.filtering import DistinctUntilChanged
from pyrs.schedulers.base import checked_scheduler
from pyrs.schedulers.timer import waking_timer

if TYPE_CHECKING:
    from pyrs.operators.splitting import PartHandle
    from pyrs.schedulers import Scheduler


def extent(name: str, count: int | None, skip: int | None, seconds: float | None) -> str:
    """Return the user's call, such as ``window(3, seconds=0.5)``."""
    given = {"skip": skip, "seconds": seconds}
    parts = ([] if count is None else [str(count)]) + [f"{key}={value}" for key, value in given.items() if value]
    return f"{name}({', '.join(parts)})"


def needed(pieces: int, count: int, skip: int) -> int:
    """Return the number of elements of ``pieces`` lists that start ``skip`` apart."""
    return min((pieces - 1) * skip + count, UNBOUNDED) if pieces > 0 else 0


class _BufferRun(TailRun):
    def __init__(self, stage: BufferCount) -> None:
        super().__init__()
        self._count = stage.count
        self._skip = stage.skip
        self._requested_upstream = 0
        self._chunk: list[Any] = []
        self._gap = 0  # the number of elements to skip
        self._emitted_before = 0  # the number of elements of the chunk that an earlier list contained
        self._rest_size = 0  # the length of the first list of ``_rest``

    def on_next(self, element: Any) -> None:
        if self._gap:
            self._gap -= 1
            self.discard(element)
            return
        chunk = self._chunk
        chunk.append(element)
        if self._over:
            self._drop_chunk(chunk)  # release has run on another thread
        elif len(chunk) == self._count:
            with self._lock:  # release discards either this chunk or the next one
                over = self._over
                if not over:
                    self._chunk = chunk[self._skip :]
                    self._emitted_before = len(self._chunk)
            if over:
                self._drop_chunk(chunk)  # type: ignore[unreachable]
                return
            self._gap = max(0, self._skip - self._count)
            self.forward(chunk)

    def on_complete(self) -> None:
        self.end_with(*self._rest())

    def on_error(self, error: BaseException) -> None:
        self.end_with(*self._rest(), error=error)

    def drop(self, element: Any) -> None:
        if len(element) == self._rest_size:  # the first list of _rest, which contains the elements of the others
            self._drop_chunk(element)

    def release(self) -> None:
        super().release()
        with self._lock:
            chunk, self._chunk = self._chunk, []
        self._drop_chunk(chunk)

    def _drop_chunk(self, chunk: list[Any]) -> None:
        with self._lock:  # release may drop the same chunk, on another thread
            count, self._emitted_before = self._emitted_before, 0
            emitted = chunk[:count]  # kept until the lock is released: the elements may have finalizers
            del chunk[: len(emitted)]
        self.discard_all(chunk)

    def _rest(self) -> list[list[Any]]:
        """Remove the incomplete lists; return them."""
        with self._lock:  # release, on another thread, must not take the same elements
            chunk, self._chunk = self._chunk, []
        lists = [chunk[start:] for start in range(0, len(chunk), self._skip)]
        self._rest_size = len(chunk)
        return lists

    def request_more(self, n: int) -> None:
        with self._lock:
            total = needed(self._requested, self._count, self._skip)
            n, self._requested_upstream = total - self._requested_upstream, total
        if n:
            self.request_upstream(n)


class BufferCount(Stage):
    """``buffer(count, skip)``: lists of ``count`` elements."""

    calls_user_code = False
    run_type = _BufferRun
    saved = ("_chunk", "_gap", "_emitted_before")

    def __init__(self, count: int, skip: int | None) -> None:
        self.count = checked_natural(count, "count", 1)
        self.skip = self.count if skip is None else checked_natural(skip, "skip", 1)
        self.call = extent("buffer", self.count, skip, None)

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        count, skip = self.count, self.skip
        chunk: list[Any] = []
        error: BaseException | None = None
        while True:
            try:
                # extend, and not list: it also stores the elements before an error.
                chunk.extend(islice(iterator, min(count - len(chunk), maxsize)))
                if len(chunk) < count:
                    whole.check_end()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as raised:
                error = raised
            if len(chunk) < count:
                break
            hint.holding = skip < count  # the next list begins with elements of this one
            yield chunk
            chunk = chunk[skip:]
            if skip > count:
                gap = min(skip - count, maxsize)
                next(islice(iterator, gap, gap), None)
        hint.holding = True
        while chunk:
            hint.used_up = len(chunk) <= skip
            yield from whole.after_end(chunk)
            chunk = chunk[skip:]
        if error is not None:
            raise error


BEFORE, AFTER, INSTEAD = "before", "after", "instead"
"""Where an element separates two lists: it begins the next one, ends the current one, or is in neither."""

Cut = Callable[[Any], str | None]
"""Called with each element of one subscription; returns where it separates two lists, or None."""


def until(predicate: Callable[[Any], object], cut_before: bool) -> tuple[str, Callable[[], Cut]]:
    """Return the call and the ``Cut`` factory of ``buffer_until``, ``window_until``."""
    place = BEFORE if cut_before else AFTER
    checked_callable(predicate, "predicate")
    call = f"until({name_of(predicate)}{', cut_before=True' if cut_before else ''})"
    return call, lambda: lambda element: place if predicate(element) else None


def during(predicate: Callable[[Any], object]) -> tuple[str, Callable[[], Cut]]:
    """Return the call and the ``Cut`` factory of ``buffer_while``, ``window_while``."""
    checked_callable(predicate, "predicate")
    return f"while({name_of(predicate)})", lambda: lambda element: None if predicate(element) else INSTEAD


def until_changed(key: Callable[[Any], Any] | None) -> tuple[str, Callable[[], Cut]]:
    """Return the call and the ``Cut`` factory of lists and windows of equal keys."""
    distinct = DistinctUntilChanged(key, None)

    def cut() -> Cut:
        passed = distinct.begin()
        return lambda element: None if passed(element) is DROP else BEFORE

    return f"until_changed({'' if key is None else name_of(key)})", cut


def uncut(_: object) -> None:
    """Replace a ``Cut`` after the end, so that its last key is released."""


class _Lists:
    """The current list of one subscription to ``BufferBy``."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self.current: list[Any] = []
        self.dropped: deque[Any] = deque()  # elements that belong to no list, until they are discarded

    def add(self, element: Any) -> list[Any] | None:
        """Add an element, and return the list that it ends."""
        place = self._cut(element)
        current = self.current
        if place is None or place is AFTER:
            current.append(element)
        if place is None:
            return None
        self.current = [element] if place is BEFORE else []
        if place is INSTEAD:
            self.dropped.append(element)
        return current or None

    def rest(self) -> tuple[list[Any], ...]:
        """Remove the incomplete list; return it if it has elements."""
        rest, self.current = self.current, []
        return (rest,) if rest else ()

    def release(self) -> list[Any]:
        """Remove and return the elements; drop the key of the last one."""
        current, self.current = self.current, []
        self._cut = uncut
        return current


class _BufferByRun(TailRun):
    def __init__(self, stage: BufferBy) -> None:
        super().__init__()
        self._lists = _Lists(stage.cut())

    def on_next(self, element: Any) -> None:
        lists = self._lists
        done = lists.add(element)
        if lists.dropped:
            self.discard_all(lists.dropped)
        if self._over:  # release has run on another thread
            self.discard_all(done or [])
            self.discard_all(lists.release())
        elif done is not None:
            self.forward(done)
        elif self._requested < UNBOUNDED:
            self.request_upstream(1)

    def on_complete(self) -> None:
        self.end_with(*self._lists.rest())

    def on_error(self, error: BaseException) -> None:
        self.end_with(*self._lists.rest(), error=error)

    def drop(self, element: Any) -> None:
        self.discard_all(element)

    def release(self) -> None:
        super().release()
        self.discard_all(self._lists.release())


class BufferBy(Stage):
    """The operators that emit lists which the elements delimit.

    They are ``buffer_until``, ``buffer_while`` and ``buffer_until_changed``.

    Args:
        call: the user's call, without ``buffer_``.
        cut: returns the ``Cut`` of one subscription.
    """

    run_type = _BufferByRun

    def __init__(self, call: str, cut: Callable[[], Cut]) -> None:
        self.call = f"buffer_{call}"
        self.cut = cut

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        lists = _Lists(self.cut())
        lists.dropped = deque(maxlen=0)  # no function receives the dropped elements of an iterator chain
        error: BaseException | None = None
        own: BaseException | None = None
        try:
            for element in iterator:
                try:
                    done = lists.add(element)
                except BaseException as raised:
                    whole.raised_in(self)
                    own = raised
                    raise
                if done is not None:
                    hint.holding = bool(lists.current)
                    yield done
                hint.holding = True
            whole.check_end()
        except BaseException as raised:
            if raised is own or isinstance(raised, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise  # close() raises GeneratorExit
            error = raised
        for rest in lists.rest():  # also before an error of the source
            hint.used_up = True
            yield from whole.after_end(rest)
        if error is not None:
            raise error


class _BufferTimeRun(Coordinator[list[Any]]):
    """Moves elements from the input queue to the current list.

    With a count, elements are moved until the list is full. Without a count, they are moved only if a list is demanded;
    until then they stay in the queue, which is bounded.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: BufferTime) -> None:
        super().__init__(subscriber, operator)
        self._count = operator.count
        self._seconds = operator.seconds
        self._timer = waking_timer(self, operator.scheduler)
        self._input = QueuedInput[Any](self, min(operator.prefetch, operator.count or UNBOUNDED))
        self._chunk: list[Any] = []
        self._due = False

    def _advance(self) -> None:
        source = self._input
        self._due = self._timer.claim() or self._due
        while not self._interrupted:
            ended = source.ended  # read first: if it is true, the queue contains all remaining elements
            self._fill()
            chunk, ended = self._chunk, ended and not source.elements
            if not chunk and not source.elements:
                if ended:
                    self._end_with(source.take_error())
                return
            if self._timer.deadline is None and not self._due:
                self._due = self._timer.claim()  # it may have fired since the first check
                if not self._due:
                    self._timer.set_after(self._seconds)
            full = len(chunk) == self._count
            if not (full or self._due or ended) or not chunk or not self._demand():
                return
            self._timer.cancel()
            self._chunk, self._due = [], False
            self._emit(chunk)

    def restored(self) -> None:
        if self._timer.deadline is not None:
            self._timer.set(self._timer.deadline)

    def _fill(self) -> None:
        queue = self._input.elements
        count = len(queue)
        if self._count is not None:
            count = min(count, self._count - len(self._chunk))
        elif not self._demand():
            return
        if count:
            self._chunk.extend(queue.popleft() for _ in range(count))
            self._input.taken(count)

    def _release(self) -> None:
        super()._release()
        self._discard_all(self._chunk)


class BufferTime(Operator[Any]):
    """``buffer(count, seconds=...)``: lists limited by time, and optionally by count."""

    name = "buffer"
    run_type: ClassVar[type[Any]] = _BufferTimeRun
    saved = ("_chunk", "_timer.deadline")

    def __init__(
        self,
        source: Publisher[Any],
        count: int | None,
        seconds: Seconds,
        prefetch: int,
        scheduler: Scheduler | None,
        wrap: Callable[[PartHandle], Publisher[Any]] | None = None,  # of windows
    ) -> None:
        self.wrap = wrap
        self.count = count if count is None else checked_natural(count, "count", 1)
        self.seconds = checked_seconds(seconds, "seconds", positive=True)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.scheduler = checked_scheduler(scheduler)
        super().__init__(source, extent(self.name, count, None, self.seconds))
