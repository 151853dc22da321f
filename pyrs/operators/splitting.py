"""The base classes of windows, groups and rails."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import RLock
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import Prefetch
from pyrs._core.downstream import checked_subscriber
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.source import InertSubscription
from pyrs.api import Publisher, Subscriber
from pyrs.schedulers.threads import default


class PartRun(Coordinator[Any]):
    """The drain loop of a part's Subscriber."""

    def __init__(self, subscriber: Subscriber[Any], part: Part) -> None:
        super().__init__(subscriber, part)
        self._part = part

    def _begin(self) -> None:
        self._part.listener = self  # after on_subscribe (§1.9)

    def _advance(self) -> None:
        part = self._part
        closed = part.closed  # read first: if it is true, ``elements`` contains all remaining ones
        taken = self._emit_from(part.elements)
        if taken:
            part.dispatcher.taken(part, taken)
        if closed and not part.elements and self._live:
            self._end_with(part.error)

    def _error_received(self, error: BaseException) -> None:
        self._part.dispatcher.error_received(error)

    def _drop(self, error: BaseException | None) -> None:
        if error is not self._part.error:  # else the dispatcher reports it, unless another Subscriber receives it
            super()._drop(error)

    def _cancel_upstream(self) -> None:
        self._part.dispatcher.detach(self._part)

    def _release(self) -> None:
        self._part.listener = None
        self._part.dispatcher.leave(self._part, self.discards)


class Part(Operator[Any]):
    """A window, a group or a rail, which accepts one Subscriber.

    Attributes:
        elements: the dispatched elements that are not emitted yet.
        dispatched: the number of dispatched elements.
        closed: whether no more elements will be dispatched. If so, ``error`` is the part's error, if any.
        detached: whether it has no Subscriber and cannot get one: dispatched elements are dropped.
        subscribed: whether it was subscribed to.
    """

    run_type = PartRun

    def __init__(self, dispatcher: Dispatcher, call: str) -> None:
        # super().__init__ would record the calling line of user code, but a part has the line of its operator.
        self.source = None
        self.call = call
        self.site = dispatcher.operator.site
        self.dispatcher = dispatcher
        self.elements: deque[Any] = deque()
        self.dispatched = 0
        self.closed = False
        self.error: BaseException | None = None
        self.detached = False
        self.listener: PartRun | None = None
        self.subscribed = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        # Upstream's signals run in the context of the operator's Subscriber, which may differ from this one.
        subscriber = in_context(checked_subscriber(subscriber))
        with self.dispatcher.lock:
            again, self.subscribed = self.subscribed, True
        if again:
            # Not share(): its first Subscriber would receive elements before the second one subscribes.
            several = f"{self.call} accepts one Subscriber; use publish().ref_count(n) for n Subscribers"
            InertSubscription(subscriber, RuntimeError(several)).start()
        else:
            self.run(subscriber).start()

    def dispatch(self, element: Any) -> bool:
        """Append an element, under the lock; return False if the part is detached."""
        self.dispatched += 1
        if self.detached:
            return False
        self.elements.append(element)
        return True

    def wake(self) -> None:
        """Emit buffered elements up to the demand; called without the lock."""
        listener = self.listener
        if listener is not None:
            listener.wake()


class PartHandle(Publisher[Any]):
    """The Publisher of a part for downstream operators.

    The dispatcher has no reference to the handle. An operator that received the handle may subscribe later; a cancelled
    operator never does. When nothing references the handle, the part can no longer be subscribed to or cancelled.
    """

    carries_context = True

    def __init__(self, part: Part) -> None:
        self.part: Any = part  # a Part, or the subclass of the operator

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.part.subscribe(subscriber)

    def __repr__(self) -> str:
        return repr(self.part)

    def __del__(self) -> None:
        part = self.part
        if not part.subscribed:
            part.dispatcher.abandon(part)


class Dispatcher(Input[Any]):
    """Dispatches upstream's elements to parts and emits new parts downstream.

    It serializes the signals of upstream, the requests and cancels of the downstream Subscriber and of the Subscribers
    of the parts, and timers. The lock guards the set of parts and their elements. Under the lock no user code runs and
    no element is released, because the release of an element may run finalizers.

    The downstream Subscriber may cancel while parts continue: upstream is cancelled when the last of them has
    terminated or can no longer be subscribed to.

    The ``wrap`` of the operator converts the handle of a part to the element that the Subscriber receives.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: Any) -> None:
        super().__init__()
        self.operator = operator
        self._wrap: Callable[[PartHandle], Publisher[Any]] = operator.wrap
        self.lock = RLock()  # reentrant: a finalizer may cancel while the lock is held
        self.outer_run = SplitRun(subscriber, operator, self)
        self.discards = self.outer_run.discards
        self.gone = False  # the downstream Subscriber has cancelled or received a terminal signal
        self._open_count = 0  # the number of open parts that are not detached; under the lock
        self._outstanding = 0  # the number of requested elements that have not arrived; under the lock
        self._unreported_error: BaseException | None = None  # upstream's error, until a Subscriber receives it
        self._terminal_parts: list[Part] = []  # the parts that receive the terminal signal
        self._dispatching = False  # upstream is in on_next, and will call _settle

    def start(self) -> None:
        """Signal ``on_subscribe``, then subscribe to the source; called once."""
        self.outer_run.start()

    # The methods of a subclass. All except the first and the last are called under the lock.

    @abstractmethod
    def _dispatch(self, element: Any) -> Iterable[Part]:
        """Dispatch the element, without the lock, and return the parts to wake."""

    @abstractmethod
    def _open_parts(self) -> Iterable[Part]:
        """Return the parts that receive elements, including detached ones."""

    def _more(self) -> int:
        """Return the number of elements to request now, and count them as requested."""
        return 0

    def _on_demand(self, n: int) -> Part | None:
        """Count the demand for ``n`` more parts; return a part to wake."""

    def _on_taken(self, part: Part, n: int) -> None:
        """Count ``n`` emitted or dropped elements of a part."""

    def _on_detached(self, part: Part) -> None:
        """Update the state for a detached part; called once for each part."""

    def _stop(self) -> None:
        """Release timers; may be called more than once, and without the lock."""

    # For the methods above

    def _refill(self, capacity: int, size: int) -> int:
        """Return the free capacity of a buffer of this size, and count it as requested.

        Return 0 while less than three quarters of the buffer are free and other elements are outstanding.
        """
        more = capacity - self._outstanding
        if more <= 0 or (self._outstanding and more < size - (size >> 2)):
            return 0
        self._outstanding += more
        return more

    def _open(self, part: Part) -> None:
        """Queue a new part, under the lock; wake ``outer_run`` afterwards."""
        self._open_count += 1
        self.outer_run.ready.append(self._wrap(PartHandle(part)))

    def _close_part(self, part: Part) -> None:
        """Dispatch no more elements to the part, under the lock; wake it afterwards."""
        self._open_count -= not (part.closed or part.detached)
        part.closed = True

    def _settle(self) -> None:
        """Request or cancel upstream, whichever is due; called without the lock."""
        with self.lock:
            over = self.gone and not self._open_count
            more = 0 if over else self._more()
        if over:
            self.cancel()
            self._stop()
        elif more:
            self.request(more)

    # From upstream

    def _receive(self, element: Any) -> None:
        self._dispatching = True
        try:
            try:
                parts = self._dispatch(element)
            except BaseException as error:
                self.operator.blame(error)
                if not self._finish(error):
                    self._drop(error)
                self.discard(element)
                if hooks.is_exit(error):
                    raise
            else:
                if self.outer_run.ready:
                    self._announce()
                for part in parts:
                    part.wake()
        finally:
            self._dispatching = False  # before _settle, which also requests for abandoned parts
        self._settle()

    def _announce(self) -> None:
        """Emit the new parts; called without the lock."""
        if self.gone:
            self.downstream_cancelled()  # a finalizer cancelled while the parts were created
        else:
            self.outer_run.wake()

    def _finish(self, error: BaseException | None) -> bool:
        """Cancel upstream and fail or complete; return False if already terminated."""
        with self._guard:
            was_closed, self._closed = self._closed, True
        if not was_closed:
            self.cancel()
            self._end(error)
        return not was_closed

    def _end(self, error: BaseException | None) -> None:
        with self.lock:
            parts = list(self._open_parts())
            for part in parts:
                part.error = error
                self._close_part(part)
            self._unreported_error, self._terminal_parts = error, parts
        self._stop()
        self.outer_run.error = error
        self.outer_run.ended = True
        for part in parts:
            part.wake()
        self.outer_run.wake()
        self._report()

    def error_received(self, error: BaseException) -> None:
        """Record that a Subscriber receives the error of upstream."""
        if error is self._unreported_error:
            self._unreported_error = None

    def _report(self) -> None:
        """Report upstream's error to the hook if no Subscriber can receive it any more."""
        with self.lock:
            error = self._unreported_error
            if (
                error is None
                or not self.gone
                or not all(part.detached or part.listener is None for part in self._terminal_parts)
            ):
                return
            self._unreported_error = None
        self._drop(error)

    def _drop(self, error: BaseException) -> None:
        Coordinator._drop(self.outer_run, error)  # not that of SplitRun, which leaves upstream's error to this class

    # From downstream

    def demanded(self, n: int) -> None:
        """Handle a request for ``n`` more parts."""
        with self.lock:
            part = self._on_demand(n)
        if part is not None:
            part.wake()
        self._settle()

    def taken(self, part: Part, n: int) -> None:
        """Handle ``n`` emitted elements of a part."""
        with self.lock:
            self._on_taken(part, n)
        self._settle()

    def detach(self, part: Part) -> None:
        """Detach a part whose drain loop may be emitting elements; ``leave`` follows."""
        with self.lock:
            self._detach(part)
        self._settle()

    def leave(self, part: Part, discards: hooks.Discards = ()) -> None:
        """Handle the end of a part's subscription, or a part that is not delivered.

        ``discards`` are the functions downstream of the part.
        """
        hooks.discard_all(discards or self.discards, self._take_elements(part))
        self._settle()
        self._report()

    def abandon(self, part: Part) -> None:
        """Handle a part that can no longer be subscribed to.

        A finalizer calls this, on a thread that may hold any lock. Therefore this method only counts and cancels, which
        is cheap (§3.15). A request may run user code, so upstream's current ``on_next`` sends the request if there is
        one, else a thread of the default pool. Such a thread also calls the functions for discarded elements.
        """
        elements = self._take_elements(part)
        discards = bool(elements) and hooks.is_discarding(self.discards)
        with self.lock:
            over = self.gone and not self._open_count
            more = 0 if over or self._dispatching else self._more()
            unreported = self.gone and self._unreported_error is not None
        if over:
            self.cancel()
            self._stop()
        if more or unreported or discards:
            try:
                default().execute(partial(self._catch_up, more, elements))
            except RuntimeError:
                pass  # the interpreter is exiting

    def _catch_up(self, more: int, elements: deque[Any]) -> None:
        hooks.discard_all(self.discards, elements)
        if more:
            self.request(more)
        self._report()

    def _detach(self, part: Part) -> None:
        """Stop dispatching elements to the part, under the lock."""
        if not part.detached:
            part.detached = True
            self._open_count -= not part.closed
            self._on_detached(part)

    def _take_elements(self, part: Part) -> deque[Any]:
        """Detach the part; remove and return the elements that were not emitted."""
        with self.lock:
            self._detach(part)
            elements, part.elements = part.elements, deque()
            self._on_taken(part, len(elements))
        return elements  # released without the lock: they may have finalizers

    def downstream_cancelled(self) -> None:
        """Handle the cancel of downstream: emitted parts continue, others are cancelled.

        May be called more than once, and while ``outer_run`` emits parts.
        """
        with self.lock:
            self.gone = True
        undelivered = list(hooks.emptied(self.outer_run.ready))
        for each in undelivered:
            self.leave(each.source.part)
        self._settle()
        self._report()


class PrefetchingDispatcher(Dispatcher):
    """Keeps ``prefetch`` elements requested or buffered, in all parts together."""

    def __init__(self, subscriber: Subscriber[Any], operator: Any) -> None:
        super().__init__(subscriber, operator)
        self._outstanding = self._demand = operator.prefetch
        self._prefetch = Prefetch(operator.prefetch)

    def _more(self) -> int:
        # A refill waits until 75 % of the prefetch are consumed. That never happens if parts without a consumer buffer
        # more than 25 %: without an outstanding element, request at once, or the stream would stall.
        more = self._prefetch.consume(0, at_once=not self._outstanding)
        self._outstanding += more
        return more

    def _on_taken(self, part: Part, n: int) -> None:
        self._prefetch.consumed += n


class SplitRun(Coordinator[Any]):
    """The drain loop of the Subscriber that receives the parts."""

    def __init__(self, subscriber: Subscriber[Any], operator: Operator[Any], dispatcher: Dispatcher) -> None:
        super().__init__(subscriber, operator)
        self._dispatcher = dispatcher
        self.ready: deque[Any] = deque()
        self.ended = False
        self.error: BaseException | None = None

    def _begin(self) -> None:
        self._dispatcher.subscribe_to(self._operator.source)

    def _requested_more(self, n: int) -> None:
        self._dispatcher.demanded(n)
        self.wake()

    def _advance(self) -> None:
        ended = self.ended  # read first: if it is true, ``ready`` contains all remaining parts
        while self.ready and not self._interrupted and self._demand():
            try:
                part = self.ready.popleft()
            except IndexError:
                return  # a cancel on another thread has emptied it
            self._emit(part)
        if ended and not self.ready and self._live:
            self._end_with(self.error)

    def _discard(self, element: Any) -> None:
        self._dispatcher.leave(element.source.part)  # cancelled after the part was removed from ``ready``

    def _error_received(self, error: BaseException) -> None:
        self._dispatcher.error_received(error)

    def _drop(self, error: BaseException | None) -> None:
        if error is not self.error:  # else the dispatcher reports it, unless another Subscriber receives it
            super()._drop(error)

    def _cancel_upstream(self) -> None:
        self._release()

    def _release(self) -> None:
        self._dispatcher.downstream_cancelled()
