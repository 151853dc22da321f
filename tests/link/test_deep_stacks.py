"""Signals at the end of the stack: a RecursionError loses no frame, neither of its stream nor of others."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any

import pytest
from plain_session import PlainEncoder, PlainSession

import pyrs
from pyrs.api import Subscription
from pyrs.jvm.link.batches import Batches
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.frames import CREDIT, Frame, FrameDecoder, FrameType, Message, frame
from tests.waiting import DEADLINE, recording

DEPTHS = 60


class Emitting(pyrs.Publisher[Any], Subscription):
    """Passes its Subscriber to the test."""

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


class RawSession(PlainSession):
    """Records the sent bytes with a method of a list, so that writing needs no deeper stack than a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.outbox._send = self.written.append
        self.outbox.wake = lambda: None

    def subscriber(self, stream: int) -> Any:
        source = Emitting()
        body = self.codec.encode([self.handles.own(source), {}])
        self.receive(Frame(FrameType.SUBSCRIBE, stream, body))
        self.receive(Frame(FrameType.REQUEST, stream, CREDIT.pack(10_000)))
        return source.subscriber

    def messages(self) -> list[Frame]:
        writer = threading.Thread(target=self.outbox.write)
        writer.start()
        writer.join(DEADLINE)
        return FrameDecoder().feed(b"".join(self.written))


def at_the_end_of_the_stack(call: Callable[[], object]) -> None:
    """Call a function at each of the last depths of the stack, on a thread that may write."""

    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            call()

    def run() -> None:
        limit = sys.getrecursionlimit()
        for levels in range(limit - DEPTHS, limit):
            try:
                descend(levels)
            except RecursionError:
                raised.append(levels)

    raised: list[int] = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive() and 2 < len(raised) < DEPTHS, raised


@pytest.mark.parametrize("size", [1, 200_000])
def test_emission_on_a_deep_stack_loses_no_frame(size: int) -> None:
    session = RawSession()
    subscriber = session.subscriber(2)
    controls, emitted = [], []

    def emit() -> None:
        number = len(controls) + len(emitted)
        data = frame(FrameType.CANCEL, 1_000 + number)
        session.outbox.control(data)
        controls.append(1_000 + number)
        subscriber.on_next([number, b"x" * size])
        emitted.append(number)
        session.outbox.flush()

    at_the_end_of_the_stack(emit)
    messages = session.messages()
    assert [message.id for message in messages if message.type == FrameType.CANCEL] == controls
    elements = [each[0] for message in messages if message.type == FrameType.NEXT for each in decoded(session, message)]
    assert elements == sorted(set(elements)) and set(emitted) <= set(elements)


def decoded(session: PlainSession, message: Frame) -> list[Any]:
    elements: list[Any] = session.codec.decode(bytes(message.body))
    return elements


@pytest.mark.parametrize("error", [None, ValueError("theirs")])
def test_terminal_signal_on_a_deep_stack_is_sent_once(error: Exception | None) -> None:
    session = RawSession()
    subscribers = {stream: session.subscriber(stream) for stream in range(2, 2 + 2 * DEPTHS, 2)}
    waiting = list(subscribers)
    refused: list[int] = []

    def end() -> None:
        stream = waiting[0]
        subscriber = subscribers[waiting.pop(0)]
        refused.append(stream)
        if error is None:
            subscriber.on_complete()
        else:
            subscriber.on_error(error)
        refused.remove(stream)

    at_the_end_of_the_stack(end)
    for stream in refused:
        subscribers[stream].fail(RecursionError())  # as the drain loop does with an error of request
    ended = [message.id for message in session.messages() if message.type in (FrameType.COMPLETE, FrameType.ERROR)]
    assert sorted(ended) == sorted(set(subscribers) - set(waiting))


def test_cancel_that_failed_on_a_deep_stack_can_be_repeated() -> None:
    session = RawSession()
    tasks: list[Callable[[], object]] = []
    session.execute = tasks.append  # a worker, whose stack is not deep, runs the drain loop
    for _ in range(DEPTHS):
        session.subscribe(7, recording(0))
    streams = list(session.streams.values())
    waiting = iter(streams)
    at_the_end_of_the_stack(lambda: next(waiting).cancel())
    for stream in streams:
        stream.cancel()
    for task in tasks:
        task()
    cancelled = {message.id for message in session.messages() if message.type == FrameType.CANCEL}
    assert cancelled == {stream.id for stream in streams}
    assert not session.streams


class Refusing(RawSession):
    """Raises a RecursionError in the first write."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 1
        self.woken: list[None] = []
        self.outbox._send = self.refuse
        self.outbox.wake = lambda: self.woken.append(None)

    def refuse(self, data: bytes) -> None:
        if self.refusals:
            self.refusals -= 1
            raise RecursionError
        self.written.append(data)


def test_frames_of_a_failed_write_are_counted_once_and_wake_the_writer() -> None:
    session = Refusing()
    answered: list[None] = []
    session.outbox.control(frame(FrameType.CANCEL, 1))
    session.outbox.ready(Message(FrameType.RETURN, 2, b"r", written=lambda: answered.append(None)))
    with pytest.raises(RecursionError):
        session.outbox.write()
    assert session.woken == [None]
    assert [message.type for message in session.messages()] == [FrameType.CANCEL, FrameType.RETURN]
    assert answered == [None]
    assert session.outbox.frames_out == 2
    assert session.outbox.bytes_out == len(b"".join(session.written))


def test_count_of_frames_is_unchanged_while_a_write_blocks() -> None:
    session = RawSession()
    counts: list[int] = []
    session.outbox._send = lambda data: counts.append(session.outbox.frames_out)
    session.outbox.ready(Message(FrameType.RETURN, 2, b"r"))
    session.outbox.write()
    assert counts and counts == sorted(counts) and counts[0] == 0


def test_wake_that_failed_on_a_deep_stack_can_be_repeated() -> None:
    class Failing(SimpleQueue[Any]):
        failures = 1

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            if self.failures:
                self.failures -= 1
                raise RecursionError
            super().put(item)

    connection = object.__new__(LinkConnection)
    connection._woken, connection._posted = False, Failing()
    with pytest.raises(RecursionError):
        connection._wake()
    connection._wake()
    assert connection._posted.get_nowait() is None


def test_answer_of_a_failed_write_is_counted_once() -> None:
    session = Refusing()
    session.refusals = 0
    answered: list[None] = []
    session.outbox.ready(Message(FrameType.RETURN, 2, b"r", written=lambda: answered.append(None)))
    session.outbox._round()  # the fragment
    session.outbox.control(frame(FrameType.CANCEL, 1))
    session.refusals = 1
    with pytest.raises(RecursionError):
        session.outbox.write()  # the end of the answer
    session.outbox.write()
    assert answered == [None]


def test_discard_that_failed_on_a_deep_stack_disowns_each_handle_once() -> None:
    disowned: list[object] = []
    failing = [2, 5]

    def disown(handles: Iterable[object]) -> None:
        for handle in handles:
            if handle in failing:
                failing.remove(handle)
                raise RecursionError
            disowned.append(handle)

    batches = Batches(PlainEncoder())
    for handle in range(1, 8):
        batches._encoder.carried.append(handle)
        batches.add(handle)
    for _ in range(2):
        with pytest.raises(RecursionError):
            batches.discard(disown)
    batches.discard(disown)
    assert sorted(disowned) == [*range(1, 8)] and not batches


def test_requests_are_summed_while_request_of_the_publisher_blocks() -> None:
    session = RawSession()
    source = Emitting()
    requests: list[int] = []

    def request(n: int) -> None:
        requests.append(n)
        if len(requests) == 1:
            for _ in range(10_000):
                session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(3)))
            sizes.append(sum(len(each) for each in vars(stream).values() if isinstance(each, deque)))

    source.request = request  # type: ignore[method-assign]
    sizes: list[int] = []
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([session.handles.own(source), {}])))
    stream = session.streams[2]
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(5)))
    assert requests == [5, 30_000]
    assert sizes == [0]
