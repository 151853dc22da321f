"""Deliver the peer's elements to a Python Subscriber: the consumer end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from operator import length_hint
from queue import Empty, SimpleQueue
from typing import Any

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, non_positive
from pyrs._core.drain import DrainLoop
from pyrs._core.fusion import IteratorConsumer
from pyrs._core.observation import CountingSubscription
from pyrs._core.sites import Site
from pyrs._core.validation import checked_integer
from pyrs.api import Subscriber
from pyrs.errors import DemandExceeded, LinkBroken, LinkClosed
from pyrs.jvm.link.frames import CREDIT, Body, FrameType, batch_size, frame
from pyrs.jvm.link.host import StreamHost, report_late, run_in
from pyrs.jvm.link.window import Window

_COMPLETE = object()
_BULK_DEMAND = 64
"""A demand of at least this size limits the size of a chunk, so that elements need not be counted one by one."""


class Returning(bytes):
    """A batch with objects of this side, pinned until it is decoded or dropped."""

    pins: list[int]


class InboundStream(DrainLoop, CountingSubscription):
    """The Subscription of a Python Subscriber on a Publisher of the peer.

    The reader appends to ``_batches`` and the threads of the user to ``_requests``. The drain loop delivers the
    elements, refills the window and ends the stream. It decodes a batch when the batch's turn comes.

    Rules: 1.1 (a batch beyond the credit ends the stream), 1.3 and 1.7 (one drain loop), 2.13 (a Subscriber that raises
    is cancelled), 3.3 (a request inside on_next only adds), 3.5 to 3.9, 3.13 (every reference is dropped at the end),
    3.17.
    """

    # DrainLoop has a __dict__, but CPython looks up slots faster than the items of a dict with more than 30 attributes.
    __slots__ = (
        "_add_request",
        "_batches",
        "_cancel_sent",
        "_cancelled",
        "_confirmed",
        "_context",
        "_current",
        "_decode",
        "_demand",
        "_ended",
        "_left",
        "_lost",
        "_nonpositive_request",
        "_requests",
        "_session",
        "_size",
        "_started",
        "_terminal",
        "_unreadable",
        "discards",
        "handle",
        "id",
        "opened",
        "received",
        "site",
        "subscriber",
        "window",
    )

    def __init__(
        self,
        session: StreamHost,
        identifier: int,
        subscriber: Subscriber[Any],
        *,
        max_prefetch: int,
        exact: bool = False,
        context: Context | None = None,
    ) -> None:
        super().__init__(session.execute)
        self._context = context
        self.discards: hooks.Discards = ()
        self.id = identifier
        self.opened = 0.0
        self.handle = 0  # the handle of the peer's Publisher; 0 for a stream that the peer opened
        self.site: Site | None = None
        self.window = Window(max_prefetch, exact=exact)
        self._session = session
        self.subscriber: Subscriber[Any] | None = subscriber  # None after the end
        self._decode: Callable[[Body], tuple[list[Any], Exception | None]] = session.codec.batch_decoder()
        self._batches: deque[Body] = deque()
        self._requests: deque[int] = deque()
        self._add_request = self._requests.append
        self._current: list[Any] = []
        self._left: Iterator[Any] | None = None  # the rest of the chunk that is being delivered
        self._size = 0  # the size of that chunk
        self._demand = 0
        self.received = 0
        self._terminal: object | None = None
        self._lost: BaseException | None = None
        self._nonpositive_request: int | None = None
        self._unreadable: BaseException | None = None  # the error of a batch, which precedes ``_terminal``
        self._started = False
        self._cancelled = False
        self._ended = False
        self._cancel_sent = threading.Lock()
        self._confirmed: SimpleQueue[None] = SimpleQueue()

    # Called by the user, on any thread.

    def start(self, subscribe: Callable[[], bool] = lambda: False) -> bool:
        """Call ``on_subscribe`` and then ``subscribe``; return the result of the latter.

        The Subscriber receives no other signal before both have returned (§1.3, §1.9). If ``on_subscribe`` raises an
        Exception, ``subscribe`` is not called, and the result is False.
        """
        subscriber = self.subscriber
        assert subscriber is not None
        # Not in ``__init__``, which the reader calls: the look-up of an attribute may run code of the user.
        self.discards = hooks.discards_of(subscriber)
        try:
            run_in(self._context, partial(subscriber.on_subscribe, self))
        except Exception as error:
            # The Subscriber broke §2.13: it is cancelled, and receives no further signal.
            hooks.on_error_dropped(error, "raised by on_subscribe")
            self.cancel()
        except BaseException:
            self.cancel()
            raise
        else:
            return subscribe()
        finally:
            self._started = True
            if self._has_work():
                self._session.schedule(self)
        return False

    def first_credit(self) -> int:
        """Return the credit for the demand of ``on_subscribe``.

        Called inside ``start``, before the drain loop delivers elements.
        """
        while self._requests:
            n = self._requests.popleft()
            self.window.request(n)
            self._demand += n
        return self.window.refill()

    def request(self, n: int) -> None:
        """Request ``n`` more elements.

        Rules: 3.6, 3.8, 3.9 (a non-positive n becomes on_error), 3.16, 3.17.
        """
        if self._cancelled or self._ended:
            return
        if n.__class__ is not int:
            n = checked_integer(n, "n")
        if n <= 0:
            if self._nonpositive_request is None:
                self._nonpositive_request = n
            self._session.schedule(self)
            return
        self._add_request(n)
        # A running drain loop checks for requests before it ends, so the usual request from inside on_next costs only
        # an append. The turn is read without a call of ``is_running``.
        if self._turn:
            self._session.schedule(self)

    def cancel(self) -> None:
        """Cancel the stream; send CANCEL at once, even if on_next is blocked.

        Rules: 3.5, 3.7, 3.12, 3.13, 3.15.
        """
        if self._ended:
            return
        try:
            self._cancelled = True
            self._session.cancel_inbound(self)
        except BaseException:  # an interrupt; a second call of cancel_inbound has no effect
            self._session.cancel_inbound(self)
            raise

    def await_confirmation(self, deadline_seconds: float) -> bool:
        """Wait for SUBSCRIBED or the end of the stream. Returns False after the deadline."""
        if self._cancelled or self._ended:
            return True
        try:
            self._confirmed.get(timeout=deadline_seconds)
        except Empty:
            return False
        return True

    def is_cancelled(self) -> bool:
        """Return True after ``cancel``."""
        return self._cancelled

    # Called by the reader, which only records. ``refused`` and ``forked`` are called by other threads.

    def confirmed(self) -> None:
        """Process SUBSCRIBED. A repeated one occupies no memory."""
        if self._confirmed.empty():
            self._confirmed.put(None)

    def arrived(self, body: Body, *, home: bool = False) -> None:
        """Process NEXT, or NEXT_HOME, which returns objects of this side."""
        elements = batch_size(body)
        self.received += elements
        excess = self.received > self.window.granted
        if self._terminal is not None or self._unreadable is not None or self._cancelled:
            # Elements beyond the credit are not decoded: a peer could fill the queue of the workers with them.
            if excess or not hooks.is_discarding(self.discards):
                self._session.codec.discard(body)
            else:
                self._session.execute(partial(self._drop_batch, self._pinned(body) if home else body))
            return
        if excess:
            self._session.codec.discard(body)
            self._session.execute(self.send_cancel)  # the reader must not write
            self.terminated(
                DemandExceeded(
                    f"the Publisher in the JVM sent {self.received} elements where {self.window.granted} were granted"
                )
            )
            return
        self._batches.append(self._pinned(body) if home else body)
        if self._ended or self._unreadable is not None:
            # The drain loop has just ended the stream, and will not empty the queue again.
            self._session.execute(self._drop_batches)
        self.schedule()

    def _pinned(self, body: Body) -> Returning:
        returning = Returning(body)
        returning.pins = self._session.codec.home_handles(body)
        self._session.handles.pin(returning.pins)
        return returning

    def discards_late(self) -> bool:
        """Return whether elements for a discard function or hook may still arrive."""
        return hooks.is_discarding(self.discards) and self.received < self.window.granted

    def terminated(self, error: BaseException | None) -> None:
        """Process COMPLETE (None) or ERROR."""
        if self._terminal is None:
            self._terminal = _COMPLETE if error is None else error
            self.schedule()

    def refused(self, error: BaseException) -> None:
        """End a stream without REQUEST and CANCEL, because SUBSCRIBE was not sent."""
        self.window = Window(0)
        self._cancel_sent.acquire(blocking=False)
        self.terminated(error)

    def lost(self, error: BaseException) -> None:
        """End the stream with the link: deliver elements with demand, drop the others."""
        self._lost = error
        if self._started:
            self.schedule()

    def forked(self, error: BaseException) -> None:
        """Let the next request in a forked child end the stream.

        The buffered elements belong to the parent, as does the thread that may have the turn.
        """
        self._turn, self._current, self._terminal = [True], [], error
        self._batches.clear()

    # The drain loop.

    def _has_work(self) -> bool:
        if self._ended:
            return False
        if not self._started:
            return self._cancelled  # during start(), or start() is never called
        if self._cancelled or self._nonpositive_request is not None or self._lost is not None or self._requests:
            return True
        if self._batches or self._current:
            return self._demand > 0
        return self._terminal is not None or self._unreadable is not None

    def _work(self) -> None:
        if not self._started:
            if self._cancelled and not self._ended:
                self._end()
            return
        try:
            # All available elements are delivered in one copy of the context: a copy for each would double the time.
            delivered = run_in(self._context, self._deliver)
        except BaseException as error:
            # The Subscriber broke §2.13: it is cancelled, and its error is reported.
            self.cancel()
            hooks.on_error_dropped(error, f"raised by on_next of the Subscriber of stream {self.id}")
            delivered = 0
        # ``_lost`` and ``_terminal`` are read before the queue is checked: the batches that precede them are appended
        # before they are set, so no batch is overlooked. ``_lost`` is read first, so that an earlier terminal signal
        # takes precedence.
        lost = self._lost
        terminal = self._terminal if self._unreadable is None else self._unreadable
        if self._cancelled:
            self._end()
        elif self._nonpositive_request is not None:
            self.send_cancel()
            self._finish(non_positive(self._nonpositive_request))
        elif not self._current and (self._unreadable is not None or not self._batches):
            if terminal is not None:
                self._finish(terminal)
            elif lost is not None:
                self._finish(lost)
            elif delivered:
                self.window.ran_empty = True
                self._refill()
        elif lost is not None and self._demand == 0 and not self._requests:
            self._finish(lost)

    def _deliver(self) -> int:
        """Deliver up to the demand, refill the window, and return the number delivered."""
        subscriber, window, batches, requests = self.subscriber, self.window, self._batches, self._requests
        if subscriber is None:
            return 0
        on_next = subscriber.on_next
        consume = subscriber.consume if isinstance(subscriber, IteratorConsumer) else None
        take = requests.popleft
        demand = self._demand
        before = window.delivered
        while not self._cancelled and self._nonpositive_request is None:
            while requests:
                n = take()
                window.request(n)
                demand += n
            self._refill()
            if not self._current:
                if not batches or self._unreadable is not None:
                    break
                self._next_batch(batches.popleft())
                if not self._current:
                    break
            if demand == 0:
                break
            current = self._current
            # A chunk is at most a quarter of the window, so that the window is refilled in time for a slow Subscriber.
            piece = max(window.limit >> 2, 1)
            if _BULK_DEMAND <= demand < piece:
                piece = demand
            chunk = current if len(current) <= piece else current[:piece]
            size = self._size = len(chunk)
            left = self._left = iter(chunk)
            added = withheld = 0
            covered = demand >= size
            try:
                if not covered:
                    for element in left:
                        if not demand:
                            if not requests:
                                withheld = 1
                                break
                            demand = take()
                            added += demand  # not saturated: a call of window.request would cost more
                        demand -= 1
                        on_next(element)
                        if self._cancelled:
                            break  # type: ignore[unreachable]
                elif consume is not None:
                    consume(left, size)
                else:
                    for element in left:
                        on_next(element)
                        if self._cancelled:  # cancelled by on_next or another thread
                            break  # type: ignore[unreachable]
            finally:  # also if on_next raised: the delivered elements are not counted as dropped
                emitted = size - length_hint(left) - withheld
                if covered:
                    # The demand covers the chunk, so it is not counted element by element.
                    demand -= emitted
                self._demand = demand
                self._left = None
                if emitted == len(current):
                    self._current = []
                else:
                    del current[:emitted]
                window.requested += added
                window.delivered += emitted
        self._demand = demand
        return window.delivered - before

    def _next_batch(self, body: Body) -> None:
        error: BaseException | None
        try:
            self._current, error = self._decode(body)
        except (LinkBroken, LinkClosed) as ended:
            self._current, error = [], self._lost or ended
        except Exception as unreadable:
            self._current, error = [], unreadable
        if type(body) is Returning:
            self._session.release(self._session.handles.unpin(body.pins))
        if error is None:
            self.window.observe(len(self._current), len(body))
        else:
            # A value that cannot be converted to Python ends the stream, after the elements before it.
            self.send_cancel()
            self._unreadable = error
            self._drop_batches()

    def _refill(self) -> None:
        if self._session.open:
            credit = self.window.refill()
            if credit:
                self._session.send(frame(FrameType.REQUEST, self.id, CREDIT.pack(credit)))

    def _finish(self, terminal: object) -> None:
        """End the stream; signal the error, or ``on_complete`` for ``_COMPLETE``."""
        subscriber = self.subscriber
        try:
            self._end(terminal)
        finally:  # a function for discarded elements may raise a SystemExit
            if subscriber is not None:
                try:
                    if isinstance(terminal, BaseException):
                        run_in(self._context, partial(subscriber.on_error, terminal))
                    else:
                        run_in(self._context, subscriber.on_complete)
                except BaseException as raised:
                    hooks.on_error_dropped(raised, "raised by the Subscriber's terminal signal")

    def _end(self, signal: object = None) -> None:
        """Drop every reference (§3.13); count the undelivered elements.

        Reports the errors of the stream that the Subscriber does not receive: all except ``signal``.
        """
        self._ended = True
        self._confirmed.put(None)
        self.subscriber = None
        current, self._current = self._current, []
        dropped = len(current)
        try:
            dropped += self._drop_batches()
            if current:
                self._discard(current)
        finally:  # a function for discarded elements may raise a SystemExit
            self._session.ended_inbound(self, dropped, cancelled=self._cancelled)
        terminal, unreadable = self._terminal, self._unreadable
        if terminal is not None:  # otherwise the reader may set it now, and schedules this loop again
            self._terminal = _COMPLETE
        self._unreadable = None
        for error in (terminal, unreadable):
            if isinstance(error, BaseException) and error is not signal:
                report_late(error)

    def _drop_batches(self) -> int:
        dropped = 0
        while self._batches:
            try:
                body = self._batches.popleft()
            except IndexError:  # the drain loop and the reader may both empty the queue
                break
            dropped += batch_size(body)
            self._drop_batch(body)
        return dropped

    def _drop_batch(self, body: Body) -> None:
        """Release the references in a batch, or decode the batch and discard its elements."""
        try:
            if hooks.is_discarding(self.discards):
                # A new decoder, because the drain loop may be using ``_decode``.
                self._discard(self._session.codec.batch_decoder()(body)[0])
            else:
                self._session.codec.discard(body)
        except Exception as unreadable:
            hooks.on_error_dropped(unreadable, f"raised by a dropped batch of stream {self.id}")
        finally:
            if type(body) is Returning:
                self._session.release(self._session.handles.unpin(body.pins))

    def _discard(self, elements: list[Any]) -> None:
        run_in(self._context, partial(hooks.discard_all, self.discards, deque(elements)))

    def send_cancel(self) -> None:
        """Send CANCEL, once."""
        if self._cancel_sent.acquire(blocking=False) and self._session.open:
            try:
                self._session.send(frame(FrameType.CANCEL, self.id))
            except RecursionError:  # on a deep stack; the peer ignores a second CANCEL
                self._cancel_sent.release()
                raise

    @property
    def in_flight(self) -> int:
        """The number of granted elements that are not delivered yet."""
        return 0 if self._ended else self.window.granted - self.window.delivered

    @property
    def demand(self) -> int:
        """The number of requested elements that are not delivered yet."""
        return 0 if self._ended else max(0, min(self.window.requested, UNBOUNDED) - self.window.delivered)

    @property
    def delivered(self) -> int:
        """The number of calls of ``on_next``; exact on the thread that calls it."""
        left = self._left
        return self.window.delivered + (0 if left is None else self._size - length_hint(left))

    @property
    def state(self) -> str:
        """``cancelled``, ``ended``, ``live`` or ``starting``."""
        return "cancelled" if self._cancelled else "ended" if self._ended else "live" if self._started else "starting"

    def __repr__(self) -> str:
        return f"<InboundStream {self.id} {self.state}, demand {self.demand}, in flight {self.in_flight}>"
