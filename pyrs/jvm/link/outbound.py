"""Encode the signals of a Python Publisher for the peer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from time import perf_counter
from typing import Any

from pyrs._core import hooks
from pyrs._core.demand import add_demand, non_positive
from pyrs._core.drain import DrainLoop
from pyrs._core.fusion import IteratorConsumer
from pyrs._core.sites import Site
from pyrs.api import Subscriber, Subscription
from pyrs.errors import ConcurrentSignals, ConversionError, DemandExceeded, NullSignal
from pyrs.jvm.buffers import FrameBytes
from pyrs.jvm.link.batches import MAX_ELEMENTS, Batches
from pyrs.jvm.link.frames import MAX_BODY, MAX_MESSAGE, FrameType, Message, array_header, frame
from pyrs.jvm.link.host import StreamHost, report_late, run_in

_log = logging.getLogger("pyrs.jvm")
_SLOW_SECONDS = 0.001


class OutboundStream(DrainLoop, IteratorConsumer[Any], Subscriber[Any]):
    """The Subscriber that feeds the elements of a Python Publisher to the link.

    Each element is encoded inside its ``on_next`` and buffered in ``Batches``, which hold no more elements than the
    credit. The drain loop calls the upstream Subscription. The thread with the writer's role calls ``take``.

    Rules: 1.1, 1.3, 1.7 and 2.13 are checked, because the Publisher may be third-party code. A violation affects only
    this stream.
    """

    def __init__(self, session: StreamHost, identifier: int, context: Context | None = None) -> None:
        super().__init__(session.execute)
        self._context = context
        self.id = identifier
        self.opened = 0.0
        self.handle = 0  # the handle of the peer's Subscriber; 0 for a stream that the peer opened
        self.publisher: Callable[[], object] = lambda: None  # a weak reference, to show its name
        self.site: Site | None = None
        self.queued = False
        self._session = session
        self._batches = Batches(session.codec.encoder())
        self._gate = threading.Lock()
        self._credited = 0  # the sum of all REQUESTs
        self._large: Message | None = None
        self._granted = 0
        self.emitted = 0
        self._chunk = 1  # the number of elements to pull from an iterator before a write
        self._subscription: Subscription | None = None
        self._upstream: Subscription | None = None  # the same Subscription, kept until its cancel has returned
        self._requesting: int | None = None
        self._illegal_credit: int | None = None
        self._terminal: bytes | None = None
        self._sent_terminal = False
        self._cancelled = False

    # Called by the upstream Publisher.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Accept the upstream Subscription. A second one is cancelled (§2.5)."""
        if subscription is None:
            raise NullSignal("on_subscribe(None): a Subscription is needed")
        if self._subscription is not None or self._terminal is not None or self._cancelled:
            subscription.cancel()
            return
        self._subscription = self._upstream = subscription
        if self._has_work():
            self._session.schedule(self)

    def on_next(self, element: Any) -> None:
        """Encode and queue one element.

        Raises:
            NullSignal: The element is None (§2.13). The stream ends with that error too.
        """
        if not self._gate.acquire(blocking=False):
            self._concurrent("on_next")
            return
        taken = False
        try:
            if self._terminal is not None or self._cancelled:
                hooks.on_next_dropped(1, f"stream {self.id} has ended", cancelled=self._cancelled)
                return
            if element is None:
                raise NullSignal("on_next(None): None is not an element")
            if self.emitted >= self._granted:
                self.fail(self._exceeded())
                return
            self.emitted += 1
            self._batches.add(element)
            taken = True
        except ConversionError as error:
            self.fail(error)
            return
        except BaseException as error:  # a NullSignal, an interrupt or an exit
            self.fail(error)
            raise
        finally:
            self._gate.release()
            if not taken and element is not None:
                hooks.discard((), element)
            if self._cancelled:
                self._forward_pending()
        if self.emitted == self._granted or self.emitted % MAX_ELEMENTS == 0:
            self._session.outbox.ready(self)
            self._session.outbox.flush()
            self._forward_pending()
        elif not self.queued:
            self._session.outbox.ready(self)
            self._session.outbox.wake()
            self._forward_pending()

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        """Take up to ``limit`` elements from an iterator, like calls of ``on_next``."""
        if not self._gate.acquire(blocking=False):
            self._concurrent("on_next")
            return self._consumed(0, limit)
        outbox, batches = self._session.outbox, self._batches
        taken = 0
        outbox.poll(self)
        try:
            while taken < limit and not self._cancelled and self._terminal is None:
                credit = self._granted - self.emitted
                if credit <= 0:
                    self.fail(self._exceeded())
                    break
                # The elements of a slow iterator are sent one by one. A fast iterator fills batches; if it stalls
                # inside a batch, the polling writer thread sends the elements so far.
                wanted = min(self._chunk, limit - taken, credit)
                started = perf_counter()
                count, failure = batches.fill(iterator, wanted)
                slow = perf_counter() - started > _SLOW_SECONDS
                self.emitted += count
                taken += count
                outbox.ready(self)
                outbox.flush()
                if self._credited > self._granted or self._cancelled:
                    self._forward_pending()
                if isinstance(failure, ConversionError):
                    self.fail(failure)
                elif failure is not None:
                    raise failure
                if count < wanted:
                    break
                self._chunk = 1 if slow else min(self._chunk * 4, MAX_ELEMENTS)
        finally:
            outbox.polled.discard(self)
            self._gate.release()
        return self._consumed(taken, limit)

    def _consumed(self, taken: int, limit: int) -> int:
        """Return the result of ``consume``; cancel upstream first if the stream has ended.

        The drain loop may cancel too late: a source that is not cancelled interprets a result below ``limit`` as the
        end of its iterator, and an ``InboundStream`` would offer the remaining elements again.
        """
        upstream = self._upstream
        if taken < limit and (self._cancelled or self._terminal is not None) and upstream is not None:
            run_in(self._context, upstream.cancel)
        return taken

    def on_error(self, error: BaseException) -> None:
        """End the stream with the error of the Publisher.

        Raises:
            NullSignal: The error is None (§2.13). The stream ends with that error too.
        """
        given: object = error
        if given is None:
            violation = NullSignal("on_error(None): an error is needed")
            self.fail(violation)
            raise violation
        if not isinstance(given, BaseException):
            what = f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"
            self.fail(TypeError(f"on_error takes an exception, but the Publisher passed {what}"))
            return
        if self._terminal is not None or self._cancelled:
            report_late(error)  # no signal follows a terminal signal (§1.7) or a cancel
            return
        self._subscription = self._upstream = None
        self._terminate(self._session.codec.encode_error(error))

    def on_complete(self) -> None:
        """End the stream.

        If another thread is inside ``on_next``, whose element would be lost, the stream ends with an error (§1.3).
        """
        if self._terminal is not None:
            _log.warning("stream %d has ended already: on_complete was ignored (rule 1.7)", self.id)
            return
        if self._gate.locked():
            self._concurrent("on_complete")
            return
        self._subscription = self._upstream = None
        self._terminate(b"")

    def _exceeded(self) -> DemandExceeded:
        return DemandExceeded(f"on_next number {self.emitted + 1} where {self._granted} elements were requested")

    def _concurrent(self, signal: str) -> None:
        self.fail(ConcurrentSignals(f"{signal} was called while another signal of the same stream was being handled"))

    def fail(self, error: BaseException) -> None:
        """End the stream with an error of this side, and cancel upstream."""
        if self._terminal is not None or self._cancelled:
            report_late(error)
            return
        self._terminate(self._session.codec.encode_error(error))
        if self._requesting == threading.get_ident():
            self._cancel_upstream()
        else:
            self._session.schedule(self)

    def _terminate(self, terminal: bytes) -> None:
        outbox = self._session.outbox
        outbox.ready(self)  # a RecursionError on a deep stack occurs here, before anything has changed
        # Set before the second call: a writer that takes this stream between the calls may miss the terminal signal.
        self._terminal = terminal
        outbox.ready(self)
        outbox.flush()

    def _forward_pending(self) -> None:
        """Forward credit or a cancel to a source that emits inside ``request``.

        The call of ``request`` occupies the drain loop, which therefore cannot forward credit or the cancel.
        """
        if self._requesting == threading.get_ident():
            subscription = self._subscription
            if self._cancelled:
                self._cancel_upstream()
            elif self._credited > self._granted and subscription is not None:
                self._request(subscription)

    def _request(self, subscription: Subscription) -> None:
        """Request the received credit upstream. Only the draining thread calls this."""
        credited = self._credited
        n = credited - self._granted
        if n:
            self._granted = credited
            run_in(self._context, partial(subscription.request, n))

    # Called by the reader thread, which only records.

    def requested(self, n: int) -> None:
        """Process REQUEST."""
        if n <= 0:
            self._illegal_credit = n
        else:
            self._credited = add_demand(self._credited, n)
        self.schedule()

    def cancelled(self) -> None:
        """Process CANCEL or the end of the link: write nothing more, cancel upstream."""
        self._cancelled = True
        self._batches.stop()
        self.schedule()

    # The drain loop, which calls the upstream Subscription.

    def _has_work(self) -> bool:
        if self._cancelled:  # also before on_subscribe, which a third-party Publisher may never call
            return self._subscription is not None or self.id in self._session.streams
        if self._terminal is not None:
            return self._subscription is not None
        return self._subscription is not None and (self._credited > self._granted or self._illegal_credit is not None)

    def _work(self) -> None:
        self._requesting = threading.get_ident()
        try:
            if self._cancelled or self._terminal is not None:
                self._cancel_upstream()
                return
            if self._illegal_credit is not None:
                n, self._illegal_credit = self._illegal_credit, None
                self.fail(non_positive(n))
                self._cancel_upstream()
                return
            subscription = self._subscription
            if subscription is not None:
                self._request(subscription)
        except BaseException as error:
            # The Subscription violates §3.16: request must return normally.
            self.fail(error)
        finally:
            self._requesting = None
            if self._batches:
                self._session.outbox.ready(self)
                self._session.outbox.flush()

    def _cancel_upstream(self) -> None:
        subscription, self._subscription = self._subscription, None
        if self._cancelled:
            # Makes the writer release the handles of the elements that will not be written.
            self._session.outbox.ready(self)
            self._session.outbox.flush()
        self._session.streams.pop(self.id, None)
        if subscription is not None:
            try:
                run_in(self._context, subscription.cancel)
            except BaseException as error:
                hooks.on_error_dropped(error, "raised by cancel")
            self._upstream = None

    # Called by the thread with the writer's role.

    def take(self) -> tuple[FrameBytes, bool]:
        """Return the next frame of this stream, and whether more follow."""
        if self._large is not None:
            part, more = self._large.take()
            if more:
                return part, True
            self._large = None
        if self._cancelled or self._sent_terminal:
            self._discard()
            self._session.streams.pop(self.id, None)
            return b"", False
        terminal = self._terminal
        batch = self._batches.take()
        if batch is not None:
            kind = FrameType.NEXT_HOME if batch.returns_objects else FrameType.NEXT
            header, elements = array_header(batch.size), batch.elements
            size = len(header) + len(elements)
            if size > MAX_MESSAGE:
                return self._refuse(size)
            self._session.elements_out += batch.size
            if isinstance(elements, bytes) and size <= MAX_BODY:
                return frame(kind, self.id, header + elements), bool(self._batches) or terminal is not None
            self._large = Message(kind, self.id, elements, header, carried=batch.carried)
            return self._large.take()
        if terminal is None:
            return b"", False
        return self._last(terminal)

    def _discard(self) -> None:
        """Drop the elements that are not written.

        A worker drops their objects, because a finalizer may block, and this thread has the writer's role.
        """
        disown = self._session.codec.disown
        released: list[object] = []
        try:
            self._batches.discard(lambda carried: released.extend(disown(carried)))
        finally:
            self._session.release(released)

    def _refuse(self, size: int) -> tuple[FrameBytes, bool]:
        """Send an error instead of an element that is too large.

        The elements after it are dropped. An ``on_complete`` that the Publisher has already signalled is not forwarded,
        because an element is missing. The element is still in ``_batches``, so that a RecursionError changes nothing.
        """
        error = ConversionError(f"an element of {size} bytes is too large: the limit of a message is 1 GiB")
        terminal = self._session.codec.encode_error(error)
        self._discard()
        if self._terminal is None:
            self._terminal = terminal
            self._session.schedule(self)  # the drain loop cancels upstream
        return self._last(terminal)

    def _last(self, terminal: bytes) -> tuple[FrameBytes, bool]:
        """Return the first frame of the terminal signal, and whether more follow."""
        error = Message(FrameType.ERROR, self.id, terminal) if terminal else None
        first = (frame(FrameType.COMPLETE, self.id), False) if error is None else error.take()
        self._large, self._sent_terminal = error, True  # not before the calls, which may raise a RecursionError
        self._session.streams.pop(self.id, None)
        return first

    @property
    def unused_credit(self) -> int:
        """The number of elements that the Publisher may still emit."""
        return max(0, self._granted - self.emitted)

    @property
    def buffered(self) -> int:
        """The number of encoded elements that are not written yet."""
        return len(self._batches)

    @property
    def state(self) -> str:
        """The state of the stream: ``live``, ``cancelled`` or ``ended``.

        The terminal signal of an ended stream may not be written yet.
        """
        return "cancelled" if self._cancelled else "ended" if self._terminal is not None else "live"

    def __repr__(self) -> str:
        emitted = f"{self.emitted} of {self._granted} granted elements"
        return f"<OutboundStream {self.id} {self.state}, {emitted}, {len(self._batches)} to write>"
