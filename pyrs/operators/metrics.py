"""Metrics: counters of the signals of a stream."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from time import perf_counter
from typing import Any

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.stage import PushedStage
from pyrs._core.validation import checked_callable, checked_string
from pyrs.operators.observing import ObservingRun, amount

Observer = Callable[[str, float], object]


class Metrics:
    """Counters of subscriptions, demand and signals, for ``Stream.metrics``.

    A Metrics object counts the subscriptions of all streams that use it. Its counters can be read at any time, from any
    thread.

    Args:
        name: the name of the counters.
        observer: called with a counter's name and its increment, on the thread of the event, for example to update
            Prometheus or OpenTelemetry. It also receives ``first_element_seconds`` and, at the end of a subscription,
            ``seconds``. An exception of the observer is reported to the dropped-errors hook.
        clock: returns the time in seconds.

    Attributes:
        name: the given name.

    Raises:
        TypeError: ``name`` is not a string, or ``observer`` or ``clock`` is not callable.

    Examples:
        >>> import pyrs
        >>> orders = pyrs.Metrics("orders")
        >>> pyrs.range(5).metrics(orders).take(3).collect()
        [0, 1, 2]
        >>> orders
        <Metrics 'orders': 1 subscribed, 3 requested, 3 elements, 0 completed, 0 failed, 1 cancelled, 0 demanded>
    """

    def __init__(
        self, name: str, *, observer: Observer | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.name = checked_string(name, "name")
        self._observer = observer if observer is None else checked_callable(observer, "observer")
        self._clock = checked_callable(clock, "clock")
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._counts = dict.fromkeys(("subscribed", "requested", "elements", "completed", "failed", "cancelled"), 0)
        self._demand = 0
        self._first: float | None = None

    @property
    def subscribed(self) -> int:
        """Return the number of subscriptions."""
        return self._counts["subscribed"]

    @property
    def requested(self) -> int:
        """Return the number of requested elements; at most ``UNBOUNDED``."""
        return min(self._counts["requested"], UNBOUNDED)

    @property
    def elements(self) -> int:
        """Return the number of emitted elements."""
        return self._counts["elements"]

    @property
    def completed(self) -> int:
        """Return the number of completed subscriptions."""
        return self._counts["completed"]

    @property
    def failed(self) -> int:
        """Return the number of failed subscriptions."""
        return self._counts["failed"]

    @property
    def cancelled(self) -> int:
        """Return the number of cancelled subscriptions."""
        return self._counts["cancelled"]

    @property
    def active(self) -> int:
        """Return the number of active subscriptions."""
        with self._lock:
            counts = self._counts
            return counts["subscribed"] - counts["completed"] - counts["failed"] - counts["cancelled"]

    @property
    def demand(self) -> int:
        """Return the unmet demand of the active subscriptions; at most ``UNBOUNDED``."""
        return min(self._demand, UNBOUNDED)

    @property
    def first_element_seconds(self) -> float | None:
        """Return the latest measured time to a first element; None without one."""
        return self._first

    def __repr__(self) -> str:
        with self._lock:
            counts, demand = dict(self._counts), self._demand
        shown = ", ".join(f"{amount(count)} {name}" for name, count in counts.items())
        return f"<Metrics {self.name!r}: {shown}, {amount(demand)} demanded>"

    def _repr_html_(self) -> str:
        from html import escape

        with self._lock:
            rows = {name: amount(count) for name, count in self._counts.items()}
            rows["demand"] = amount(self._demand)
            if self._first is not None:
                rows["first element"] = f"{self._first:.3g} s"
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table><caption>{escape(self.name)}</caption>{cells}</table>"

    def _add(self, counter: str, by: int = 1, demand: int = 0) -> None:
        with self._lock:
            self._counts[counter] += by
            self._demand += demand
        if self._observer is not None:
            self._notify(counter, by)

    def _notify(self, what: str, by: float) -> None:
        if self._observer is not None:
            try:
                self._observer(what, by)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                hooks.on_error_dropped(error, f"raised by the observer of {self.name!r}")


class _MeasuredRun(ObservingRun):
    sees_elements = True

    def __init__(self, stage: Measured) -> None:
        super().__init__()
        self._metrics = stage.metrics
        self._first = True
        self._began = 0.0
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._demand = 0  # the unmet demand of this subscription; written under the lock
        self._over = False

    def on_subscribe(self) -> None:
        self._began = self._metrics._clock()
        self._metrics._add("subscribed")

    def request(self, n: int) -> None:
        if n > 0:
            self._metrics._add("requested", n, self._change(n))
        self.request_upstream(n)

    def on_next(self, element: Any) -> None:
        metrics = self._metrics
        if self._first:
            self._first = False
            metrics._first = seconds = metrics._clock() - self._began
            metrics._notify("first_element_seconds", seconds)
        metrics._add("elements", 1, self._change(-1))
        self.emit(element)

    def ended(self, how: str, error: BaseException | None) -> None:
        with self._lock:
            self._over, left = True, self._demand
        counter = {"on_complete": "completed", "on_error": "failed", "cancel": "cancelled"}[how]
        self._metrics._add(counter, 1, -left)
        self._metrics._notify("seconds", self._metrics._clock() - self._began)

    def _change(self, by: int) -> int:
        """Change the unmet demand and return the change; 0 after termination."""
        with self._lock:
            if self._over:
                return 0
            self._demand += by
            return by


class Measured(PushedStage):
    """``metrics(metrics)``: updates the counters."""

    run_type = _MeasuredRun

    def __init__(self, metrics: Metrics) -> None:
        if not isinstance(metrics, Metrics):
            raise TypeError(f"metrics must be a Metrics, not {type(metrics).__name__}")
        self.metrics = metrics
        self.call = f"metrics({metrics.name!r})"
