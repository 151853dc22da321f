"""SubmissionPublisher: the class of ``java.util.concurrent``, for Python."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from threading import Condition, RLock, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyrs import schedulers
from pyrs._core import hooks
from pyrs._core.context import bound_executor, capture
from pyrs._core.coordinator import TurnTaker
from pyrs._core.demand import UNBOUNDED
from pyrs._core.downstream import checked_subscriber
from pyrs._core.drain import TURN
from pyrs._core.operator import Operator
from pyrs._core.source import InertSubscription
from pyrs._core.validation import checked_callable, checked_error, checked_natural, checked_timeout
from pyrs.api import Subscriber, T
from pyrs.errors import NullSignal, PublisherClosed, SubscribedTwice
from pyrs.schedulers.threads import Inline
from pyrs.stream.stream import Stream

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import timedelta


Handler = Callable[[Subscriber[Any], BaseException], object]
OnDrop = Callable[[Subscriber[Any], Any], object]


class SubmissionPublisher(Stream[T]):
    """Publishes submitted elements to all current Subscribers.

    Each Subscriber has its own buffer and is signalled on the scheduler, independently of the others. ``submit``
    **slows**: it blocks while a buffer is full. ``offer`` **drops**. A Subscriber receives the elements that are
    submitted after its ``subscribe`` call, in the order of submission. A Subscriber that subscribes after the close
    receives only the terminal signal. After 256 elements, other tasks of the scheduler get the thread.

    The publisher is also a context manager: leaving the block closes it, and an exception closes it exceptionally.

    Differences from the JDK's class: an error is emitted after the buffered elements; the JDK emits it at once and
    drops them. A thread that blocks in ``submit`` does not block other threads or ``close``.

    Args:
        scheduler: runs all signals to the Subscribers, including ``on_subscribe``; None for the current one.
        max_buffer_capacity: the exact maximum number of buffered elements per Subscriber (the JDK rounds it up to a
            power of 2).
        handler: called with a Subscriber and the exception of its ``on_next``, after its Subscription was cancelled.
            Without a handler the exception is reported to the dropped-errors hook.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: ``max_buffer_capacity`` is less than 1.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 1.9, 1.11, 2.12, 2.13, 3.3 and those of ``Subscription``.

    Examples:
        >>> from pyrs.sinks import SubmissionPublisher
        >>> seen = []
        >>> with SubmissionPublisher() as publisher:
        ...     done = publisher.consume(seen.append)
        ...     for n in range(3):
        ...         _ = publisher.submit(n)
        >>> done.result(timeout=30)
        >>> seen
        [0, 1, 2]
    """

    def __init__(
        self,
        scheduler: schedulers.Scheduler | None = None,
        max_buffer_capacity: int = 256,
        handler: Handler | None = None,
    ) -> None:
        core: _Core = _Core(
            schedulers.current(scheduler),
            checked_natural(max_buffer_capacity, "max_buffer_capacity", 1),
            None if handler is None else checked_callable(handler, "handler"),
        )
        self._core = core
        super().__init__(core)

    # Publishing

    def submit(self, element: T, /) -> int:
        """Publish the element; block while a Subscriber's buffer is full.

        The call waits until the buffer has capacity, its Subscriber cancels, or the publisher is closed. It raises an
        error if the wait would be a deadlock: on the running asyncio loop, and in ``on_next`` of the full buffer's
        Subscriber.

        Returns:
            The estimated lag of the slowest Subscriber: at least 1 with Subscribers, else 0.

        Raises:
            PublisherClosed: the publisher is closed. If it was closed during the wait, the Subscribers that had
                capacity before the close receive the element.
            NullSignal: ``element`` is None.
            RuntimeError: the call would deadlock. Subscribers whose buffers had capacity receive the element.
        """
        return self._core.publish(element, None, None)

    def offer(
        self,
        element: T,
        /,
        on_drop: OnDrop | None = None,
        timeout: float | timedelta = 0.0,
    ) -> int:
        """Publish the element to each Subscriber with capacity before the timeout.

        Args:
            element: the element, not None.
            on_drop: called with a Subscriber whose buffer is full, and the element. If it returns True, the
                element is offered to that Subscriber once more. ``on_drop`` must not call methods of the
                Subscriber.
            timeout: the maximum number of seconds to wait for capacity, for all Subscribers together.

        Returns:
            The estimated lag of the slowest Subscriber; or ``-n`` if ``n`` Subscribers missed the element.

        Raises:
            PublisherClosed: the publisher is closed.
            NullSignal: ``element`` is None.
            TypeError: ``on_drop`` is not callable, or ``timeout`` is not a duration.
            ValueError: ``timeout`` is negative or not finite.
            RuntimeError: the call would deadlock; see ``submit``.
            BaseException: ``on_drop`` raised it.
        """
        if on_drop is not None:
            checked_callable(on_drop, "on_drop")
        return self._core.publish(element, checked_timeout(timeout, "timeout"), on_drop)

    def consume(self, function: Callable[[T], object]) -> Future[None]:
        """Call the function with each element that is submitted from now on.

        Requests unbounded demand. A slow function slows ``submit``, because elements wait in the buffer.

        Returns:
            A future that completes when the publisher was closed and all elements were consumed. It fails with the
            error of the function or of the publisher. Cancelling it cancels the Subscription.

        Raises:
            TypeError: ``function`` is not callable.
        """
        from pyrs.adapters.futures import ConsumingSubscriber  # concurrent.futures is a slow import

        consumer = ConsumingSubscriber(checked_callable(function, "function"), "consume()")
        self.subscribe(consumer)
        return consumer.future

    # Closing

    def close(self) -> None:
        """Accept no more elements, and complete all Subscribers.

        They complete after their buffered elements. Idempotent. Does not wait.
        """
        self._core.close(None)

    def close_exceptionally(self, error: BaseException, /) -> None:
        """Accept no more elements, and fail all current and later Subscribers.

        They fail after their buffered elements. Does not wait. It has no effect if the publisher is already closed.

        Raises:
            NullSignal: ``error`` is None.
            TypeError: ``error`` is not an exception.
        """
        self._core.close(checked_error(error))

    def __enter__(self) -> SubmissionPublisher[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._core.close(error)

    # Inspection

    @property
    def is_closed(self) -> bool:
        """Return whether the publisher accepts no more elements."""
        return self._core.closed

    @property
    def closed_exception(self) -> BaseException | None:
        """Return the error of ``close_exceptionally``, or None."""
        return self._core.error

    @property
    def max_buffer_capacity(self) -> int:
        """Return the maximum number of buffered elements per Subscriber."""
        return self._core.capacity

    @property
    def subscribers(self) -> tuple[Subscriber[Any], ...]:
        """Return the current Subscribers, for monitoring; do not call them."""
        return tuple(each._subscriber for each in self._core.subscriptions if each._subscriber is not None)

    @property
    def number_of_subscribers(self) -> int:
        """Return the current number of Subscribers."""
        return len(self._core.subscriptions)

    @property
    def has_subscribers(self) -> bool:
        """Return whether there are Subscribers."""
        return bool(self._core.subscriptions)

    def is_subscribed(self, subscriber: Subscriber[Any], /) -> bool:
        """Return whether this Subscriber object is subscribed.

        Raises:
            NullSignal: ``subscriber`` is None.
        """
        if subscriber is None:
            raise NullSignal("is_subscribed(None): a Subscriber is needed", rule="1.9", party="Subscriber")
        return any(subscription._subscriber is subscriber for subscription in self._core.subscriptions)

    def estimate_minimum_demand(self) -> int:
        """Return the minimum over all Subscribers of demand minus buffered elements.

        0 without Subscribers; negative, like the JDK's, if more elements are buffered for a Subscriber than it demands.
        """
        return min((min(each._demand(), UNBOUNDED) - each.lag for each in self._core.subscriptions), default=0)

    def estimate_maximum_lag(self) -> int:
        """Return the number of elements that the slowest Subscriber has not received.

        0 without Subscribers.
        """
        return max((subscription.lag for subscription in self._core.subscriptions), default=0)


class _Core(Operator[Any]):
    """The Publisher that implements the methods of ``SubmissionPublisher``."""

    identifies_subscribers = True  # so telemetry must not wrap them

    def __init__(self, scheduler: schedulers.Scheduler, capacity: int, handler: Handler | None) -> None:
        super().__init__(None, "SubmissionPublisher()")
        self.scheduler = scheduler
        self.capacity = capacity
        self.handler = handler
        self.closed = False
        self.error: BaseException | None = None
        self.subscriptions: tuple[_BufferedSubscription, ...] = ()  # replaced, never changed
        # Guards the subscriptions. Held while an element is appended to all of them, so that all have the same order.
        # Notified when a ticket is settled. Reentrant: a finalizer may cancel while the lock is held.
        self.lock = Condition(RLock())

    def __repr__(self) -> str:
        return f"<SubmissionPublisher: {len(self.subscriptions)} subscribers{', closed' if self.closed else ''}>"

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber = checked_subscriber(subscriber)
        try:
            subscription = _BufferedSubscription(subscriber, self)
        except RuntimeError as error:  # this thread blocks the loop of the scheduler
            InertSubscription(subscriber, error).start()
            return
        with self.lock:
            before = next((each for each in self.subscriptions if each._subscriber is subscriber), None)
            if before is None:
                if self.closed:
                    subscription.closing = True
                else:
                    self._change(lambda subscriptions: (*subscriptions, subscription))
        if before is None:
            subscription.start_on_scheduler()
        else:
            before.post_end(before._fail, SubscribedTwice("this Subscriber is subscribed to this publisher already"))

    def remove(self, subscription: _BufferedSubscription) -> None:
        """Remove a subscription, and release the callers that wait for its buffer."""
        with self.lock:
            self._change(lambda subscriptions: tuple([each for each in subscriptions if each is not subscription]))
            self._settle(subscription, taken=True)

    def _change(self, change: Callable[[tuple[_BufferedSubscription, ...]], tuple[_BufferedSubscription, ...]]) -> None:
        """Replace the subscriptions. Called under the lock."""
        while True:
            before = self.subscriptions
            after = change(before)
            if before is self.subscriptions:  # otherwise a finalizer has cancelled a Subscriber during change()
                self.subscriptions = after
                return

    def close(self, error: BaseException | None) -> None:
        with self.lock:
            if self.closed:
                return
            self.closed = True
            self.error = error
            subscriptions = self.subscriptions
            for subscription in subscriptions:
                subscription.closing = True
                self._settle(subscription, taken=False)
        _wake(subscriptions)

    def publish(self, element: Any, seconds: float | None, on_drop: OnDrop | None) -> int:
        """Append the element to every buffer, or queue it for those that are full.

        Waits at most ``seconds``; None for no limit. Calls ``on_drop`` for each Subscriber without capacity in time.
        """
        if element is None:
            raise NullSignal("None is not an element")
        waiting = []
        with self.lock:
            if self.closed:
                raise PublisherClosed("the publisher is closed")
            subscriptions = self.subscriptions
            for subscription in subscriptions:
                if not subscription.put(element):
                    ticket = _Ticket(subscription, element)
                    subscription.waiting.append(ticket)
                    self.admit(subscription)  # the drain loop may have consumed elements before it saw the ticket
                    if not ticket.settled:
                        waiting.append(ticket)
        try:
            _wake(subscriptions)
            if waiting:
                self._wait(waiting, seconds)
        finally:
            self._withdraw(waiting)  # also after an interrupt
        drops = sum(1 for ticket in waiting if not ticket.taken and not self._retried(ticket, on_drop))
        if drops:
            return -drops
        return max((subscription.lag or 1 for subscription in self.subscriptions), default=0)

    def _wait(self, tickets: list[_Ticket], seconds: float | None) -> None:
        if seconds != 0:
            _check_waiting(tickets)
        with self.lock:
            self.lock.wait_for(lambda: all(ticket.settled for ticket in tickets), seconds)
        if seconds is None and not all(ticket.taken for ticket in tickets):
            raise PublisherClosed("the publisher was closed while an element waited for buffer capacity")

    def _withdraw(self, tickets: list[_Ticket]) -> None:
        """Remove the tickets that still wait."""
        if tickets:
            with self.lock:
                for ticket in tickets:
                    if not ticket.settled:
                        ticket.settled = True
                        ticket.subscription.waiting.remove(ticket)

    def _retried(self, ticket: _Ticket, on_drop: OnDrop | None) -> bool:
        subscriber = ticket.subscription._subscriber
        if on_drop is None or subscriber is None or on_drop(subscriber, ticket.element) is not True:
            return False
        with self.lock:
            taken = not self.closed and ticket.subscription.put(ticket.element)
        ticket.subscription.wake()
        return taken

    def admit(self, subscription: _BufferedSubscription) -> None:
        """Admit waiting elements while the subscription has capacity."""
        with self.lock:
            while subscription.waiting and len(subscription.elements) < self.capacity:
                ticket = subscription.waiting.popleft()
                subscription.elements.append(ticket.element)
                ticket.taken = ticket.settled = True
            self.lock.notify_all()

    def _settle(self, subscription: _BufferedSubscription, taken: bool) -> None:
        while subscription.waiting:  # no "for" loop: a finalizer may cancel and settle tickets at the same time
            ticket = subscription.waiting.popleft()
            ticket.taken, ticket.settled = taken, True
        self.lock.notify_all()


def _wake(subscriptions: tuple[_BufferedSubscription, ...]) -> None:
    """Wake all subscriptions, also if an interrupt is raised."""
    interrupt = None
    for subscription in subscriptions:
        try:
            subscription.wake()
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _check_waiting(tickets: list[_Ticket]) -> None:
    """Raise RuntimeError if waiting would be a deadlock."""
    asyncio = sys.modules.get("asyncio")
    if any(ticket.subscription.worker == get_ident() for ticket in tickets):
        why = "the call would deadlock: it was made inside on_next of the Subscriber whose buffer is full"
    elif asyncio is not None and asyncio._get_running_loop() is not None:
        why = "the call would block the running asyncio loop: use offer() without a timeout, or another thread"
    else:
        return
    raise RuntimeError(why)


class _Ticket:
    """An element that waits for capacity, in submission order, under the core's lock."""

    def __init__(self, subscription: _BufferedSubscription, element: Any) -> None:
        self.subscription = subscription
        self.element = element
        self.settled = False  # the element no longer waits
        self.taken = False  # the element is in the buffer, or its Subscriber has cancelled


class _BufferedSubscription(TurnTaker[Any]):
    """One Subscriber's buffer and drain loop."""

    def __init__(self, subscriber: Subscriber[Any], core: _Core) -> None:
        super().__init__(subscriber, core, bound_executor(core.scheduler, capture()))
        self._core = core
        self.elements: deque[Any] = deque()
        self.waiting: deque[_Ticket] = deque()
        self.closing = False  # the publisher was closed
        self.worker = 0  # the thread that is in on_next
        self._turns = not isinstance(core.scheduler, Inline)  # with Inline, each turn would be a recursive call
        self._started = False
        self._turn.clear()  # no drain before start() has called on_subscribe (§1.9), on any thread

    @property
    def lag(self) -> int:
        """Return the number of elements that the Subscriber has not received."""
        return len(self.elements) + len(self.waiting)

    def start_on_scheduler(self) -> None:
        """Call ``on_subscribe`` on the scheduler."""
        execute = self._execute
        assert execute is not None
        try:
            execute(self.start)
        except Exception as error:  # the scheduler is closed: fail the Subscriber on this thread
            self._start_refused(error)

    def _start_refused(self, error: Exception) -> None:
        self._execute = None
        self.post_end(self._fail, error)
        self.start()

    def start(self) -> None:
        self._started = True
        super().start()

    def discarded(self, error: Exception) -> None:
        if self._started:
            super().discarded(error)
        else:
            self._start_refused(error)

    def put(self, element: Any) -> bool:
        """Buffer the element, or return False if the buffer is full.

        Called under the core's lock. Does nothing and returns True if the subscription is not live.
        """
        if self._live:
            if self.waiting or len(self.elements) >= self._core.capacity:
                return False
            self.elements.append(element)
        return True

    def cancel(self) -> None:
        super().cancel()
        self._core.remove(self)  # at once, even while the drain loop is running

    def _advance(self) -> None:
        elements, begin = self.elements, self._emitted
        self.worker = get_ident()
        try:
            if self.waiting:  # a ticket added later wakes the drain loop
                self._core.admit(self)
            while elements and self._live and self._requested > self._emitted:
                if self._posted or self._illegal is not None:
                    return  # fails at once, before the buffered elements
                if self._turns and self._emitted - begin >= TURN:
                    self._more = True
                    return
                element = elements.popleft()
                if self.waiting:
                    self._core.admit(self)
                self._emit(element)
        finally:
            self.worker = 0
        if self.closing and not elements:
            self._end_with(self._core.error)

    def _continue(self) -> None:
        self._again = True
        try:
            self.schedule()
        except RecursionError:
            raise  # does not mean that the scheduler refused the task
        except Exception:  # the scheduler was closed: its close() waits for this task, which emits the rest
            self._turns = False
            self.wake_here()

    def _release(self) -> None:
        self._core.remove(self)
        count = len(self.elements)
        if self._core.subscriptions:  # other Subscribers receive the elements
            self.elements.clear()
        else:
            self._discard_all(self.elements)
        hooks.on_next_dropped(count, "SubmissionPublisher: buffered for a cancelled Subscriber", cancelled=True)

    def _subscriber_raised(
        self, error: BaseException, signal: str = "on_next", subscriber: Subscriber[Any] | None = None
    ) -> None:
        handler, receiver = self._core.handler, self._subscriber
        if handler is None or receiver is None or signal != "on_next" or hooks.is_exit(error):
            super()._subscriber_raised(error, signal, subscriber)
            return
        self._terminate()
        try:
            handler(receiver, error)
        except BaseException as raised:
            hooks.report(raised, "raised by the handler of a SubmissionPublisher")
