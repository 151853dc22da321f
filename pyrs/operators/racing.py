"""first_with_signal and first_with_value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyrs._core import hooks
from pyrs._core.coordinator import Coordinator
from pyrs._core.inputs import DirectInput
from pyrs._core.operator import Operator
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NoElement
from pyrs.operators.combining import call_text, checked_sources


class _RaceRun(Coordinator[Any]):
    """Forwards demand to every source until one wins, then emits its signals."""

    _operator: FirstWithSignal

    def __init__(self, subscriber: Subscriber[Any], operator: FirstWithSignal) -> None:
        super().__init__(subscriber, operator)
        self._inputs = [_Racer(self) for _ in operator.sources]
        self._active = len(self._inputs)
        self._error: BaseException | None = None  # the first error of a source that has lost
        self.winner: _Racer | None = None  # set in the drain loop

    def _begin(self) -> None:
        for each, source in zip(self._inputs, self._operator.sources, strict=True):
            if self.winner is not None or not self._live:
                break
            each.subscribe_to(source)

    def _requested_more(self, n: int) -> None:
        winner = self.winner
        for each in self._inputs if winner is None else (winner,):
            each.request(n)

    def on_source_element(self, racer: _Racer, element: Any) -> None:
        """Emit an element of the winner.

        Without a winner, the source of the element wins. Called in the drain loop.
        """
        if self._wins(racer):
            self._emit(element)
        else:
            self._discard(element)

    def on_source_end(self, racer: _Racer, error: BaseException | None) -> None:
        """Handle the terminal signal of a source, in the drain loop."""
        if self.winner is None and self._operator.by_value:
            self._lost(error)
        elif self._wins(racer):
            self._end_with(error)
        else:
            self._drop(error)

    def _wins(self, racer: _Racer) -> bool:
        if self.winner is None:
            self.winner = racer
            racer.passes = True
            for each in self._inputs:
                if each is not racer:
                    each.cancel()
        return self.winner is racer

    def _lost(self, error: BaseException | None) -> None:
        self._active -= 1
        if error is not None and hooks.is_exit(error):
            self._fail(error)
        elif self._error is None:
            self._error = error
        elif error is not None:
            hooks.on_error_dropped(error, f"{self._operator.call}: an earlier error is the cause of a failure")
        if not self._active and self._live:
            missing = NoElement(f"{self._operator.call}: no source emitted an element")
            missing.__cause__, self._error = self._error, None
            self._raised(missing)

    def _release(self) -> None:
        for each in self._inputs:
            each.cancel()
        self._drop(self._error)


class _Racer(DirectInput[Any]):
    def __init__(self, owner: _RaceRun) -> None:
        super().__init__(owner, partial(owner.on_source_element, self), partial(owner.on_source_end, self))

    def _end(self, error: BaseException | None) -> None:
        self._owner.post(self._on_end, error)


class FirstWithSignal(Operator[Any]):
    """``first_with_signal(a, b, ...)``: the source that signals first."""

    name, by_value = "first_with_signal", False
    run_type = _RaceRun

    def __init__(self, sources: Sequence[Publisher[Any]]) -> None:
        super().__init__(None, call_text(self.name, sources))
        self.sources = checked_sources(sources)


class FirstWithValue(FirstWithSignal):
    """``first_with_value(a, b, ...)``: the source that emits an element first."""

    name, by_value = "first_with_value", True
