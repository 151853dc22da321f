"""Fuzz the Python side of the link, without a socket: the frame decoder, the session and the value table.

Invariants, checked for every conversation:

- A frame is accepted or refused with ``ProtocolError``. No other exception leaves the decoder or the session, and no
  task on a worker raises.
- When the link ends, every Subscriber that received ``on_subscribe`` and did not cancel has received one terminal
  signal; no Subscriber receives more elements than it requested, a signal after its terminal signal, or None.
- When the link has ended, the tables of streams and handles are empty, and every pending call has an answer.
- A read takes bounded CPU time, and memory in proportion to its bytes.
"""

from __future__ import annotations

import gc
import resource
import time
import traceback
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from random import Random
from typing import Any

import numpy  # noqa: F401 - a measured conversation must not be the first that needs it: the import allocates 8 MB

import pyrs
from pyrs.api import Subscriber, Subscription
from pyrs.errors import LinkBroken, ProtocolError, PyrsError, VersionMismatch
from pyrs.jvm.link.frames import UNPROVEN_MAX_LENGTH, FrameDecoder, FrameType, frame
from pyrs.jvm.link.handshake import Dialler
from tests.campaigns.frame_mutation import Peer, mutated, pieces
from tests.campaigns.reporting import Budget, Violation, log, save
from tests.link.plain_session import LinkSession

CPU_SECONDS = 5.0
"""CPU time that a read of a few kilobytes may take."""
MEMORY_FACTOR = 200
MEMORY_BASE = 4 << 20
ADDRESS_SPACE = 2 << 30
"""Address space that the campaign may use beyond its start. An allocation by an announced length exceeds it."""
FRAMES_EACH = 40
MEASURED = 64
"""One in this number of conversations runs under tracemalloc."""


class Checked(Subscriber[Any]):
    """A Subscriber that records violations of rules 1.1, 1.7, 1.9, 2.12 and 2.13."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.subscription: Subscription | None = None
        self.demand = 0
        self.cancelled = False
        self.terminals = 0
        self.problems: list[str] = []

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.subscription is not None:
            self.problems.append("a second on_subscribe")
        self.subscription = subscription
        self.act()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            self.problems.append("on_next(None)")
        if self.terminals:
            self.problems.append("on_next after a terminal signal")
        self.demand -= 1
        if self.demand < 0:
            self.problems.append("on_next without demand")
        if self.demand < 2:
            self.act()

    def on_error(self, error: BaseException, /) -> None:
        if not isinstance(error, BaseException):
            self.problems.append(f"on_error({error!r})")
        self.on_complete()

    def on_complete(self) -> None:
        if self.subscription is None:
            self.problems.append("a terminal signal before on_subscribe")
        self.terminals += 1
        if self.terminals > 1:
            self.problems.append("a second terminal signal")

    def act(self) -> None:
        """Request, cancel or do nothing."""
        assert self.subscription is not None
        kind = self.random.random()
        if kind < 0.9:
            n = self.random.choice((1, 5, 40, 10_000, pyrs.UNBOUNDED))
            self.demand += n
            self.subscription.request(n)
        elif kind < 0.93:
            self.cancelled = True
            self.subscription.cancel()
        elif kind < 0.94:
            self.subscription.request(0)

    def verify(self) -> None:
        """Check the signals at the end of the link."""
        if self.subscription is not None and not self.cancelled and self.terminals != 1:
            self.problems.append(f"{self.terminals} terminal signals")
        if self.problems:
            raise Violation(f"a Subscriber received {', '.join(self.problems)}")


class Conversation:
    """One link from its start to its end.

    Args:
        seed: the seed of all random choices.
    """

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.session = session = LinkSession()
        self.decoder = FrameDecoder()
        self.subscribers = [Checked(self.random) for _ in range(5)]
        handles = [
            session.handles.own(pyrs.range(50)),
            session.handles.own(pyrs.from_iterable([b"x", {"k": [1, "v"]}, object()])),
            session.handles.own(pyrs.error(ValueError("mine"))),
            session.handles.own(self.subscribers[0]),
            session.handles.own(self.subscribers[1]),
            session.handles.own(lambda *arguments: arguments),
            session.handles.own(len),
        ]
        for subscriber in self.subscribers[2:]:
            session.subscribe(3, subscriber, options={"exact": self.random.random() < 0.3})
        self.calls: list[SimpleQueue[Any]] = [SimpleQueue() for _ in range(2)]
        session._calls.update(enumerate(self.calls, 1))
        hostility = self.random.choice((0.0, 0.02, 0.05, 0.3))
        self.peer = Peer(self.random, list(session.streams), [], handles, 2, hostility)
        self.data = b""
        self.frames = 0

    def run(self) -> bool:
        """Send frames until the link ends. Return whether every frame was accepted."""
        self.data = b"".join(self.peer.any_frame() for _ in range(self.random.randrange(1, FRAMES_EACH)))
        return self.receive(pieces(self.random, self.data), legal=not self.peer.hostility)

    def receive(self, reads: Iterable[bytes], *, legal: bool = False) -> bool:
        """Receive reads of a socket until one is refused, and end the link. Return whether all were accepted."""
        refused: PyrsError | None = None
        for piece in reads:
            try:
                self.read(piece)
            except ProtocolError as error:
                refused = error
                break
        if refused is not None and legal:
            raise Violation(f"legal frames were refused: {refused}")
        self.end(refused)
        return refused is None

    def read(self, data: bytes) -> None:
        """Process one read of the socket, as ``LinkConnection`` does."""
        session = self.session
        started = time.thread_time()
        for message in self.decoder.feed(data):
            self.frames += 1
            session.receive(message)
        session.outbox.write_polled()
        session.sent.clear()  # the session has decoded these frames, and so checked them
        if time.thread_time() - started > CPU_SECONDS:
            raise Violation(f"a read of {len(data)} bytes took more than {CPU_SECONDS:g} s of CPU time")

    def end(self, refused: PyrsError | None) -> None:
        """End the link and check the tables and the Subscribers."""
        session = self.session
        if refused is not None and not str(refused):
            raise Violation("a ProtocolError without a message")
        session.lost(session.broken(str(refused or "the JVM closed the connection")))
        for subscriber in self.subscribers:
            subscriber.verify()
        if session.streams or len(session.handles):
            raise Violation(f"{len(session.streams)} streams and {len(session.handles)} handles are left")
        for answer in self.calls:
            if answer.empty():
                raise Violation("a pending call received no answer")
            reply = answer.get()
            if isinstance(reply, list) and not reply[0]:
                failure(session, reply[1])


def failure(session: LinkSession, wire: Any) -> None:
    """Decode the error of a RETURN as ``Session.call`` does."""
    try:
        session.codec.failure(wire)
    except ProtocolError:
        pass


def handshake(random: Random) -> int:
    """Fuzz the dialling side before the link is open. Return the number of frames."""
    decoder = FrameDecoder(UNPROVEN_MAX_LENGTH)
    dialler = Dialler(random.randbytes(32), random.randbytes(32))
    hello = frame(FrameType.HELLO, 0, b"\0\1" + random.randbytes(32))
    proof = frame(FrameType.PROOF, 0, random.randbytes(32))
    sent = [each if random.random() < 0.4 else mutated(random, each) for each in (hello, proof)]
    steps = [dialler.hello, dialler.proof]
    try:
        for piece in pieces(random, b"".join(sent)):
            for message in decoder.feed(piece):
                if not steps:
                    break
                steps.pop(0)(message)
            if decoder.pending > UNPROVEN_MAX_LENGTH + 4:
                raise Violation(f"{decoder.pending} bytes are buffered before the link is open")
    except (ProtocolError, LinkBroken, VersionMismatch):
        return len(sent)
    if not steps:
        raise Violation("a random proof was accepted")
    return len(sent)


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit the address space, so that an unbounded allocation is a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def measured_memory(conversation: Conversation) -> Iterator[None]:
    """Check the peak of the memory that a conversation allocates."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = MEMORY_BASE + MEMORY_FACTOR * len(conversation.data)
    if peak > allowed:
        raise Violation(f"{peak} bytes were allocated for {len(conversation.data)} bytes, {allowed} are allowed")


def check_dropped(error: BaseException, where: str) -> None:
    """Check that the peer caused a dropped error.

    Raises:
        Violation: the error is internal.
    """
    if not isinstance(error, (PyrsError, ValueError)):
        raise Violation(f"an internal error was dropped: {error!r}, {where}") from error


def converse(seed: str, *, measured: bool = False) -> Conversation:
    """Run one conversation, and save its bytes if it violates an invariant.

    Raises:
        Violation: an invariant does not hold.
    """
    conversation = Conversation(seed)
    dropped: list[tuple[BaseException, str]] = []
    before = pyrs.set_error_hook(lambda error, where: dropped.append((error, where)))
    try:
        if measured:
            with measured_memory(conversation):
                conversation.run()
        else:
            conversation.run()
        for error, where in dropped:
            check_dropped(error, where)
    except Exception as error:
        path = save(f"python-{seed.replace('/', '-')}.bin", conversation.data)
        details = "".join(traceback.format_exception(error))
        raise Violation(f"conversation {seed}: {type(error).__name__}: {error}\n{details}saved in {path}") from error
    finally:
        pyrs.set_error_hook(before)
    return conversation


def fuzz(seed: int, seconds: float | None, count: int | None) -> None:
    """Fuzz until the time or the number of frames is used up.

    Raises:
        Violation: an invariant does not hold.
    """
    budget = Budget("fuzz of the Python side", seconds, count, "frames")
    before = pyrs.set_element_hook(lambda count, where: None)
    number = accepted = 0
    try:
        with limited_memory():
            while budget.left:
                number += 1
                if number % 8 == 0:
                    budget.done += handshake(Random(f"{seed}/handshake/{number}"))
                conversation = converse(f"{seed}/{number}", measured=number % MEASURED == 0)
                budget.done += conversation.frames
                accepted += conversation.session.end_error.args[0].endswith("closed the connection")
    finally:
        pyrs.set_element_hook(before)
        gc.collect()
    log(f"{budget.name}: {budget.summary()}, {number:,} links, {accepted:,} without a refused frame: no violation")
