"""Run a stage for one key in one micro-batch, from its saved state to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

from pyrs import schedulers
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.operator import Operator, PublisherWrapper
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.saving import SavedRun, resumed
from pyrs._core.stage import FoldStage
from pyrs._core.validation import MISSING, checked_publisher
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.operators.buffering import BufferCount, BufferTime
from pyrs.operators.transforming import Map, Scan
from pyrs.operators.windowing import WindowCount, WindowTime
from pyrs.publishers.basic import from_iterable
from pyrs.spark.keyed.values import decoded, encoded
from pyrs.stream.stream import Stream

_VERSION = 1
"""The version of the saved state. Change it if the variables of an operator change."""


class KeyedResult(NamedTuple):
    """The result of a micro-batch for one key.

    Attributes:
        emitted: the emitted elements.
        state: the new state.
        due: the time in seconds at which the stage must run again, even without a row; None if there is none.
    """

    emitted: list[Any]
    state: str
    due: float | None


class KeyedStage:
    """A stage as a chain of operators whose state can be saved.

    Each key has its own subscription, which lasts for one micro-batch: its operators continue from the state of
    the key. The clock of the subscription is virtual. It starts at the time of the previous micro-batch and advances
    to that of this one, so that timers fire in their order, each at its own time. Then the rows arrive.

    Args:
        stage: a function from Stream to Publisher. It is called once, not for each key.

    Attributes:
        is_timed: whether the stage uses a clock.

    Raises:
        TypeError: the stage does not return a chain of operators over its stream, or the state of an operator cannot
            be saved. The message names the operator.
    """

    def __init__(self, stage: Callable[[Stream[Any]], Publisher[Any]]) -> None:
        self._chain = _chain(stage)
        self._operators = [operator for each in self._chain for operator in _operators(each)]
        self._stateful = [_call(operator) for operator in self._operators if operator.saved]
        self.is_timed = any(hasattr(operator, "scheduler") for operator in self._operators)

    def advance(self, saved: str | None, elements: Iterable[Any], now: float) -> KeyedResult:
        """Continue the stream of a key.

        Args:
            saved: the state that the previous call for this key returned; None for a new key.
            elements: the rows of the key in this micro-batch.
            now: the time of the micro-batch in seconds. A time before that of the previous micro-batch has
                no effect.

        Raises:
            RuntimeError: another stage saved the state, or a version of pyrs whose state has another version; a stream
                that a function returned has not completed; or an operator requests no more rows.
            TypeError: the state of an operator has a value that cannot be saved. The message names the operator and the
                value.
            BaseException: the error of the stream.
        """
        then, former = (now, ()) if saved is None else self._restored(saved)
        if saved is not None and former is None:
            return KeyedResult([], saved, None)  # the stream has completed
        clock = _Clock()
        clock.advance_to(then)
        rows, runs = _Rows(), list[SavedRun]()
        emitted, errors, completed = list[Any](), list[BaseException](), list[bool]()
        collector = CallbackSubscriber[Any](emitted.append, errors.append, lambda: completed.append(True), None)
        with schedulers.use(clock):
            chain = list(map(_with_own_initial, self._chain)) if saved is None else self._chain
            resumed(chain, rows, runs, former or ()).subscribe(collector)
            clock.advance_to(max(now, then))
            for element in elements:
                if not rows.emit(element):
                    break
        if errors:
            raise errors[0]
        ended = bool(completed)
        states = None if ended else [_saved(run) for run in reversed(runs)]
        if rows.starved:
            raise RuntimeError("the stage stopped requesting rows: an operator waits for another thread")
        state = {"version": _VERSION, "operators": self._stateful, "time": clock.now(), "states": states}
        due = None if ended else clock.due()
        return KeyedResult(emitted, json.dumps(state, separators=(",", ":")), due)

    def _restored(self, text: str) -> tuple[float, Sequence[Sequence[Any]] | None]:
        """Return the saved time and states; no states (None) if the stream has completed."""
        state = json.loads(text)
        if state["version"] != _VERSION:
            raise RuntimeError(
                f"the checkpoint has state of version {state['version']}, but this version of pyrs continues from "
                f"version {_VERSION}: use a new checkpoint, or the version of pyrs that wrote it"
            )
        if state["operators"] != self._stateful:
            raise RuntimeError(
                f"the checkpoint has the state of {_listed(state['operators'])}, but the stage now has "
                f"{_listed(self._stateful)}: use a new checkpoint, or the former stage"
            )
        if state["states"] is None:
            return state["time"], None
        # The operators without state, whose lists are empty, may differ from those that the stage had at that time.
        saved = (list(map(decoded, each)) for each in state["states"] if each)
        return state["time"], [next(saved) if operator.saved else [] for operator in self._operators]


def _listed(calls: Sequence[str]) -> str:
    return ", ".join(calls) or "no operator with state"


def _saved(run: SavedRun) -> list[Any]:
    """Return the state of an operator, after checks that it is complete and plain."""
    if not run.is_idle:
        raise RuntimeError(
            f"{_call(run.operator)}: a stream that the function returned has not completed at the end of the "
            "micro-batch, so its state cannot be saved: return streams that emit at once, such as from_iterable"
        )
    try:
        return list(map(encoded, run.state()))
    except TypeError as error:
        raise TypeError(f"{_call(run.operator)} cannot save its state: {error}") from None


def _chain(stage: Callable[[Stream[Any]], Publisher[Any]]) -> list[Any]:
    """Return the Publishers of a stage, from the source to the result."""
    source = _Rows()
    publisher: Any = checked_publisher(stage(Stream(source)), "the result of stage")
    chain: list[Any] = []
    while publisher is not source:
        if isinstance(publisher, PublisherWrapper):
            publisher = publisher.source
            continue
        publisher = _without_window(publisher)
        for operator in reversed(_operators(publisher)):
            reason = _unsupported_reason(operator)
            if reason is not None:
                raise TypeError(f"apply_by_key cannot keep the state of {_call(operator)}: {reason}")
        chain.insert(0, publisher)
        publisher = publisher.source
    return chain


def _operators(publisher: Any) -> Sequence[Any]:
    return publisher.stages if isinstance(publisher, PushedChainPublisher) else (publisher,)


def _call(operator: Any) -> str:
    return str(operator.call) if isinstance(operator, Operator) else repr(operator)


def _unsupported_reason(operator: Any) -> str | None:
    """Return the reason why the state of an operator cannot be saved, None if it can."""
    if isinstance(operator, FoldStage):
        return "it emits when the stream completes, and the stream of a key does not complete; scan emits each result"
    if getattr(operator, "saved", None) is None:
        return "the operator does not support it; the documentation of apply_by_key lists the operators that do"
    if getattr(operator, "scheduler", None) is not None:
        return "Spark measures the time, so the operator must not have a scheduler"
    return None


def _without_window(publisher: Any) -> Any:
    """Return a buffer in place of a window, whose subscription could not be saved."""
    if isinstance(publisher, WindowCount):
        stages = BufferCount(publisher.count, publisher.skip), Map(from_iterable)
        return PushedChainPublisher(publisher.source, stages)
    if isinstance(publisher, WindowTime):
        given = publisher.count, publisher.seconds, publisher.prefetch, publisher.scheduler
        return PushedChainPublisher(BufferTime(publisher.source, *given), (Map(from_iterable),))
    return publisher


def _with_own_initial(publisher: Any) -> Any:
    """Copy the initial values of ``scan`` for a new key.

    The function of ``scan`` may change its first argument, and its first call receives the initial value.
    """
    if not any(isinstance(operator, Scan) for operator in _operators(publisher)):
        return publisher
    return PushedChainPublisher(publisher.source, tuple(map(_copied, publisher.stages)))


def _copied(operator: Any) -> Any:
    if not isinstance(operator, Scan) or operator.initial is MISSING:
        return operator
    operator = copy(operator)
    operator.initial = deepcopy(operator.initial)
    return operator


class _Clock(schedulers.VirtualTime):
    def due(self) -> float | None:
        """Return the time of the next task, None if there is none."""
        with self._queue.lock:
            return self._queue.earliest()


class _Rows(Publisher[Any], Subscription):
    """Emits the rows of a key on demand, and does not complete.

    Attributes:
        starved: whether a row was not emitted because it was not requested.
    """

    carries_context = True

    def __init__(self) -> None:
        self._subscriber: Subscriber[Any] | None = None
        self._demand = 0
        self.starved = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None:
        self._demand += n

    def cancel(self) -> None:
        self._subscriber = None

    def emit(self, row: Any) -> bool:
        """Emit a row if it was requested; return whether it was emitted."""
        if self._subscriber is None or not self._demand:
            self.starved = self._subscriber is not None
            return False
        self._demand -= 1
        self._subscriber.on_next(row)
        return True

    def __repr__(self) -> str:
        return "rows of a key"
