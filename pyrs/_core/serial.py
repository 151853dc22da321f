"""A Subscription that signals its Subscriber from a drain loop."""

from __future__ import annotations

from abc import abstractmethod
from contextvars import Context

from pyrs._core import hooks
from pyrs._core.downstream import DownstreamSubscription
from pyrs._core.drain import DrainLoop, Execute
from pyrs.api import Subscriber, T


class SerialSubscription(DrainLoop, DownstreamSubscription[T]):
    """Signals one Subscriber from its drain loop: serially and without a lock (§1.3).

    Rules: 1.3, 1.8, 3.3, 3.12, and those of ``DownstreamSubscription``.
    """

    def __init__(self, subscriber: Subscriber[T], context: Context | None, execute: Execute | None = None) -> None:
        DrainLoop.__init__(self, execute)
        DownstreamSubscription.__init__(self, subscriber, context)

    def _introduce_with_turn(self) -> None:
        """Signal ``on_subscribe`` with the turn, so that no signal overtakes it (§1.9)."""
        self._turn.clear()
        try:
            try:
                self._introduce()
            finally:
                self._turn.append(True)
        except BaseException:
            if not self._live:
                self.run_here()  # on_subscribe cancelled before it raised an exit: release (3.13)
            raise

    @abstractmethod
    def _serve(self) -> None:
        """Emit, complete or fail, as far as possible now, in the drain loop."""

    def _on_cancel(self) -> None:
        self.run_here()  # a running loop stops after its current element (1.8, 3.12)

    def _resume_after(self, error: BaseException) -> None:
        # ``_work`` fails the stream after an interrupt, but this one occurred outside of it. A stream that may never
        # end must not continue before the interrupt is raised.
        if hooks.is_exit(error):
            with self._lock:
                self._illegal = self._illegal or error
                self._interrupted = self._again = True
        super()._resume_after(error)

    def _work(self) -> None:
        self._again = False
        try:
            if self._illegal is None and self._live:
                self._serve()
            if self._illegal is not None and self._live:
                self._fail(self._illegal)  # 3.9, or an interrupt
        except BaseException as error:
            self._fail(error)
            if hooks.is_exit(error):
                raise
        finally:
            if not self._live:
                self._forget()
                self._illegal = None  # the traceback of an interrupt may refer to windows, which would remain open
