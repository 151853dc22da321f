"""Kill, stop, cut, slow down, fork and interrupt both sides of bridges that have live streams.

Invariants, checked for every scenario:

- Every Subscriber, Python's or Java's, receives exactly one terminal signal within the deadline, unless it cancelled.
- A stream that the fault does not concern receives every element, in order.
- No thread of a bridge, no stream and no process is left.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.errors import LinkBroken, LinkClosed, PyrsError
from pyrs.jvm.bridge import Bridge
from pyrs.jvm.gateways.shield import Shield
from pyrs.jvm.java_objects import JavaPublisher
from pyrs.jvm.link import connection as link
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.session import Session
from pyrs.testing import TestSubscriber
from tests.campaigns.reporting import Budget, Violation, log
from tests.forking import status_of_a_child
from tests.interrupts import Raising
from tests.shutdown.plain_jvm import PlainJvm, compile_parties
from tests.waiting import DEADLINE, MILLIS, eventually, recording, uncollected

ROOT = Path(__file__).parents[2]
CLOSE_SECONDS = 15.0
COUNT = 30_000
CUT_SECONDS = 5.0
"""A connection with a limit is cut after this time at the latest."""


def verify_complete(subscriber: TestSubscriber[Any], sink: Any, count: int) -> None:
    """Check that a Python and a Java Subscriber receive all elements, with the deadline between two elements."""
    await_termination(lambda: subscriber.ended, lambda: len(subscriber.elements))
    assert subscriber.await_complete(DEADLINE) == list(range(count))
    await_termination(lambda: sink.awaitEnd(0), sink.count)
    assert (sink.count(), sink.inOrder(), sink.error()) == (count, True, None)


def await_termination(ended: Callable[[], bool], received: Callable[[], int]) -> None:
    """Wait until a stream ends. Fail when no element arrives within the deadline."""

    def advances(before: int) -> bool:
        return ended() or received() > before

    while not ended():
        before = received()
        eventually(partial(advances, before), f"a stream stopped after {before} elements")


class Load:
    """Live streams of a bridge in both directions.

    Args:
        bridge: the bridge.
        java: the classes of the JVM, ``gateway.jvm``.
    """

    def __init__(self, bridge: Bridge, java: Any) -> None:
        self.sources = [java.Parties.Range(1 << 60) for _ in range(2)]
        self.subscribers = [recording(10, 1), recording(0)]
        self.sinks = [java.Parties.Counting(10, 1, False), java.Parties.Counting(1, 0, False)]
        self.future = bridge.from_jvm(java.java.util.concurrent.CompletableFuture())
        self.waiting: list[BaseException | None] = []
        for source, subscriber in zip(self.sources, self.subscribers, strict=True):
            bridge.from_jvm(source).subscribe(subscriber)
        for sink in self.sinks:
            bridge.to_jvm(pyrs.from_iterable(iter(int, 1))).subscribe(sink)
        self.thread = threading.Thread(target=self._wait, name="waiting for a future", daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        try:
            self.future.result(DEADLINE * 4)
            self.waiting.append(None)
        except BaseException as error:
            self.waiting.append(error)

    def verify_python(self, kind: type[PyrsError]) -> None:
        """Check that each Python Subscriber, and the thread that waits, received one error of this type."""
        for subscriber in self.subscribers:
            subscriber.await_error(kind, DEADLINE)
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive(), "a thread waits for a future of a link that has ended"
        assert isinstance(self.waiting[0], kind), f"the future raised {self.waiting[0]!r}"
        for subscriber in self.subscribers:
            subscriber.assert_rules()

    def verify_java(self) -> None:
        """Check that each Java Subscriber received an error, and that the subscribed Publishers were cancelled."""
        for sink in self.sinks:
            assert sink.awaitEnd(MILLIS), "a Java Subscriber received no terminal signal"
            assert "Link" in sink.error(), sink.error()
        self.verify_sources()

    def verify_sources(self) -> None:
        """Check that each Publisher was cancelled, unless the link ended before Java subscribed to it."""
        for source in self.sources:
            assert not source.subscribed() or source.awaitCancelled(MILLIS), "a Java Publisher was not cancelled"


class Proxy:
    """Forwards one connection, slowly or only for a number of bytes.

    Args:
        port: the port to which it connects.
        limits: the numbers of bytes to and from the port after which the connection is cut, None for no cut.
        pause: the seconds before each of the first reads.
        reset: cut with RST and not with FIN.
        seconds: the time after which a connection with a limit is cut in any case.
    """

    def __init__(
        self,
        port: int,
        limits: tuple[int | None, int | None],
        pause: float,
        reset: bool,
        seconds: float = CUT_SECONDS,
    ) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.target = port
        self.limits = limits
        self.pause = pause
        self.reset = reset
        self.seconds = None if limits == (None, None) else seconds
        threading.Thread(target=self._forward, name="proxy", daemon=True).start()

    def _forward(self) -> None:
        # One thread for both directions: a socket that another thread reads is not closed at once, and sends no RST.
        with suppress(OSError):
            near, _ = self.listener.accept()
            self.listener.close()
            far = socket.create_connection(("127.0.0.1", self.target))
            forwarded = {near: 0, far: 0}
            limits = {near: self.limits[0], far: self.limits[1]}
            end = None if self.seconds is None else time.monotonic() + self.seconds
            with near, far:
                with suppress(OSError):
                    left = self.seconds
                    while left is None or left > 0:
                        readable = select.select([near, far], [], [], left)[0]
                        if not all(self._pump(each, forwarded, limits) for each in readable):
                            break
                        left = None if end is None else end - time.monotonic()
                for each in (near, far):
                    if self.reset:
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _pump(
        self, source: socket.socket, forwarded: dict[socket.socket, int], limits: dict[socket.socket, int | None]
    ) -> bool:
        """Forward one read. Return False when the connection must be cut."""
        (sink,) = forwarded.keys() - {source}
        slow = self.pause and forwarded[source] < 2_000
        data = source.recv(64 if slow else 1 << 16)
        if slow:
            time.sleep(self.pause)
        limit = limits[source]
        left = len(data) if limit is None else limit - forwarded[source]
        sink.sendall(data[:left])
        forwarded[source] += len(data)
        return bool(data) and left >= len(data)


@contextmanager
def proxied(limits: tuple[int | None, int | None], pause: float = 0.0, reset: bool = False) -> Iterator[None]:
    """Let bridges that are opened in the block dial a proxy."""
    dial, proxies = link._dial, []

    def dial_proxy(port: int, token: bytes) -> Any:
        proxies.append(Proxy(port, limits, pause, reset))
        return dial(proxies[-1].port, token)

    link._dial = dial_proxy
    try:
        yield
    finally:
        link._dial = dial
        for proxy in proxies:
            proxy.listener.close()


CHILD = """
    import sys
    from py4j.java_gateway import GatewayParameters, JavaGateway
    import pyrs
    from pyrs import jvm
    from tests.waiting import recording
    pyrs.set_element_hook(lambda count, where: None)
    port, token = int(sys.argv[1]), sys.stdin.readline().strip()
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    bridge = jvm.connect(gateway)
    shared = gateway.jvm.Parties.shared
    for number in range(2):
        bridge.from_jvm(shared(f"source {number}")).subscribe(recording(10, 1))
        bridge.to_jvm(pyrs.from_iterable(iter(int, 1))).subscribe(shared(f"sink {number}"))
    print("flowing", flush=True)
    sys.stdin.readline()
"""

SPARK = """
    import sys, threading, time
    import pyrs
    from pyrs import jvm
    from tests.sessions import spark_session
    from tests.waiting import MILLIS, recording
    spark = spark_session("local[1]", {"spark.driver.extraClassPath": sys.argv[1]})
    java = spark.sparkContext._gateway.jvm
    bridge = jvm.connect(spark)
    recorder, sink = recording(10, 1), java.Parties.Counting(10, 1, False)
    bridge.from_jvm(java.Parties.Range(50_000)).subscribe(recorder)
    bridge.to_jvm(pyrs.range(50_000)).subscribe(sink)
    time.sleep(float(sys.argv[2]))
    spark.stop()
    assert recorder.await_complete() == list(range(50_000))
    assert sink.awaitEnd(MILLIS) and (sink.count(), sink.inOrder(), sink.error()) == (50_000, True, None)
    assert bridge.close()
"""


class Chaos:
    """The scenarios, which use one shared JVM and further ones that are killed.

    Args:
        stack: ends the JVM.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.before = set(threading.enumerate())
        self.classes = compile_parties(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        self.plain = self.new_jvm(stack)
        self.java: Any = self.plain.gateway.jvm
        self.all: list[Callable[[Random], None]] = [
            self.jvm_is_killed,
            self.jvm_is_stopped,
            self.jvm_is_stopped_at_close,
            self.python_is_killed,
            self.connection_is_cut,
            self.connection_is_cut,
            self.connection_is_slow,
            self.process_is_forked,
            self.connect_is_interrupted,
            self.subscribe_is_interrupted,
            self.call_is_interrupted,
            self.close_is_interrupted,
            self.spark_is_stopped,
        ]

    def new_jvm(self, stack: ExitStack) -> PlainJvm:
        """Start a JVM, which ends with the stack."""
        plain = PlainJvm(self.classes, ("-Xmx256m",))
        stack.callback(plain.stop)
        return plain

    def verify_nothing_is_left(self) -> None:
        """Check that the threads of the campaign's bridges have ended, in this process and in the shared JVM."""

        def threads() -> list[str]:
            new = {each.name for each in set(threading.enumerate()) - self.before}
            ours = [name for name in new if name.startswith(("pyrs-bridge", "pyrs-link"))]
            return ours + [name for name in self.java.Parties.bridgeThreadNames() if name != "pyrs-cleaner"]

        eventually(lambda: not threads(), lambda: f"threads are left: {threads()}")

    def verify_new_bridge(self) -> None:
        """Check that a new bridge to the shared JVM works."""
        with jvm.connect(self.plain.gateway) as bridge:
            assert bridge.from_jvm(self.java.Parties.Range(100)).collect(timeout=DEADLINE) == list(range(100))

    def jvm_is_killed(self, random: Random) -> None:
        """Kill the JVM with SIGKILL: every Python Subscriber receives LinkBroken, and close() returns."""
        with ExitStack() as stack:
            plain = self.new_jvm(stack)
            bridge = jvm.connect(plain.gateway)
            load = Load(bridge, plain.gateway.jvm)
            time.sleep(random.uniform(0, 0.1))
            plain.kill()
            load.verify_python(LinkBroken)
            assert bridge.close(CLOSE_SECONDS)
            assert bridge.stats()["streams_live"] == 0

    def jvm_is_stopped(self, random: Random) -> None:
        """Stop the JVM with SIGSTOP, and continue it with SIGCONT: no element is lost."""
        # Py4J's finalizers call the JVM, and block the thread on which a collection runs while the JVM is stopped.
        with uncollected(), jvm.connect(self.plain.gateway) as bridge:
            subscriber, sink = recording(10, 1), self.java.Parties.Counting(10, 1, False)
            bridge.from_jvm(self.java.Parties.Range(COUNT)).subscribe(subscriber)
            bridge.to_jvm(pyrs.range(COUNT)).subscribe(sink)
            for _ in range(3):
                time.sleep(random.uniform(0, 0.1))
                self.plain.process.send_signal(signal.SIGSTOP)
                time.sleep(random.uniform(0, 0.5))
                self.plain.process.send_signal(signal.SIGCONT)
            verify_complete(subscriber, sink, COUNT)

    def jvm_is_stopped_at_close(self, random: Random) -> None:
        """Close a bridge while the JVM is stopped: close() returns, and the JVM's side ends when it continues."""
        with uncollected():
            bridge = jvm.connect(self.plain.gateway)
            load = Load(bridge, self.java)
            time.sleep(random.uniform(0, 0.1))
            self.plain.process.send_signal(signal.SIGSTOP)
            try:
                time.sleep(random.uniform(0, 0.3))
                assert bridge.close(CLOSE_SECONDS), "close() waits for a stopped JVM"
                load.verify_python(LinkClosed)
            finally:
                self.plain.process.send_signal(signal.SIGCONT)
        load.verify_java()

    def python_is_killed(self, random: Random) -> None:
        """Kill a Python process, which may be stopped: its Java Subscribers receive an error."""
        sources = [self.java.Parties.Range(1 << 60) for _ in range(2)]
        sinks = [self.java.Parties.Counting(10, 1, False) for _ in range(2)]
        for number in range(2):
            self.java.Parties.share(f"source {number}", sources[number])
            self.java.Parties.share(f"sink {number}", sinks[number])
        child = self.start(CHILD, str(self.plain.port))
        try:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(self.plain.token + "\n")
            child.stdin.flush()
            assert child.stdout.readline() == "flowing\n"
            time.sleep(random.uniform(0, 0.2))
            if random.random() < 0.5:
                child.send_signal(signal.SIGSTOP)
                time.sleep(random.uniform(0, 0.5))
                assert all(sink.error() is None for sink in sinks), "a stopped process ended a stream"
        finally:
            child.kill()
            child.communicate()
        for sink in sinks:
            assert sink.awaitEnd(MILLIS), "a Java Subscriber received no terminal signal"
            assert "Link" in sink.error()
        for source in sources:
            assert source.awaitCancelled(MILLIS), "a Java Publisher was not cancelled"

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a Python process."""
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def spark_is_stopped(self, random: Random) -> None:
        """Call ``spark.stop()``: other streams of the bridge continue."""
        jar = next(Path(jvm.__file__).parent.glob("jars/reactive-streams-*.jar"))
        with self.start(SPARK, f"{self.classes}:{jar}", str(random.uniform(0, 0.5))) as driver:
            try:
                output, _ = driver.communicate(timeout=DEADLINE * 8)
            finally:
                driver.kill()
        assert driver.returncode == 0, output[-3_000:]

    def process_is_forked(self, random: Random) -> None:
        """Fork: the bridge is closed in the child, and its streams continue in the parent."""
        with jvm.connect(self.plain.gateway) as bridge:
            source = bridge.from_jvm(self.java.Parties.Range(COUNT))
            subscriber, sink = recording(10, 1), self.java.Parties.Counting(10, 1, False)
            source.subscribe(subscriber)
            bridge.to_jvm(pyrs.range(COUNT)).subscribe(sink)

            def in_the_child() -> bool:
                late = recording(1)
                source.subscribe(late)
                return "fork" in str(late.await_error(LinkBroken)) and bridge.closed and bridge.close()

            for _ in range(random.randrange(1, 4)):
                time.sleep(random.uniform(0, 0.05))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    status = status_of_a_child(in_the_child)
                assert status == 0, f"a forked child ended with {status}"
            verify_complete(subscriber, sink, COUNT)

    def connection_is_cut(self, random: Random) -> None:
        """Cut a connection after some bytes, possibly during the handshake."""
        at = random.choice((random.randrange(250), random.randrange(5_000), random.randrange(300_000)))
        limits = random.choice(((at, None), (None, at)))
        with proxied(limits, reset=random.random() < 0.5):
            try:
                bridge = jvm.connect(self.plain.gateway)
            except LinkBroken:
                return  # during the handshake
        try:
            load = Load(bridge, self.java)
        except (LinkBroken, LinkClosed):
            load = None  # before all streams were open
        if load is not None:
            load.verify_python(LinkBroken)
            load.verify_sources()
        assert bridge.close(CLOSE_SECONDS)
        assert bridge.stats()["streams_live"] == 0

    def connection_is_slow(self, random: Random) -> None:
        """Slow a connection down with pauses and small reads: the streams complete."""
        with proxied((None, None), pause=random.uniform(0, 0.01)):
            bridge = jvm.connect(self.plain.gateway)
        with bridge:
            subscriber, sink = recording(10, 1), self.java.Parties.Counting(10, 1, False)
            bridge.from_jvm(self.java.Parties.Range(2_000)).subscribe(subscriber)
            bridge.to_jvm(pyrs.range(2_000)).subscribe(sink)
            verify_complete(subscriber, sink, 2_000)

    def every_line(self, functions: tuple[Any, ...], attempt: Callable[[Raising], None]) -> None:
        """Repeat an attempt with a KeyboardInterrupt at each line that the functions run on this thread."""
        line = 0
        while True:
            line += 1
            raising = Raising(functions, line)
            try:
                attempt(raising)
            except AssertionError as error:
                raise AssertionError(f"interrupted at {raising.place} ({line}): {error}") from error
            if not raising.reached:
                assert line > 3, "the functions did not run"
                return

    def connect_is_interrupted(self, random: Random) -> None:
        """Interrupt connect at each line: no bridge is left open."""

        def attempt(raising: Raising) -> None:
            try:
                with uncollected(), raising:
                    bridge = jvm.connect(self.plain.gateway)
            except KeyboardInterrupt:
                self.verify_nothing_is_left()
            else:
                bridge.close()

        self.every_line((jvm.connect, Bridge.__init__, Shield.run), attempt)
        self.verify_new_bridge()

    def subscribe_is_interrupted(self, random: Random) -> None:
        """Interrupt subscribe at each line: the stream is cancelled on both sides, and the bridge works."""
        functions = (JavaPublisher.subscribe, Session.subscribe, Session._register, InboundStream.start)
        with jvm.connect(self.plain.gateway) as bridge:

            def attempt(raising: Raising) -> None:
                source = self.java.Parties.Range(1 << 60)
                stream, subscriber = bridge.from_jvm(source), recording(1)
                try:
                    with uncollected(), raising:
                        stream.subscribe(subscriber)
                except KeyboardInterrupt:
                    pass
                if not raising.reached or subscriber.ended:
                    subscriber.cancel()
                eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: f"a stream is left: {bridge!r}")
                eventually(lambda: bridge.jvm_stats()["streams_live"] == 0, "a stream is left in the JVM")
                assert bridge.from_jvm(self.java.Parties.Range(5)).collect(timeout=DEADLINE) == list(range(5))

            self.every_line(functions, attempt)

    def call_is_interrupted(self, random: Random) -> None:
        """Interrupt a call at each line: no entry is left, and the next call works."""
        with jvm.connect(self.plain.gateway) as bridge:

            def attempt(raising: Raising) -> None:
                try:
                    with uncollected(), raising:
                        bridge._session.call(0, ["x"], deadline_seconds=DEADLINE)
                        bridge.java_class("java.lang.Math").abs(-5)
                except KeyboardInterrupt:
                    pass
                assert not bridge._session._calls, "a call is left"
                assert bridge._session.call(0, ["y"], deadline_seconds=DEADLINE) == "y"
                assert bridge.java_class("java.lang.Math").abs(-7) == 7

            self.every_line((Session.call, Shield.run, Bridge.java_class), attempt)

    def close_is_interrupted(self, random: Random) -> None:
        """Interrupt close at each line: a second close() completes it."""

        def attempt(raising: Raising) -> None:
            bridge = jvm.connect(self.plain.gateway)
            load = Load(bridge, self.java)
            try:
                with uncollected(), raising:
                    bridge.close()
            except KeyboardInterrupt:
                pass
            assert bridge.close(CLOSE_SECONDS), "a second close() does not complete the first"
            load.verify_python(LinkClosed)
            load.verify_java()

        self.every_line((Bridge.close, LinkConnection.close, LinkConnection._has_ended), attempt)


def run(seed: int, minutes: float) -> None:
    """Run every scenario once, and then random ones other than Spark's, until the time has elapsed.

    Raises:
        Violation: an invariant does not hold.
    """
    before = pyrs.set_element_hook(lambda count, where: None)  # elements prefetched at a cut are dropped on purpose
    logging.disable(logging.CRITICAL)
    try:
        with ExitStack() as stack:
            campaign = Chaos(stack)
            budget = Budget("chaos", minutes * 60, None, "scenarios")
            order = campaign.all[:]
            Random(seed).shuffle(order)
            while order or budget.left:
                name = f"{seed}/{budget.done}"
                random = Random(name)
                scenario = order.pop() if order else random.choice(campaign.all[:-1])
                started = time.monotonic()
                try:
                    scenario(random)
                    campaign.verify_nothing_is_left()
                except Exception as error:
                    details = "".join(traceback.format_exception(error))
                    raise Violation(f"{scenario.__name__}, scenario {name}: {error}\n{details}") from error
                budget.done += 1
                log(f"chaos: {scenario.__name__} passed in {time.monotonic() - started:.1f} s")
            campaign.verify_new_bridge()
            log(f"chaos: {budget.summary()}: no violation")
    finally:
        logging.disable(logging.NOTSET)
        pyrs.set_element_hook(before)
