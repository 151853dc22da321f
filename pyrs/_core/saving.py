"""Save the state of a stream between two elements, and restore it elsewhere.

If the state of an operator can be saved, its attribute ``saved`` names the variables that contain the state: attributes
of the operator's run or, if the run is a plain function, variables of that function's closure. They are read only when
the state is saved, so there is no cost per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from types import CellType
from typing import Any

from pyrs._core.operator import Operator, OperatorSubscription
from pyrs._core.pushed_chain import PushedChainPublisher, PushedChainSubscriber
from pyrs._core.stage import PlainRun, Stage
from pyrs.api import Publisher, Subscriber


class SavedRun:
    """An operator's run in one subscription, whose state can be read and replaced."""

    def __init__(self, operator: Stage | Operator[Any], run: Any) -> None:
        self.operator = operator
        self._names = operator.saved or ()
        self._run = run

    @property
    def is_idle(self) -> bool:
        """Return whether the variables contain the whole state.

        If not, elements are buffered elsewhere or are being processed.
        """
        return not isinstance(self._run, OperatorSubscription) or self._run.is_idle()

    def state(self) -> list[Any]:
        """Return the values of the variables."""
        run = self._run
        if isinstance(run, PlainRun):
            return [_cell(run, name).cell_contents for name in self._names]
        return [attrgetter(name)(run) for name in self._names]

    def restore(self, state: Sequence[Any]) -> None:
        """Replace the values of the variables, before the first signal."""
        run = self._run
        for name, value in zip(self._names, state, strict=True):
            if isinstance(run, PlainRun):
                _cell(run, name).cell_contents = value
            else:
                owner, _, attribute = name.rpartition(".")
                setattr(attrgetter(owner)(run) if owner else run, attribute, value)
        if isinstance(run, OperatorSubscription):
            run.restored()


def _cell(run: PlainRun, name: str) -> CellType:
    """Return the cell of a variable of the run's function."""
    function: Any = run.plain()[1]
    cell: CellType = function.__closure__[function.__code__.co_freevars.index(name)]
    return cell


class _Resumed(Publisher[Any]):
    """A Publisher of a chain, with the states to restore before the first signal."""

    carries_context = True

    def __init__(self, publisher: Any, source: Publisher[Any], runs: list[SavedRun], states: list[Any]) -> None:
        self._publisher = publisher
        self._source = source
        self._runs = runs
        self._states = states

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        publisher = self._publisher
        if isinstance(publisher, PushedChainPublisher):
            chain = PushedChainSubscriber(subscriber, publisher.stages)
            self._add_runs(zip(publisher.stages, chain._runs, strict=True))
            self._source.subscribe(chain)
            return
        operator = copy(publisher)
        operator.source = self._source
        run = operator.run(subscriber)
        self._add_runs([(operator, run)])
        run.start()

    def _add_runs(self, pairs: Any) -> None:
        added = [SavedRun(operator, run) for operator, run in pairs]
        for run in reversed(added):
            if self._states:
                run.restore(self._states.pop())
            self._runs.append(run)


def resumed(
    chain: Sequence[Any], source: Publisher[Any], runs: list[SavedRun], states: Sequence[Sequence[Any]] = ()
) -> Publisher[Any]:
    """Return a Publisher that continues a chain of operators from a saved state.

    Args:
        chain: the Publishers, from upstream to downstream. Each is a ``PushedChainPublisher`` or an ``Operator``,
            and has only operators whose ``saved`` is not None.
        source: emits the elements after the saved state.
        runs: a list to which ``subscribe`` appends the runs, from downstream to upstream.
        states: the states of the runs, from upstream to downstream; empty to start without a state.
    """
    remaining = list(states)
    publisher = source
    for each in chain:
        publisher = _Resumed(each, publisher, runs, remaining)
    return publisher
