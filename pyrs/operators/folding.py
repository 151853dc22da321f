"""Aggregating operators: to_list, reduce, first, last and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, filterfalse, islice
from sys import maxsize
from typing import Any

from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import call_of, name_of, short
from pyrs._core.fusion import Chain, LengthHint
from pyrs._core.stage import Fold, FoldStage, GatherRun, Stage, StageRun, TailRun, ignored
from pyrs._core.validation import MISSING, checked_callable, checked_given, checked_natural
from pyrs.errors import NoElement, TooManyElements
from pyrs.operators.filtering import TakeLastRun


class ToList(FoldStage):
    """``to_list()``: all elements in a list."""

    call = "to_list()"
    calls_user_code = False

    def begin(self) -> Fold:
        elements: list[Any] = []
        return elements.append, lambda: elements

    def elements_of(self, result: Any) -> list[Any]:
        elements: list[Any] = result
        return elements


class Count(FoldStage):
    """``count()``: the number of elements."""

    call = "count()"
    calls_user_code = False
    keeps_no_element = True

    def begin(self) -> Fold:
        numbers = count()
        return lambda _: next(numbers), lambda: next(numbers)


class ToSet(FoldStage):
    """``to_set()``: all elements in a set."""

    call = "to_set()"

    def begin(self) -> Fold:
        elements: set[Any] = set()
        return elements.add, lambda: elements

    def begin_discarding(self, discard: Callable[[Any], None]) -> Fold:
        elements: set[Any] = set()

        def step(element: Any) -> None:
            if element in elements:  # not a comparison of lengths: a cancel may empty the set at any time
                discard(element)
            else:
                elements.add(element)

        return step, lambda: elements

    def elements_of(self, result: Any) -> set[Any]:
        elements: set[Any] = result
        return elements


class ToDict(FoldStage):
    """``to_dict(key, value)``: all elements in a dict."""

    def __init__(self, key: Callable[[Any], Any], value: Callable[[Any], Any] | None) -> None:
        self.key = checked_callable(key, "key")
        self.value = value if value is None else checked_callable(value, "value")
        self.call = f"to_dict({name_of(key)}{'' if value is None else f', {name_of(value)}'})"

    def begin(self) -> Fold:
        elements: dict[Any, Any] = {}
        key, value = self.key, self.value

        def step(element: Any) -> None:
            elements[key(element)] = element if value is None else value(element)

        return step, lambda: elements

    def begin_discarding(self, discard: Callable[[Any], None]) -> Fold:
        if self.value is not None:
            return self.begin()
        elements: dict[Any, Any] = {}
        key = self.key

        def step(element: Any) -> None:
            mark = key(element)
            before, elements[mark] = elements.get(mark, MISSING), element
            if before is not MISSING:
                discard(before)

        return step, lambda: elements

    def elements_of(self, result: Any) -> list[Any]:
        elements: list[Any] = []
        while self.value is None and result:  # empties the dict, because a step may run at the same time
            elements.append(result.popitem()[1])
        return elements[::-1]


class Reduce(FoldStage):
    """``reduce(function, initial)``: the elements reduced to one value."""

    def __init__(self, function: Callable[[Any, Any], Any], initial: Any) -> None:
        self.function = checked_callable(function, "function")
        self.initial = checked_given(initial, "initial")
        self.emits_if_empty = initial is not MISSING

    def begin(self) -> Fold:
        function, value = self.function, self.initial

        def step(element: Any) -> None:
            nonlocal value
            value = element if value is MISSING else function(value, element)

        def result() -> Any:
            return value if value is not MISSING else _raise_no_element(self)

        return step, result

    def elements_of(self, result: Any) -> list[Any]:
        return [] if result is self.initial else [result]

    def __repr__(self) -> str:
        given = "" if self.initial is MISSING else f", {short(self.initial)}"
        return f"reduce({name_of(self.function)}{given})"


class _LastRun(TakeLastRun):
    def if_none(self) -> Sequence[Any]:
        self.drop = ignored  # type: ignore[method-assign]  # the default is not an element of the source
        return [_default_of(self._stage)]


class Last(FoldStage):
    """``last(default)``: the last element."""

    count = 1  # for its run, which is that of ``take_last(1)``

    def __init__(self, default: Any) -> None:
        self.default = checked_given(default, "default")
        self.emits_if_empty = default is not MISSING

    def begin(self) -> Fold:
        last = self.default

        def step(element: Any) -> None:
            nonlocal last
            last = element

        return step, lambda: _default_of(self) if last is MISSING else last

    def run(self) -> StageRun:
        return _LastRun(self)

    def __repr__(self) -> str:
        return f"last({_shown(self.default)})"


def _default_of(stage: Last | ElementAt) -> Any:
    return _raise_no_element(stage) if stage.default is MISSING else stage.default


def _raise_no_element(stage: Stage) -> Any:
    by_index = isinstance(stage, ElementAt) and not isinstance(stage, First)
    raise NoElement(f"{stage!r}: the stream completed {'before that' if by_index else 'without an'} element")


def _shown(default: Any) -> str:
    return "" if default is MISSING else f"default={short(default)}"


class _ElementAtRun(GatherRun):
    drop = ignored  # only the default is dropped, which is not an element of the source

    def __init__(self, stage: ElementAt) -> None:
        super().__init__(min(stage.index + 1, UNBOUNDED))
        self._stage = stage
        self._left = stage.index
        self._picked = False

    def on_next(self, element: Any) -> None:
        if self._left:
            self._left -= 1
            self.discard(element)
        elif self._picked:
            self.discard(element)
        else:
            self._picked = True
            self.emit(element)
            self.finish()

    def on_complete(self) -> None:
        self.end_with(_default_of(self._stage))


class ElementAt(Stage):
    """``element_at(index, default)``: the element at an index, or the default."""

    run_type = _ElementAtRun

    def __init__(self, index: int, default: Any) -> None:
        self.index = checked_natural(index, "index")
        self.default = checked_given(default, "default")
        self.emits_if_empty = default is not MISSING

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        hint.holding = True
        index = min(self.index, maxsize - 1)
        for element in islice(iterator, index, index + 1):
            hint.used_up = True
            yield element
            whole.ended = True
            return
        whole.check_end()
        if self.default is MISSING:
            whole.raised_in(self)
            _raise_no_element(self)
        hint.used_up = True
        yield from whole.after_end(self.default)

    def __repr__(self) -> str:
        return f"element_at({self.index}{'' if self.default is MISSING else ', '}{_shown(self.default)})"


class First(ElementAt):
    """``first(default)``: the first element."""

    def __init__(self, default: Any) -> None:
        super().__init__(0, default)

    def __repr__(self) -> str:
        return f"first({_shown(self.default)})"


class OnlyElement(FoldStage):
    """``single()``: the only element; requests two, to detect a second one."""

    call = "single()"
    calls_user_code = False
    emits_if_empty = False
    needed = 2

    def begin(self) -> Fold:
        only: list[Any] = []

        def step(element: Any) -> None:
            if only:
                raise TooManyElements(
                    f"{self!r}: the stream emitted a second element; use first() to ignore further elements"
                )
            only.append(element)

        return step, lambda: only.pop() if only else _raise_no_element(self)

    def elements_of(self, result: Any) -> list[Any]:
        return [result]


class _DefaultRun(TailRun):
    drop = ignored  # only the value is dropped, which is not an element of the source

    def __init__(self, stage: DefaultIfEmpty) -> None:
        super().__init__()
        self._value = stage.value

    def on_next(self, element: Any) -> None:
        self.forward(element)

    def on_complete(self) -> None:
        if self._emitted:
            self.complete()
        else:
            self.end_with(self._value)


class DefaultIfEmpty(Stage):
    """``default_if_empty(value)``: the elements, or the value if there are none."""

    calls_user_code = False
    emits_if_empty = True
    run_type = _DefaultRun

    def __init__(self, value: Any) -> None:
        self.value = checked_given(value, "value")
        self.call = call_of("default_if_empty", short, value)

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        for element in iterator:
            hint.holding = False
            yield element
            yield from iterator
            return
        whole.check_end()
        hint.used_up = True
        yield from whole.after_end(self.value)


class _MatchRun(GatherRun):
    drop = ignored  # only the result is dropped, which is not an element of the source

    def __init__(self, stage: Match) -> None:
        super().__init__()
        self._stage = stage
        self._discards = False

    def begin_discarding(self) -> None:
        self._discards = True

    def on_next(self, element: Any) -> None:
        decides = bool(self._stage.function(element)) is self._stage.decisive
        if self._discards:
            self.discard(element)
        if decides:
            self.emit(self._stage.decisive)
            self.finish()

    def on_complete(self) -> None:
        self.end_with(not self._stage.decisive)


class Match(Stage):
    """``any(predicate)`` and ``all(predicate)``: emit the result once it is decided.

    They emit ``decisive`` at the first element for which the predicate has this result. ``decisive`` is True for
    ``any`` and False for ``all``. If no element has this result, the opposite is emitted.
    """

    emits_if_empty = passes_function = True
    run_type = _MatchRun

    def __init__(self, predicate: Callable[[Any], object], decisive: bool) -> None:
        self.function = checked_callable(predicate, "predicate")
        self.decisive = decisive
        self.call = f"{'any' if decisive else 'all'}({name_of(predicate)})"

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        for _ in filter(self.function, iterator) if self.decisive else filterfalse(self.function, iterator):
            hint.used_up = True
            yield self.decisive
            whole.ended = True
            return
        whole.check_end()
        hint.used_up = True
        yield from whole.after_end(not self.decisive)
