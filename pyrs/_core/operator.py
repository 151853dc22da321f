"""Operators that are separate Publishers, and their Subscriptions."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from pyrs._core import hooks
from pyrs._core.display import LazyText, chained
from pyrs._core.downstream import DownstreamSubscription, checked_subscriber
from pyrs._core.sites import Site, assembly_site, blame
from pyrs._core.source import InertSubscription
from pyrs.api import Publisher, R_co, Subscriber, T


class Startable(Protocol):
    """Serves one Subscriber of an operator."""

    def start(self) -> None:
        """Signal ``on_subscribe``, then subscribe upstream; called once."""


class PublisherWrapper(Publisher[R_co]):
    """A Publisher that forwards the signals of its ``source``, such as a ``Stream``."""

    wraps_source = True
    source: Publisher[R_co]


class Operator(Publisher[R_co]):
    """A Publisher that holds the arguments of an operator.

    Attributes:
        source: the Publisher that the operator was called on, None for an operator without one.
        call: the user's call, such as ``flat_map(load, concurrency=4)``.
        site: the line of user code that assembled the operator.
        saved: the variables that contain the state between two elements (see ``saving``); None if it cannot be saved.
        run_type: serves one Subscriber, usually a ``Coordinator`` or a ``SubscriptionArbiter``.
    """

    carries_context = True
    saved: tuple[str, ...] | None = None
    run_type: ClassVar[type[Any]]

    def __init__(self, source: Publisher[Any] | None, call: str | LazyText) -> None:
        self.source: Any = source
        self.call = call
        self.site: Site | None = assembly_site()

    def subscribe(self, subscriber: Subscriber[R_co], /) -> None:
        subscriber = checked_subscriber(subscriber)
        try:
            run = self.run(subscriber)
        except BaseException as error:  # 1.9: subscribe returns normally
            if hooks.is_exit(error):
                raise
            self.blame(error)
            InertSubscription(subscriber, error).start()
            return
        run.start()

    def run(self, subscriber: Subscriber[Any]) -> Startable:
        """Return the object that serves one Subscriber."""
        run: Startable = self.run_type(subscriber, self)
        return run

    def blame(self, error: BaseException) -> None:
        """Add a note that names this operator to an error that it raised."""
        blame(error, self.call, self.site)

    def __repr__(self) -> str:
        return str(self.call) if self.source is None else chained(self.source, self.call)


class OperatorSubscription(DownstreamSubscription[T]):
    """One Subscriber's subscription to an operator."""

    _operator: Operator[Any]
    _timer: Any = None  # closed when the stream ends

    def is_idle(self) -> bool:
        """Return whether the ``saved`` variables contain the whole state.

        Called only if ``saved`` is not None.
        """
        return True

    def restored(self) -> None:
        """Set the timers again, after the state was restored and before the first signal."""

    @property
    def _call(self) -> str:
        return str(self._operator.call)

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.close()

    def _raised(self, error: BaseException) -> None:
        """Fail because user code raised in this operator.

        Called serially with the signals.
        """
        self._operator.blame(error)
        self._fail(error)
        if hooks.is_exit(error):
            raise error
