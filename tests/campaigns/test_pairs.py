"""Run every pair of operations on each concurrent class, the second one at every line of the first one.

``verify`` checks the invariants of a class.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

import pyrs
from pyrs._core import drain, executor
from pyrs._core.executor import DaemonExecutor
from pyrs.api import Publisher, Subscription
from pyrs.errors import LinkBroken
from pyrs.jvm.link import frames, handles, inbound, outbound, outbox, session, window
from pyrs.jvm.link.frames import CREDIT, RELEASED, Frame, FrameDecoder, FrameType
from pyrs.jvm.link.handles import Handles
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.outbound import OutboundStream
from tests.campaigns.pairs import interleave
from tests.link.plain_session import PlainSession
from tests.waiting import DEADLINE, eventually, recording

Operation = Callable[[Any], object]
LINK = (drain, session, inbound, outbound, outbox, window, handles)


def pairs(operations: dict[str, Operation], atomic: tuple[str, ...] = ()) -> Any:
    """Parametrize a test with every ordered pair of operations; the first one is not ``atomic``."""
    assert set(atomic) <= set(operations), "an atomic operation is not in the table"
    names = [pair for pair in product(operations, operations) if pair[0] not in atomic]
    return pytest.mark.parametrize(("first", "second"), names, ids=[" and ".join(pair) for pair in names])


def named(*operations: Operation) -> dict[str, Operation]:
    """Return the operations by name."""
    return {operation.__name__: operation for operation in operations}


class Loop(drain.DrainLoop):
    """Collects its work items. The executor stores tasks until a test runs them."""

    def __init__(self) -> None:
        self.tasks: deque[Callable[[], None]] = deque()
        super().__init__(self.tasks.append)
        self.pending: deque[int] = deque()
        self.taken: list[int] = []
        self.inside = 0
        self.overlapped = False

    def _has_work(self) -> bool:
        return self._again

    def _work(self) -> None:
        self.inside += 1
        self.overlapped = self.overlapped or self.inside > 1
        self._again = False
        while self.pending:
            self.taken.append(self.pending.popleft())
        self.inside -= 1

    def add(self) -> None:
        """Add a work item."""
        self.pending.append(1)
        self._again = True

    def schedule_work(self) -> None:
        """Add a work item and schedule the loop."""
        self.add()
        self.schedule()

    def run_work(self) -> None:
        """Add a work item and run the loop on this thread."""
        self.add()
        self.run_here()

    def attempt_work(self) -> None:
        """Process a work item by the fast path, or add it."""
        if self.attempt(self._attempted, 1) is None:
            self.run_work()

    def _attempted(self, one: int) -> bool:
        self.inside += 1
        self.overlapped = self.overlapped or self.inside > 1
        self.taken.append(one)
        self.inside -= 1
        return True

    def run_task(self) -> None:
        """Run a scheduled task, as a worker does."""
        self.schedule_work()
        try:
            task = self.tasks.popleft()
        except IndexError:
            return  # the loop runs on the other thread
        task()

    def verify(self) -> None:
        """Check that all work was done once, by one thread at a time, and that the drain loop is free."""
        while self.tasks:
            self.tasks.popleft()()
        assert len(self.taken) == 2, f"{len(self.taken)} of 2 work items were processed"
        assert not self.overlapped, "two threads drained"
        assert self._turn == [True], "the token of the drain loop was lost or duplicated"


LOOP = named(Loop.schedule_work, Loop.run_work, Loop.attempt_work, Loop.run_task)


@pairs(LOOP)
def test_drain_loop_keeps_its_invariants(first: str, second: str) -> None:
    lines = interleave([drain], Loop, LOOP[first], LOOP[second], Loop.verify)
    assert lines > 3


class Stepped(PlainSession):
    """Stores tasks until ``work`` runs them, on any thread."""

    def _inline(self, task: Callable[[], None]) -> None:
        self._tasks.append(task)

    def work(self) -> None:
        """Run the stored tasks, as a worker does."""
        while True:
            try:
                task = self._tasks.popleft()
            except IndexError:
                return
            task()


class Consumer:
    """A consumer end that has received a batch of two elements and has delivered one."""

    def __init__(self) -> None:
        self.session = Stepped()
        self.recorder = recording(1)
        self.session.subscribe(7, self.recorder)
        self.session.work()
        stream = self.session.streams[1]
        assert isinstance(stream, InboundStream)
        self.stream = stream
        self.elements = iter(range(100))
        self.next()
        self.session.work()
        self.cancelled = False

    def next(self) -> None:
        """Receive a batch of two elements."""
        two = [next(self.elements), next(self.elements)]
        self.session.receive(Frame(FrameType.NEXT, 1, self.session.codec.encode(two)))

    def complete(self) -> None:
        """Receive COMPLETE."""
        self.session.receive(Frame(FrameType.COMPLETE, 1, b""))

    def error(self) -> None:
        """Receive ERROR."""
        self.session.receive(Frame(FrameType.ERROR, 1, self.session.codec.encode_error(KeyError("theirs"))))

    def request(self) -> None:
        """Request elements, and let a worker run."""
        self.recorder.request(2)
        self.session.work()

    def cancel(self) -> None:
        """Cancel, and let a worker run."""
        self.cancelled = True
        self.recorder.cancel()
        self.session.work()

    def work(self) -> None:
        """Run the drain loop, with one more element demanded."""
        self.recorder.request(1)
        self.session.work()

    def lost(self) -> None:
        """End the link."""
        self.session.lost(LinkBroken("lost"))

    def verify(self) -> None:
        """Check the signals, the demand, the window and the table at the end of the link."""
        stream = self.stream
        self.session.work()
        assert stream.window.granted - stream.window.delivered <= stream.window.limit or stream._cancelled, (
            "the granted credit exceeds the window"
        )
        self.lost()
        self.session.work()
        self.recorder.assert_rules()  # 1.1, 1.3, 1.7, 1.9 and 2.13
        assert self.recorder.elements == list(range(len(self.recorder.elements))), "an element is missing or repeated"
        assert self.recorder.ended or self.cancelled, "no terminal signal"
        assert not self.session.streams, "the stream is left in the table"
        assert stream.subscriber is None, "the Subscriber is retained (rule 3.13)"
        assert not stream._batches and stream._turn == [True]


CONSUMER = named(
    Consumer.next,
    Consumer.complete,
    Consumer.error,
    Consumer.request,
    Consumer.cancel,
    Consumer.work,
    Consumer.lost,
)
# Only the reader thread receives frames and ends the link.
READER = ("next", "complete", "error", "lost")


def skip_two_on_one_thread(first: str, second: str, thread: tuple[str, ...]) -> None:
    """Skip a pair of operations that the same thread runs."""
    if first in thread and second in thread:
        pytest.skip("one thread runs both")


@pairs(CONSUMER)
def test_consumer_keeps_its_invariants(first: str, second: str) -> None:
    skip_two_on_one_thread(first, second, READER)
    lines = interleave(LINK, Consumer, CONSUMER[first], CONSUMER[second], Consumer.verify)
    assert lines > 3


class Emitting(Publisher[Any], Subscription):
    """A Publisher whose signals the test emits."""

    def __init__(self) -> None:
        self.subscriber: Any = None
        self.requested = 0
        self.cancels = 0

    def subscribe(self, subscriber: Any, /) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None:
        self.requested += n

    def cancel(self) -> None:
        self.cancels += 1


class Producer:
    """A publisher end with credit for four elements, of which one was sent."""

    def __init__(self) -> None:
        self.session = Stepped()
        self.publisher = Emitting()
        handle = self.session.handles.own(self.publisher)
        self.session.receive(Frame(FrameType.SUBSCRIBE, 2, self.session.codec.encode([handle, {}])))
        self.session.work()
        self.session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(4)))
        self.session.work()
        stream = self.session.streams[2]
        assert isinstance(stream, OutboundStream)
        self.stream = stream
        self.publisher.subscriber.on_next(0)
        self.session.outbox.write()
        self.ended = False

    def element(self) -> None:
        """Emit an element."""
        self.publisher.subscriber.on_next(1)

    def complete(self) -> None:
        """Complete."""
        self.publisher.subscriber.on_complete()

    def error(self) -> None:
        """Fail."""
        self.publisher.subscriber.on_error(ValueError("mine"))

    def credit(self) -> None:
        """Receive REQUEST, and let a worker run."""
        self.session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(3)))
        self.session.work()

    def cancel(self) -> None:
        """Receive CANCEL, and let a worker run."""
        self.session.receive(Frame(FrameType.CANCEL, 2, b""))
        self.session.work()

    def write(self) -> None:
        """Poll the streams, as the writer thread does."""
        self.session.outbox.ready(self.stream)
        self.session.outbox.write_polled()

    def control(self) -> None:
        """Send a control frame."""
        self.session.send(frames.frame(FrameType.REQUEST, 99, CREDIT.pack(1)))

    def lost(self) -> None:
        """End the link."""
        self.ended = True
        self.session.lost(LinkBroken("lost"))
        self.session.work()

    def verify(self) -> None:
        """Check the frames, the demand and the table."""
        self.session.work()
        self.session.outbox.write()
        sent = [frame for frame in self.session.sent if frame.id == 2]
        kinds = [FrameType(frame.type).name for frame in sent]
        terminals = [kind for kind in kinds if kind in ("COMPLETE", "ERROR")]
        assert len(terminals) <= 1 and terminals == kinds[len(kinds) - len(terminals) :], f"sent {kinds}"
        elements = [
            each for frame in sent if frame.type == FrameType.NEXT for each in self.session.codec.decode(frame.body)
        ]
        assert elements == [0, 1, 1][: len(elements)], f"an element is missing or repeated: {elements}"
        assert self.publisher.requested in (4, 7, 10)
        terminated = self.ended or self.stream._cancelled
        assert terminated or self.stream._terminal is not None or len(elements) == self.stream.emitted, (
            "an element was not written"
        )
        assert terminated or terminals or self.stream._terminal is None, "the terminal signal was not written"
        self.lost()
        self.session.work()
        assert not self.session.streams, "the stream is left in the table"
        assert self.publisher.cancels <= 1
        assert self.publisher.cancels == 1 or self.stream._terminal is not None, "upstream is not cancelled"
        assert self.stream._turn == [True] and not self.session.outbox._writing.locked()


PRODUCER = named(
    Producer.element,
    Producer.complete,
    Producer.error,
    Producer.credit,
    Producer.cancel,
    Producer.write,
    Producer.control,
    Producer.lost,
)


@pairs(PRODUCER)
def test_producer_keeps_its_invariants(first: str, second: str) -> None:
    skip_two_on_one_thread(first, second, ("element", "complete", "error"))  # rule 1.3
    skip_two_on_one_thread(first, second, ("credit", "cancel", "lost"))
    lines = interleave(LINK, Producer, PRODUCER[first], PRODUCER[second], Producer.verify)
    assert lines > 3


class Table:
    """A table with an object that was sent twice, and a Subscriber that was sent once."""

    def __init__(self) -> None:
        self.handles = Handles()
        self.object = object()
        self.subscriber = recording()
        self.sent: Counter[int] = Counter()
        for target in (self.object, self.object, self.subscriber):
            self.sent[self.handles.own(target)] += 1
        self.claims: list[Any] = []
        self.gone: list[object] = []
        self.noted = 0
        self.frames: list[bytes] = []
        self.cleared = False

    def own(self) -> None:
        """Send the object once more."""
        self.sent[self.handles.own(self.object)] += 1

    def own_new(self) -> None:
        """Send a new object."""
        self.sent[self.handles.own(object())] += 1

    def release(self) -> None:
        """Receive RELEASE of one receipt of the object."""
        self.sent[1] -= 1
        self._released(self.handles.released(1, 1))

    def _released(self, target: object | None) -> None:
        if target is not None:
            self.gone.append(target)

    def pin(self) -> None:
        """Pin the object, as the decoding of a batch does."""
        self.handles.pin([1])
        for target in self.handles.unpin([1]):
            self._released(target)

    def claim(self) -> None:
        """Claim the Subscriber for a subscription."""
        self.claims.append(self.handles.claim_subscriber(2))

    def note(self) -> None:
        """Note handles of the peer for release, as a finalizer does."""
        for handle in (5, 5, 6):
            self.handles.release(handle)
            self.noted += 1

    def release_frames(self) -> None:
        """Write the noted handles."""
        self.note()
        self.frames.append(self.handles.release_frames())

    def clear(self) -> None:
        """End the link."""
        self.cleared = True
        self.handles.clear()

    def verify(self) -> None:
        """Check that both maps agree, that receipts are exact, and that a Subscriber is claimed once."""
        table = self.handles
        assert {id(owned.target) for owned in table._by_handle.values()} == set(table._by_identity), "the maps differ"
        assert sum(claim is not None for claim in self.claims) <= 1, "a Subscriber was claimed twice"
        if self.cleared:
            return
        assert {handle: owned.count for handle, owned in table._by_handle.items()} == dict(+self.sent)
        assert len(self.gone) == int(self.sent[1] <= 0), "the object was released twice, or never"
        self.frames.append(table.release_frames())
        messages = FrameDecoder().feed(b"".join(self.frames))
        counts = [count for message in messages for _, count in RELEASED.iter_unpack(message.body)]
        assert sum(counts) == self.noted, "a receipt was lost or repeated"


TABLE = named(
    Table.own,
    Table.own_new,
    Table.release,
    Table.pin,
    Table.claim,
    Table.note,
    Table.release_frames,
    Table.clear,
)


@pairs(TABLE, atomic=("note",))  # the append of a deque
def test_handle_table_keeps_its_invariants(first: str, second: str) -> None:
    skip_two_on_one_thread(first, second, ("release_frames",))  # the writer
    lines = interleave([handles], Table, TABLE[first], TABLE[second], Table.verify)
    assert lines > 3


class Pool:
    """An executor whose only thread has run a task, and is idle or has ended."""

    def __init__(self) -> None:
        self.executor = DaemonExecutor("pairs", max_threads=2, idle_seconds=0.2)
        self.ran: Counter[int] = Counter()
        self.accepted = 0
        self.lock = threading.Lock()
        self.execute()
        eventually(lambda: self.ran[0] == 1)

    def execute(self) -> None:
        """Submit a task."""
        with self.lock:
            number, self.accepted = self.accepted, self.accepted + 1
        try:
            self.executor.execute(lambda: self._run(number))
        except RuntimeError:
            self.ran[number] += 1  # refused, because the executor is closed

    def _run(self, number: int) -> None:
        with self.lock:
            self.ran[number] += 1

    def execute_two(self) -> None:
        """Submit two tasks."""
        self.execute()
        self.execute()

    def shutdown(self) -> None:
        """Shut the executor down."""
        assert self.executor.shutdown(DEADLINE), "shutdown blocks"

    def verify(self) -> None:
        """Check that each task ran once and every thread has ended."""
        assert self.executor.shutdown(DEADLINE), "a thread does not end"
        eventually(lambda: sum(self.ran.values()) == self.accepted, lambda: f"{self.ran} of {self.accepted} tasks ran")
        assert set(self.ran.values()) == {1}, "a task ran twice"
        assert not self.executor.threads and not self.executor.backlog


POOL = named(Pool.execute, Pool.execute_two, Pool.shutdown)


@pytest.fixture(autouse=True)
def quiet_drops() -> Iterator[None]:
    """Silence the hook for dropped elements: these tests drop elements on purpose."""
    before = pyrs.set_element_hook(lambda count, where: None)
    yield
    pyrs.set_element_hook(before)


@pairs(POOL)
def test_executor_keeps_its_invariants(first: str, second: str) -> None:
    lines = interleave([executor], Pool, POOL[first], POOL[second], Pool.verify)
    assert lines > 3
