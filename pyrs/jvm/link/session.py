"""Keep the state of one end of the link, without its socket.

The reader calls ``receive``, which updates tables and schedules drain loops, and runs no user code. Outgoing frames are
in ``outbox``.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from pyrs._core.context import capture
from pyrs._core.sites import Site
from pyrs.api import Subscriber
from pyrs.errors import CallTimeout, ConversionError, JvmError, LinkBroken, LinkClosed, ProtocolError, PyrsError
from pyrs.jvm.context import collect_entries, context_of
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import (
    CREDIT,
    MAX_BODY,
    MAX_MESSAGE,
    RELEASED,
    Body,
    Frame,
    FrameType,
    GoAway,
    Message,
    batch_size,
    frame,
)
from pyrs.jvm.link.handles import MissingHandle
from pyrs.jvm.link.host import StreamHost
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.outbound import OutboundStream
from pyrs.jvm.link.outbox import on_event_loop
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH, prefetch
from pyrs.jvm.placeholders import DeferredEntries, restored

_log = logging.getLogger("pyrs.jvm")
NOBODY = 0
"""The handle of no object. A CALL to it is a barrier: it is answered after all earlier frames were read."""
MAX_STREAMS = LIMITS["link.streams"]
MAX_CALLS = LIMITS["call.pending"]
MAX_CALL_BYTES = LIMITS["call.pending_mib"] << 20
_FORMS: dict[int, tuple[type, ...]] = {
    FrameType.SUBSCRIBE: (int, dict),
    FrameType.ON_SUBSCRIBE: (int, dict),
    FrameType.CALL: (int, list),
    FrameType.RETURN: (bool,),
    FrameType.GOAWAY: (int, str),
}
"""The types of the first entries in the body of a control frame, which has at least two entries."""
_MAX_HANDLE = 2**63 - 1
"""Java's ``long`` is signed."""


class Session(StreamHost):
    """The state of one link.

    Args:
        execute, post, send, wake: The arguments of ``StreamHost``.
        max_prefetch: The largest window of a stream.
        confirm_seconds: The time that ``subscribe`` waits until the peer's Publisher is subscribed to; 0 does not wait.
        call_seconds: The time after which a caller of the peer gives up. A call that has waited longer for a worker is
            not executed.
        first_stream: The id of the first stream that this side opens: 1 on Python's side, 2 on the JVM's.
    """

    def __init__(
        self,
        *,
        execute: Callable[[Callable[[], object]], object],
        post: Callable[[Callable[[], None]], object],
        send: Callable[[bytes], object],
        wake: Callable[[], object],
        max_prefetch: int = DEFAULT_MAX_PREFETCH,
        confirm_seconds: float = 0.0,
        call_seconds: float = inf,
        first_stream: int = 1,
    ) -> None:
        super().__init__(execute, post, send, wake)
        self.max_prefetch = max_prefetch
        self._confirm_seconds = confirm_seconds
        self._call_seconds = call_seconds
        self.end_error: PyrsError = LinkClosed(
            "the link was closed: open another one with pyrs.jvm.connect or pyrs.jvm.launch"
        )
        self.recovery = ""  # appended to the message of ``broken``
        self._stream_ids = count(first_stream, 2)
        self._call_ids = count(1)
        self._parity = first_stream % 2
        self._calls: dict[int, SimpleQueue[list[Any] | BaseException]] = {}
        # The calls of the peer and the bytes of their bodies. The reader counts arrivals, the writer counts answers.
        self._calls_in = self._call_bytes_in = 0
        self._calls_answered = self._call_bytes_answered = 0
        self.on_goaway: Callable[[int, str], object] = lambda code, message: None
        self.streams_total = 0

    # Streams that this side opens.

    def subscribe(
        self,
        handle: int,
        subscriber: Subscriber[Any],
        *,
        confirm: bool = False,
        options: dict[str, Any] | None = None,
        site: Site | None = None,
    ) -> None:
        """Subscribe a Python Subscriber to the peer's Publisher ``handle``.

        ``on_subscribe`` is called before this returns. If SUBSCRIBE cannot be sent (``_send_subscribe``), the
        Subscriber receives its Subscription and then the error (§1.9). The signals run in the context of this call.

        With ``confirm`` this returns after the peer's ``subscribe`` has returned and the demand of ``on_subscribe`` was
        requested there, so that no element is lost that a hot Publisher emits afterwards; after ``confirm_seconds`` it
        logs a warning and returns. On a thread with a running event loop, which must not block, it returns at once.
        """
        stream = InboundStream(
            self,
            next(self._stream_ids),
            subscriber,
            max_prefetch=prefetch(self.max_prefetch, options),
            exact=bool(options and options.get("exact")),
            context=capture(),
        )
        stream.handle, stream.site = handle, site
        try:
            self._register(stream)
            if confirm and self._confirm_seconds > 0 and not on_event_loop():
                # SUBSCRIBE follows on_subscribe, because it carries the demand.
                sent = stream.start(partial(self._send_subscribe, stream, handle, options or {}, confirm=True))
            else:
                sent = False
                self._send_subscribe(stream, handle, options or {})
                stream.start()
            self.outbox.flush()
            if sent and not stream.await_confirmation(self._confirm_seconds):
                _log.warning("stream %d: the Publisher in the JVM has not returned from subscribe yet", stream.id)
        except BaseException:
            stream.cancel()  # for example an interrupt: a stream that is half open must not stay in the table
            raise

    def _send_subscribe(
        self, stream: InboundStream, handle: int, options: dict[str, Any], *, confirm: bool = False
    ) -> bool:
        """Queue SUBSCRIBE, and return whether it was queued.

        Otherwise the stream ends (§1.9), because its options cannot be sent or ``link.streams`` is exceeded; or it has
        ended already.
        """
        if not self.open or stream.is_cancelled():
            return False
        try:
            if len(self.streams) > MAX_STREAMS:
                raise too_many_streams()
            if entries := collect_entries():
                options = {**options, "context": entries}
            if confirm:
                options = {**options, "confirm": True}
                if credit := stream.first_credit():
                    options["request"] = credit
            body = self._encode_options(handle, options)
            if len(body) > MAX_BODY:  # SUBSCRIBE is never fragmented
                raise ConversionError(
                    f"the options of a subscription take {len(body)} bytes, but the limit is {MAX_BODY}: name fewer "
                    "classes in convert, and shorten registered context variables"
                )
        except JvmError as error:
            stream.refused(error)
            return False
        self.outbox.control(frame(FrameType.SUBSCRIBE, stream.id, body))
        if stream.is_cancelled():  # by another thread, which may have queued CANCEL first
            self.outbox.control(frame(FrameType.CANCEL, stream.id))
        return True

    def _encode_options(self, handle: int, options: dict[str, Any]) -> bytes:
        try:
            return self.codec.encode([handle, options])
        except ConversionError:
            for name, value in options.items():
                try:
                    self.codec.encode(value)
                except ConversionError as error:
                    raise ConversionError(f"the option {name!r} of a subscription: {error}") from error
            raise

    def subscribe_peer(
        self, handle: int, options: dict[str, Any] | None = None, site: Site | None = None
    ) -> OutboundStream:
        """Open a stream to the peer's Subscriber, to be subscribed to a Python Publisher."""
        if not self.open:
            raise self.new_end_error()
        if len(self.streams) >= MAX_STREAMS:
            raise too_many_streams()
        stream = OutboundStream(self, next(self._stream_ids))
        stream.handle, stream.site = handle, site
        try:
            self._register(stream)
            body = self.codec.encode([handle, options or {}])
            self.outbox.control(frame(FrameType.ON_SUBSCRIBE, stream.id, body))
            self.outbox.flush()
            return stream
        except BaseException as error:
            # For example an interrupt. ON_SUBSCRIBE may be queued: the peer's Subscriber needs a terminal signal then.
            stream.fail(error)
            raise

    def _register(self, stream: InboundStream | OutboundStream) -> None:
        self.streams_total += 1
        stream.opened = monotonic()
        self.streams[stream.id] = stream
        if not self.open:  # ``lost`` may have read the table before
            self._end(stream)

    def _end(self, stream: InboundStream | OutboundStream) -> None:
        if isinstance(stream, InboundStream):
            stream.lost(self.new_end_error())
        else:
            stream.cancelled()

    def new_end_error(self) -> PyrsError:
        """Copy the error that ended the link, for one stream or call.

        Each ``raise`` extends the traceback of its error, which refers to the local variables of the frames.
        """
        return type(self.end_error)(*self.end_error.args)

    # The reader.

    def receive(self, message: Frame) -> None:
        """Process one message.

        Raises:
            ProtocolError: The message is malformed; the link must end.
        """
        kind, identifier, body = message
        if kind in (FrameType.NEXT, FrameType.NEXT_HOME):
            stream = self.streams.get(identifier)
            if isinstance(stream, InboundStream):
                stream.arrived(body, home=kind == FrameType.NEXT_HOME)
            else:
                self._unknown(identifier, stream)
                batch_size(body)  # raises for a malformed body
                self._late_batch(identifier, body, home=kind == FrameType.NEXT_HOME)
        elif kind == FrameType.REQUEST:
            if len(body) != CREDIT.size:
                raise ProtocolError(f"malformed REQUEST: {len(body)} bytes instead of 8")
            stream = self.streams.get(identifier)
            if isinstance(stream, OutboundStream):
                stream.requested(CREDIT.unpack(body)[0])
            else:
                self._unknown(identifier, stream)
        else:
            self._receive_other(kind, identifier, body)

    def _receive_other(self, kind: int, identifier: int, body: Body) -> None:
        stream = self.streams.get(identifier)
        if kind in (FrameType.COMPLETE, FrameType.CANCEL, FrameType.SUBSCRIBED):
            if body:
                raise ProtocolError(f"malformed {FrameType(kind).name}: it has a body")
            if kind == FrameType.COMPLETE and isinstance(stream, InboundStream):
                stream.terminated(None)
            elif kind == FrameType.CANCEL and isinstance(stream, OutboundStream):
                stream.cancelled()
            elif kind == FrameType.SUBSCRIBED and isinstance(stream, InboundStream):
                stream.confirmed()
            else:
                self._unknown(identifier, stream)
        elif kind == FrameType.ERROR:
            error = self._read_error(body)
            if isinstance(stream, InboundStream):
                stream.terminated(error)
            else:
                self._unknown(identifier, stream)
        elif kind == FrameType.SUBSCRIBE:
            self._receive_subscribe(identifier, *self._opening(kind, identifier, body))
        elif kind == FrameType.ON_SUBSCRIBE:
            self._receive_on_subscribe(identifier, *self._opening(kind, identifier, body))
        elif kind == FrameType.CALL:
            self._receive_call(identifier, body)
        elif kind == FrameType.RETURN:
            pair, failure = self._read_entries(kind, body)  # decoded now: a RELEASE may follow
            if failure is None and not pair[0]:
                failure = self.codec.failure(pair[1])
            answer = self._calls.pop(identifier, None)
            if answer is not None:
                answer.put(pair if failure is None else failure)
        elif kind == FrameType.RELEASE:
            if not body or len(body) % RELEASED.size:
                raise ProtocolError(f"malformed RELEASE: {len(body)} bytes are not a list of handles and counts")
            gone = (self.handles.released(handle, times) for handle, times in RELEASED.iter_unpack(body))
            self.release([target for target in gone if target is not None])
        elif kind == FrameType.GOAWAY:
            entries, failure = self._read_entries(kind, body)
            if failure is not None:
                raise ProtocolError(f"malformed GOAWAY: {failure}")
            self.on_goaway(entries[0], entries[1])
        else:
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} is not allowed here")

    def _late_batch(self, identifier: int, body: Body, *, home: bool) -> None:
        """Drop a batch for a finished stream."""
        late = self.late.get(identifier)
        if late is None:
            self.codec.discard(body)
            return
        late.arrived(body, home=home)
        if not late.discards_late():
            self.late.pop(identifier, None)

    def _unknown(self, identifier: int, stream: object) -> None:
        """Accept a frame for a finished stream; refuse one for a live stream.

        The live stream has the other direction.
        """
        if stream is not None:
            raise ProtocolError(f"malformed frame: stream {identifier} is open in the other direction")

    def _read_error(self, body: Body) -> BaseException:
        try:
            return self.codec.decode_error(body)
        except (ConversionError, LinkBroken, LinkClosed) as unreadable:
            return unreadable  # the stream ends with an error in any case
        except Exception as error:
            raise ProtocolError(f"malformed ERROR: {error}") from error

    def _read_entries(self, kind: int, body: Body) -> tuple[list[Any], BaseException | None]:
        """Read the body of a control frame, an array with one of the ``_FORMS``.

        If an entry, except the first, cannot be converted to Python, the fault is that of a user's value and not of the
        peer. The error is returned with the entries before it, and fails only the call or stream of the frame.
        """
        form = _FORMS[kind]
        try:
            entries, unreadable = self.codec.decode_entries(body)
        except (LinkBroken, LinkClosed) as error:
            return [form[0](1)], error  # the peer does not receive an answer
        except Exception as error:
            raise ProtocolError(f"malformed {FrameType(kind).name}: {error}") from error
        size = 2
        if unreadable is not None:
            size, form = 1, form[:1]
        if len(entries) < size or tuple(map(type, entries[: len(form)])) != form or entries[0] > _MAX_HANDLE:
            raise ProtocolError(f"malformed {FrameType(kind).name}: its body does not have the form of this type")
        return entries, unreadable

    def _opening(self, kind: int, identifier: int, body: Body) -> tuple[int, BaseException | None, dict[Any, Any]]:
        entries, unreadable = self._read_entries(kind, body)
        if entries[0] < 1:
            raise ProtocolError(f"malformed {FrameType(kind).name}: {entries[0]} is not a handle")
        if identifier % 2 == self._parity or identifier == 0 or identifier in self.streams:
            raise ProtocolError(f"malformed {FrameType(kind).name}: the peer may not open stream {identifier}")
        return entries[0], unreadable, entries[1] if unreadable is None else {}

    def _answer_now(self, data: bytes) -> None:
        """Queue a control frame from the reader, and wake the writer thread.

        The reader must not write, because the peer might not read.
        """
        self.outbox.control(data)
        self.outbox.wake()

    def _receive_subscribe(
        self, identifier: int, handle: int, unreadable: BaseException | None, options: dict[Any, Any]
    ) -> None:
        if len(self.streams) >= MAX_STREAMS:
            self._answer_now(frame(FrameType.ERROR, identifier, self.codec.encode_error(too_many_streams())))
            return
        context = context_of(options)
        stream = OutboundStream(self, identifier, context)
        # The object is looked up here and not in the task, because RELEASE may be the next frame.
        publisher, stream.site = self.handles.find(handle)
        with suppress(TypeError):  # not every class has weak references
            stream.publisher = weakref.ref(publisher)
        self._register(stream)
        if type(options.get("request")) is int:
            stream.requested(options["request"])

        def subscribe() -> None:
            try:
                if unreadable is not None:
                    raise unreadable
                if publisher is None:
                    raise MissingHandle(handle)
                if not hasattr(publisher, "subscribe"):
                    raise ProtocolError(f"handle {handle} is a {type(publisher).__name__}, which is not a Publisher")
                if context is None:
                    publisher.subscribe(stream)
                else:
                    context.run(publisher.subscribe, stream)
            except BaseException as error:
                stream.fail(error)
            if options.get("confirm") is True:
                self.send(frame(FrameType.SUBSCRIBED, identifier))

        self.execute(subscribe)

    def _receive_on_subscribe(
        self, identifier: int, handle: int, unreadable: BaseException | None, options: dict[Any, Any]
    ) -> None:
        # A Subscriber that is refused because of the limit is not claimed, so that another attempt is possible.
        subscriber = None if len(self.streams) >= MAX_STREAMS else self.handles.claim_subscriber(handle)
        if subscriber is None:
            self._answer_now(frame(FrameType.CANCEL, identifier))
            return
        exact = options.get("exact") is True
        max_prefetch = prefetch(self.max_prefetch, options)
        stream = InboundStream(self, identifier, subscriber, max_prefetch=max_prefetch, exact=exact)
        self._register(stream)
        if unreadable is not None:
            stream.terminated(unreadable)
            self.execute(stream.send_cancel)

        def start() -> None:
            # Not on the reader: the look-up of an attribute may run code of the user.
            if _may_be_subscriber(subscriber):
                stream.start()
            else:
                stream.cancel()

        self.execute(start)

    # Calls.

    def call(self, handle: int, arguments: Iterable[object] = (), *, deadline_seconds: float = 30.0) -> Any:
        """Call an object of the peer and wait for the result.

        Handle 0 is a barrier (see ``NOBODY``).

        Raises:
            CallTimeout: The peer did not answer within the deadline.
            LinkClosed, LinkBroken: The link has ended.
            ConversionError: An argument or the result cannot be converted.
            JavaError: The call threw.
        """
        if not self.open:
            raise self.new_end_error()
        identifier = next(self._call_ids)
        answer: SimpleQueue[list[Any] | BaseException] = SimpleQueue()
        try:
            self._calls[identifier] = answer
            body, carried = self._encode_message([handle, list(arguments)])
            self.outbox.ready(Message(FrameType.CALL, identifier, body, carried=carried))
            self.outbox.flush()
            if not self.open:  # ``lost`` may have read the table before
                raise self.new_end_error()
            reply = answer.get(timeout=deadline_seconds)
        except Empty:
            raise CallTimeout(f"the JVM did not answer a call within {deadline_seconds} seconds") from None
        finally:
            self._calls.pop(identifier, None)
        if isinstance(reply, BaseException):
            raise reply
        return restored(reply[1]) if isinstance(reply, DeferredEntries) else reply[1]

    def _encode_message(self, value: object) -> tuple[bytes, list[object]]:
        """Encode the body of a CALL or RETURN; also return its references."""
        body, carried = self.codec.encode_carrying(value)
        if len(body) > MAX_MESSAGE:
            self.codec.disown(carried)
            raise ConversionError(f"a value of {len(body)} bytes is too large: the limit of a message is 1 GiB")
        return body, carried

    def _receive_call(self, identifier: int, body: Body) -> None:
        entries, unreadable = self._read_entries(FrameType.CALL, body)
        handle, arguments = entries[:2] if unreadable is None else (entries[0], [])
        size = len(body)
        calls, size_of_calls = self._calls_in - self._calls_answered, self._call_bytes_in - self._call_bytes_answered
        if calls >= MAX_CALLS or size_of_calls + size > MAX_CALL_BYTES:
            self._answer_now(frame(FrameType.RETURN, identifier, self.codec.encode_failure(too_many_calls(calls))))
            return
        self._calls_in += 1
        self._call_bytes_in += size
        target, _ = self.handles.find(handle)
        arrived = monotonic()

        def answer() -> None:
            try:
                if unreadable is not None:
                    raise unreadable
                if handle == NOBODY:  # the barrier
                    result = restored(arguments[0]) if arguments else None
                elif target is None:
                    raise MissingHandle(handle)
                elif monotonic() - arrived > self._call_seconds:
                    # The caller has given up. After all workers were blocked, they would otherwise execute many such
                    # calls first, and the following calls would be late, too.
                    raise CallTimeout(f"no worker was free within {self._call_seconds} seconds, so nothing was called")
                else:
                    # Not on the reader: the objects in the arguments may be hashed, by methods of the user.
                    deferred = isinstance(entries, DeferredEntries)
                    result = target(*(restored(arguments) if deferred else arguments))
                body, carried = self._encode_message([True, result])
            except BaseException as error:
                body, carried = self.codec.encode_failure(error), []
            written = partial(self._answered, size)
            self.outbox.ready(Message(FrameType.RETURN, identifier, body, carried=carried, written=written))
            self.outbox.flush()

        self.execute(answer)

    def _answered(self, size: int) -> None:
        self._calls_answered += 1
        self._call_bytes_answered += size

    # Shutdown.

    def lost(self, error: PyrsError) -> None:
        """End every stream and call, and clear the tables: the link is closed or broken."""
        if not self.open:
            return
        self.end_error = error
        self.open = False
        self.outbox.close()
        for answer in list(self._calls.values()):
            answer.put(self.new_end_error())
        for stream in list(self.streams.values()):
            self._end(stream)
        self.late.clear()
        self.release(self.handles.clear())

    def goaway(self, code: GoAway, message: str) -> bytes:
        """Return a GOAWAY frame."""
        return frame(FrameType.GOAWAY, 0, self.codec.encode([int(code), message]))

    def broken(self, why: str) -> LinkBroken:
        """Return the error of a link that ended without a close on this side."""
        return LinkBroken(f"the link to the JVM is broken: {why}{self.recovery}")


def _may_be_subscriber(target: object) -> bool:
    try:
        return hasattr(target, "on_subscribe")
    except BaseException:  # raised by the object's __getattr__; the call of on_subscribe will report it
        return True


def too_many_streams() -> JvmError:
    """Return the error of a stream beyond ``link.streams``."""
    return JvmError(
        f"the link has {MAX_STREAMS:,} live streams, its limit (link.streams): cancel some of them, merge streams "
        "before they cross, or open another bridge"
    )


def too_many_calls(calls: int) -> JvmError:
    """Return the error of a call beyond ``call.pending`` or ``call.pending_mib``."""
    return JvmError(
        f"{calls:,} calls to Python are not answered yet, and {MAX_CALLS:,} calls with {MAX_CALL_BYTES:,} bytes of "
        "arguments are the limit of a link (call.pending, call.pending_mib): wait for answers before further calls"
    )
