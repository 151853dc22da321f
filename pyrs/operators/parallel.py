"""parallel and sequential: dispatch elements to rails, and merge the rails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import bound
from pyrs._core.demand import UNBOUNDED
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.operators.merging import Merge
from pyrs.operators.splitting import Dispatcher, Part, PartHandle, PartRun
from pyrs.schedulers.threads import default


class _RailRun(PartRun):
    """The drain loop of a rail's Subscriber."""

    _part: _Rail

    def _begin(self) -> None:
        super()._begin()
        self._part.dispatcher.rail_subscribed(self._part)

    def _requested_more(self, n: int) -> None:
        self._part.dispatcher.rail_demanded(self._part, n)
        self.wake()


class _Rail(Part):
    """The elements of one rail.

    Attributes:
        wanted: the number of demanded elements that were not dispatched yet.
        resolved: whether the rail was subscribed to, or cannot be subscribed to any more.
    """

    run_type = _RailRun
    dispatcher: _RailDispatcher
    wanted = 0
    resolved = False


class _RailDispatcher(Dispatcher):
    """Requests the demand of the rails once all of them are resolved.

    A rail is resolved when it has a Subscriber or can get none. An earlier request would send all elements of a short
    source to the first rail. When all rails are resolved, the stream of the rails completes. From then on a cancel of
    the last rail reaches upstream.

    If a rail is cancelled, its demand may have been requested already. Its elements go to the other rails, and wait in
    a queue while no rail has demand.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: Rails) -> None:
        super().__init__(subscriber, operator)
        self._rails = deque(_Rail(self, "rail") for _ in range(operator.rails))  # the next rail is the first
        self._unresolved = operator.rails
        self._wanted = 0  # the sum of ``wanted`` of the rails
        self._surplus: deque[Any] = deque()  # empty while a rail has demand
        for rail in self._rails:
            self._open(rail)

    def _open_parts(self) -> Iterable[Part]:
        return self._rails

    def _more(self) -> int:
        more = self._wanted - self._outstanding
        if self._unresolved or more <= 0:
            return 0
        self._outstanding += more
        return more

    def _append(self, element: Any) -> _Rail | None:
        """Append the element to the next rail with demand; called under the lock."""
        rails = self._rails
        for _ in range(len(rails)):
            rails.rotate(-1)
            rail = rails[-1]
            if rail.wanted and rail.dispatch(element):
                rail.wanted -= 1
                self._wanted -= 1
                return rail
        return None

    def _dispatch(self, element: Any) -> Iterable[Part]:
        with self.lock:
            self._outstanding -= 1
            rail = self._append(element)
            kept = rail is not None or self._open_count > 0
            if rail is None and kept:
                self._surplus.append(element)
        if not kept:
            self.discard(element)
        return () if rail is None else (rail,)

    def _end(self, error: BaseException | None) -> None:
        moved = []  # as in ``rail_demanded``
        with self.lock:
            while self._surplus and self._open_count:
                self._rails.rotate(-1)
                if not self._rails[-1].detached:
                    moved.append(self._surplus.popleft())
                    self._rails[-1].elements.append(moved[-1])
        super()._end(error)

    def rail_subscribed(self, rail: _Rail) -> None:
        """Record that a rail has a Subscriber."""
        with self.lock:
            self._resolve(rail)
        self.outer_run.wake()
        self._settle()

    def rail_demanded(self, rail: _Rail, n: int) -> None:
        """Handle a request for ``n`` more elements of a rail."""
        moved = []  # released without the lock: the rail may have emitted the element, which may have a finalizer
        with self.lock:
            if not rail.detached:
                rail.wanted += n
                self._wanted += n
            while self._surplus:
                moved.append(self._surplus.popleft())  # before ``_append``, which may run a finalizer that requests
                if self._append(moved[-1]) is None:
                    self._surplus.appendleft(moved.pop())
                    break
        self._settle()

    def _resolve(self, rail: _Rail) -> None:
        """Count a rail that was subscribed to or detached; called under the lock."""
        if not rail.resolved:
            rail.resolved = True
            self._unresolved -= 1
            if not self._unresolved:
                self.outer_run.ended = True

    def _on_detached(self, part: Any) -> None:
        self._wanted -= part.wanted
        part.wanted = 0
        self._resolve(part)

    def leave(self, part: Part, discards: hooks.Discards = ()) -> None:
        super().leave(part, discards)
        if not self._open_count:
            hooks.discard_all(self.discards, self._surplus)
        self.outer_run.wake()

    def abandon(self, part: Part) -> None:
        super().abandon(part)
        if not self._unresolved:
            try:
                # A thread of the pool wakes it, because a finalizer may run while its thread holds any lock.
                default().execute(bound(self.outer_run.wake, self.outer_run._context))
            except RuntimeError:
                pass  # the interpreter is exiting

    def downstream_cancelled(self) -> None:
        ended = self.outer_run.ended
        super().downstream_cancelled()
        if not ended:  # rails without a Subscriber are not cancelled by the merge
            for rail in self._rails.copy():  # atomic: upstream's thread may rotate them
                self.leave(rail)


_MAX_RAILS = 65_536
"""The maximum number of rails: each subscription creates all of them."""


class Rails(Operator[Any]):
    """``parallel(rails)``: emits the rails."""

    run_type = _RailDispatcher

    def __init__(self, source: Publisher[Any], rails: int, wrap: Callable[[PartHandle], Publisher[Any]]) -> None:
        self.rails = checked_natural(rails, "rails", 1)
        if self.rails > _MAX_RAILS:
            raise ValueError(f"rails must be at most {_MAX_RAILS}, not {self.rails}")
        self.wrap = wrap
        super().__init__(source, f"parallel({rails})")


class Sequential(Merge):
    """``parallel(rails)`` to ``sequential(prefetch)``: merges the transformed rails.

    Args:
        calls: the calls of the operators of the rails.
        transform: applies these operators to a rail.
        thread: the names of the rails' schedulers, for ``explain``; empty without a scheduler.
    """

    def __init__(
        self,
        rails: Rails,
        calls: tuple[str, ...],
        transform: Callable[[Any], Publisher[Any]],
        prefetch: int,
        thread: str,
    ) -> None:
        Operator.__init__(self, rails.source, ".".join((str(rails.call), *calls, "sequential()")))
        self.sources = rails
        self.rails = rails.rails
        self.concurrency = UNBOUNDED
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.delay_errors = False
        self.thread = thread
        self._transform = transform

    def function(self, rail: Any) -> Publisher[Any]:  # type: ignore[override]
        """Return the stream of a rail with its operators."""
        return self._transform(rail)
