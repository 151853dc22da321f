"""filter, take, skip, distinct and related operators."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, islice
from operator import eq
from sys import maxsize
from threading import RLock
from typing import Any

from pyrs._core.demand import add_demand
from pyrs._core.display import name_of
from pyrs._core.fusion import Chain, LengthHint
from pyrs._core.stage import DROP, SELECT, ElementStage, FunctionStage, GatherRun, SelectingRun, Stage, StageRun
from pyrs._core.validation import MISSING, checked_callable, checked_natural


class Filter(FunctionStage):
    """``filter(predicate)``: the elements for which the predicate returns true."""

    name, parameter = "filter", "predicate"
    passes_function = True
    saved = ()

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return filter(self.function, iterator)

    def run(self) -> StageRun:
        return SelectingRun(SELECT, self.function)


class _Counted(Stage):
    """The base class of stages with an element count."""

    calls_user_code = False
    name: str

    def __init__(self, count: int) -> None:
        self.count = checked_natural(count, "count")

    def __repr__(self) -> str:
        return f"{self.name}({self.count})"


class _TakeRun(StageRun):
    def __init__(self, stage: Take) -> None:
        self._left = self._to_request = stage.count
        self._lock = RLock()  # request is called from any thread

    def begin(self) -> None:
        if not self._left:
            self.finish()

    def on_next(self, element: Any) -> None:
        self._left -= 1
        if self._left > 0:
            self.emit(element)
        elif self._left == 0:
            self.emit(element)
            self.finish()
        else:
            self.discard(element)

    def request(self, n: int) -> None:
        if n > 0:
            with self._lock:
                n = min(n, self._to_request)
                self._to_request -= n
            if not n:
                return
        self.request_upstream(n)


class Take(_Counted):
    """``take(count)``: the first elements; never requests more than ``count``."""

    name = "take"
    run_type = _TakeRun
    saved = ("_left",)

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return whole.first(iterator, self.count)


class OfType(Filter):
    """``of_type(cls)``: the instances of a class."""

    def __init__(self, cls: type | tuple[type, ...]) -> None:
        try:
            isinstance(None, cls)
        except TypeError:
            raise TypeError(f"cls must be a class, not {type(cls).__name__}") from None
        super().__init__(lambda element: isinstance(element, cls))
        self.cls = cls

    def __repr__(self) -> str:
        return f"of_type({name_of(self.cls)})"


class _TakeWhileRun(StageRun):
    def __init__(self, stage: TakeWhile) -> None:
        self._predicate = stage.predicate
        self._inclusive = stage.inclusive
        self._ended = False

    def on_next(self, element: Any) -> None:
        if self._ended:  # upstream emits inside the request that the last element has caused
            self.discard(element)
        elif self._predicate(element):
            self.emit(element)
        else:
            self._ended = True
            (self.emit if self._inclusive else self.discard)(element)
            self.finish()


class TakeWhile(Stage):
    """``take_while(predicate, inclusive)``: the elements until the predicate is false."""

    run_type = _TakeWhileRun
    saved = ()

    def __init__(self, predicate: Callable[[Any], object], inclusive: bool) -> None:
        self.predicate = checked_callable(predicate, "predicate")
        self.inclusive = inclusive
        self.call = f"take_while({name_of(predicate)}{', inclusive=True' if inclusive else ''})"

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        predicate = self.predicate
        for element in iterator:
            try:
                passes = predicate(element)
            except BaseException:
                whole.raised_in(self)
                raise
            if not passes:
                if self.inclusive:
                    hint.used_up = True
                    yield element
                whole.ended = True
                return
            yield element


class TakeLastRun(GatherRun):
    """Stores the last ``count`` elements, and emits them or ``if_none`` at the end."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self._stage = stage
        self._count = stage.count
        self._last: deque[Any] = deque(maxlen=min(stage.count, maxsize))

    def begin_discarding(self) -> None:
        self._last = deque()
        self.on_next = self._discard_next  # type: ignore[method-assign]

    def on_next(self, element: Any) -> None:
        self._last.append(element)

    def _discard_next(self, element: Any) -> None:
        last = self._last
        last.append(element)
        if self._over:  # release has run on another thread
            self.discard_all(last)
        elif len(last) > self._count:
            try:
                oldest = last.popleft()
            except IndexError:
                return  # release has run in the meantime
            self.discard(oldest)

    def on_complete(self) -> None:
        with self._lock:  # release, on another thread, must not take the same elements
            last, self._last = self._last, deque(maxlen=0)
        self.end_with(*(last or self.if_none()))

    def if_none(self) -> Sequence[Any]:
        """Return the elements to emit if the source was empty."""
        return ()

    def release(self) -> None:
        super().release()
        with self._lock:
            last, self._last = self._last, deque(maxlen=None if self._last.maxlen is None else 0)
        self.discard_all(last)


class TakeLast(_Counted):
    """``take_last(count)``: the last elements."""

    name = "take_last"
    run_type = TakeLastRun

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        hint.holding = True
        last = deque(iterator, min(self.count, maxsize))
        whole.check_end()
        while last:
            hint.used_up = len(last) == 1
            yield from whole.after_end(last.popleft())


class IgnoreElements(TakeLast):
    """``ignore_elements()``: only the terminal signal."""

    def __init__(self) -> None:
        super().__init__(0)

    def __repr__(self) -> str:
        return "ignore_elements()"


class _SkipRun(StageRun):
    def __init__(self, stage: _Counted) -> None:
        self._left = self._extra = stage.count
        self._lock = RLock()  # request is called from any thread

    def on_next(self, element: Any) -> None:
        if self._left:
            self._left -= 1
            self.discard(element)
        else:
            self.emit(element)

    def request(self, n: int) -> None:
        if n > 0:
            with self._lock:
                extra, self._extra = self._extra, 0
            n = add_demand(n, extra)
        self.request_upstream(n)


class Skip(_Counted):
    """``skip(count)``: all but the first elements."""

    name = "skip"
    run_type = _SkipRun
    saved = ("_left",)

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return islice(iterator, min(self.count, maxsize), None)


class _SkipLastRun(_SkipRun):
    def __init__(self, stage: _Counted) -> None:
        super().__init__(stage)
        self._last: deque[Any] = deque()
        self._released = False

    def on_next(self, element: Any) -> None:
        last = self._last
        last.append(element)
        if self._released:  # release has run on another thread
            self.discard_all(last)
        elif len(last) > self._left:
            try:
                oldest = last.popleft()
            except IndexError:
                return  # release has run in the meantime
            self.emit(oldest)

    def release(self) -> None:
        self._released = True
        self.discard_all(self._last)


class SkipLast(_Counted):
    """``skip_last(count)``: all but the last elements."""

    name = "skip_last"
    run_type = _SkipLastRun

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        last = deque(islice(iterator, min(self.count, maxsize)))
        for element in iterator:
            last.append(element)
            yield last.popleft()


class SkipWhile(FunctionStage, ElementStage):
    """``skip_while(predicate)``: the elements from the first for which it is false."""

    name, parameter = "skip_while", "predicate"
    passes_function = True
    saved = ("skipping",)

    def begin(self) -> Callable[[Any], Any]:
        predicate = self.function
        skipping = True

        def passed(element: Any) -> Any:
            nonlocal skipping
            if skipping and predicate(element):
                return DROP
            skipping = False
            return element

        return passed

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return dropwhile(self.function, iterator)


class Distinct(ElementStage):
    """``distinct(key)``: each element once."""

    saved = ("seen",)

    def __init__(self, key: Callable[[Any], Any] | None) -> None:
        self.key = key if key is None else checked_callable(key, "key")
        self.call = f"distinct({'' if key is None else name_of(key)})"

    def begin(self) -> Callable[[Any], Any]:
        seen: set[Any] = set()
        key = self.key

        def passed(element: Any) -> Any:
            mark = element if key is None else key(element)
            if mark in seen:
                return DROP
            seen.add(mark)
            return element

        return passed


class DistinctUntilChanged(ElementStage):
    """``distinct_until_changed(key, comparer)``: no consecutive duplicates."""

    saved = ("last",)

    def __init__(self, key: Callable[[Any], Any] | None, comparer: Callable[[Any, Any], object] | None) -> None:
        self.key = key if key is None else checked_callable(key, "key")
        self.comparer = comparer if comparer is None else checked_callable(comparer, "comparer")
        given = {"key": key, "comparer": comparer}
        shown = [f"{name}={name_of(function)}" for name, function in given.items() if function is not None]
        self.call = f"distinct_until_changed({', '.join(shown)})"

    def begin(self) -> Callable[[Any], Any]:
        key, same = self.key, eq if self.comparer is None else self.comparer
        last: Any = MISSING

        def passed(element: Any) -> Any:
            nonlocal last
            mark = element if key is None else key(element)
            if last is not MISSING and same(last, mark):
                return DROP
            last = mark
            return element

        return passed
