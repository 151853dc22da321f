"""Fuzz the Java side of the link: a raw socket dials the ports of real bridges in a JVM behind Py4J.

Invariants, checked for every link:

- The JVM accepts the frames, or ends the link with GOAWAY 2 or EOF within the deadline. It refuses bytes whose
  framing the Python side refuses. It never sends GOAWAY 1 (internal error) or a malformed frame.
- Every Java Subscriber on the link receives a terminal signal, and a Java thread that waits for a call returns.
- Another bridge to the same JVM works before and after. At the end no thread and no heap of the links is left, and no
  thread has ended with an uncaught exception.
"""

from __future__ import annotations

import secrets
import socket
import struct
import tempfile
import threading
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import IO, Any

from pyrs import jvm
from pyrs.errors import ConversionError, ProtocolError
from pyrs.jvm.gateways import gateway_for
from pyrs.jvm.link.frames import MAX_LENGTH, UNPROVEN_MAX_LENGTH, Frame, FrameDecoder, FrameType, frame
from pyrs.jvm.link.handshake import Dialler
from tests.campaigns.frame_mutation import Peer, Values, mutated
from tests.campaigns.reporting import Budget, Violation, log, save
from tests.link.plain_session import LinkSession
from tests.shutdown.plain_jvm import PlainJvm, compile_parties
from tests.waiting import MILLIS, eventually

SECONDS = 20.0
"""The time that the JVM may take to end a link. It needs milliseconds; the machine may be busy."""
HEAP = 256
"""The maximum heap of the JVM, in MiB."""
HEAP_GROWTH = 24 << 20
FRAMES_EACH = 200
LEGAL_FRAMES_EACH = 3_000
CHECKED_EACH = 50
"""Links between two checks of the JVM."""


class Dialled:
    """An open link without a session, which sends bytes and decodes the received frames."""

    def __init__(self, port: int, token: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self.decoder = FrameDecoder()
        self.goaway: list[Any] = []
        self.answered = False
        dialler = Dialler(token)
        self.socket.sendall(dialler.hello(self._next()))
        dialler.proof(self._next())

    def _next(self) -> Frame:
        while not (messages := self.decoder.feed(self.socket.recv(4 + MAX_LENGTH))):
            pass
        return messages[0]

    def send(self, data: bytes) -> None:
        """Send bytes, and ignore errors: the JVM may have closed the connection."""
        with suppress(OSError):
            self.socket.sendall(data)

    def read(self, until_return: int = -1) -> bytes:
        """Read until EOF, or until the RETURN of a call. Return its body, or no bytes at EOF.

        Raises:
            Violation: the JVM did neither within the deadline, or sent an invalid frame.
        """
        try:
            while data := self.socket.recv(1 << 16):
                for message in self.decoder.feed(data):
                    if message.type == FrameType.GOAWAY:
                        self.goaway.append(message.body)
                        if message.body[:2] not in (b"\x92\x02", b"\x92\x00"):
                            raise Violation(f"the JVM sent GOAWAY {message.body!r}")
                    elif message.type == FrameType.RETURN and message.id == until_return:
                        return message.body
        except TimeoutError:
            raise Violation(f"the JVM neither answered nor ended the link within {SECONDS:g} s") from None
        except ProtocolError as error:
            raise Violation(f"the JVM sent a malformed frame: {error}") from error
        except OSError:
            pass  # reset: the JVM closed the connection before it had read everything
        return b""

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


class JavaFuzz:
    """A JVM and its links.

    Args:
        seed: the seed of all random choices.
        stack: ends the JVM.
    """

    def __init__(self, seed: int, stack: ExitStack) -> None:
        self.seed = seed
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.errors: IO[str] = stack.enter_context((folder / "stderr").open("w+", encoding="utf-8"))
        self.plain = PlainJvm(compile_parties(folder), (f"-Xmx{HEAP}m", "-XX:+ExitOnOutOfMemoryError"), self.errors)
        stack.callback(self.plain.stop)
        self.java: Any = self.plain.gateway.jvm
        # Each refused link logs a warning. Uncaught exceptions are not logged: the JVM prints them on standard error.
        self.logger = self.java.java.util.logging.Logger.getLogger("io.pyrs")
        self.logger.setLevel(self.java.java.util.logging.Level.OFF)
        self.gateway = gateway_for(self.plain.gateway)
        self.healthy = stack.enter_context(jvm.connect(self.plain.gateway, name="healthy"))
        self.data = b""
        self.check()
        self.heap = self.used_heap()

    def used_heap(self) -> int:
        """Return the used heap after a collection."""
        runtime = self.java.java.lang.Runtime.getRuntime()
        for _ in range(3):
            self.java.java.lang.System.gc()
        return int(runtime.totalMemory() - runtime.freeMemory())

    def check(self) -> None:
        """Check that the JVM lives and another bridge works."""
        if self.plain.process.poll() is not None:
            raise Violation(f"the JVM has ended with status {self.plain.process.returncode}")
        stream = self.healthy.from_jvm(self.java.Parties.Range(100))
        if stream.collect(timeout=SECONDS) != list(range(100)):
            raise Violation("another bridge of the JVM does not work")

    def link(self, number: int) -> int:
        """Open a link, send frames and check its end. Return the number of messages that the JVM read."""
        random = Random(f"{self.seed}/java/{number}")
        java, token = self.java, secrets.token_bytes(32)
        control: Any = self.gateway.open(token, {"name": f"fuzzed-{number}", "max_prefetch": 256})
        try:
            port = control.port()
            if random.random() < 0.2:
                self.unproven(random, port)
            dialled = Dialled(port, token)
            handles = [
                control.export(java.Parties.Range(50)),
                control.export(java.Parties.Counting(5, 1, False)),
                control.export(java.java.util.concurrent.SubmissionPublisher()),
                control.export(java.java.util.function.Function.identity()),
            ]
            sinks = [java.Parties.Counting(random.choice((1, 5, 1_000)), 1, False) for _ in range(2)]
            for at, sink in enumerate(sinks):
                control.mirror(1, 70 + at, {}).subscribe(sink)
            caller = None
            if random.random() < 0.1:
                function = control.callable(80, "java.util.function.Function", {})
                caller = threading.Thread(target=java.Parties.failure, args=(function,), daemon=True)
                caller.start()
            if random.random() < 0.7 or self.compare(dialled, random):
                hostility = random.choice((0.0, 0.0, 0.01, 0.03, 0.2))
                self.talk(dialled, random, Peer(random, [2, 4], [], handles, 1, hostility))
            dialled.close()
            for sink in sinks:
                if not sink.awaitEnd(MILLIS):
                    raise Violation("a Java Subscriber received no terminal signal")
            if caller is not None:
                caller.join(SECONDS)
                if caller.is_alive():
                    raise Violation("a Java thread waits for a call over a link that has ended")
            return int(control.stats()["frames_in"])
        finally:
            control.close()

    def compare(self, dialled: Dialled, random: Random) -> bool:
        """Send barriers with a value until one is refused; both sides must refuse the same values.

        Returns:
            True if the link is open.
        """
        values, codec = Values(random, wild=True), LinkSession().codec
        for number in range(2**20, 2**20 + 20):
            value = values.value()
            if random.random() < 0.3:
                value = mutated(random, bytes(4) + value)[4:]
            body = b"\x92\x00\x91" + value
            if len(body) > MAX_LENGTH - 9:
                continue
            refused, unconvertible = "", False
            try:
                unconvertible = codec.decode_entries(body)[1] is not None
            except ConversionError:
                unconvertible = True
            except ProtocolError as error:
                refused = str(error)
            self.data = frame(FrameType.CALL, number, body)
            dialled.send(self.data)
            answer = dialled.read(number)
            # A side may stop reading at a value that cannot be converted, and overlook malformed bytes after it.
            if bool(answer) == bool(refused) and not unconvertible and answer[:2] != b"\x92\xc2":
                difference = f"Java {dialled.goaway or 'accepts'}, Python {refused or 'accepts'}"
                raise Violation(f"the sides differ on the value {value.hex()[:200]}: {difference}")
            if not answer:
                return False
        return True

    def talk(self, dialled: Dialled, random: Random, peer: Peer) -> None:
        """Send frames to an open link, and check that the JVM accepts them or ends the link."""
        maximum = FRAMES_EACH if peer.hostility else LEGAL_FRAMES_EACH
        data = self.data = b"".join(peer.any_frame() for _ in range(random.randrange(1, maximum)))
        framing = FrameDecoder()
        refused = False
        try:
            framing.feed(data)
        except ProtocolError:
            refused = True
        for start in range(0, len(data), step := random.choice((7, 1_000, 1 << 20))):
            dialled.send(data[start : start + step])
            if step == 7 and start > 500:
                dialled.send(data[start + step :])
                break
        if not refused and not framing.pending:
            barrier = 1 << 40
            dialled.send(frame(FrameType.CALL, barrier, b"\x92\x00\x91\x01"))
            if not dialled.read(barrier) and not peer.hostility:
                raise Violation("legal frames were refused")
        elif refused:
            dialled.read()
        with suppress(OSError):
            dialled.socket.shutdown(socket.SHUT_WR)
        dialled.read()

    def unproven(self, random: Random, port: int) -> None:
        """Send data that does not prove the token: the JVM closes each connection, and accepts the link afterwards."""
        waiting: list[socket.socket] = []
        try:
            for _ in range(random.choice((1, 3, 9, 12))):
                unauthenticated = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
                waiting.append(unauthenticated)
                hello = frame(FrameType.HELLO, 0, struct.pack(">H", 1) + random.randbytes(64))
                kind = random.random()
                data = b"" if kind < 0.1 else hello if kind < 0.3 else mutated(random, hello)
                if kind > 0.7:
                    data = random.randbytes(random.randrange(300))
                with suppress(OSError):
                    unauthenticated.sendall(data)
                if self.is_refused(data):
                    self.await_end(unauthenticated)
        finally:
            for each in waiting:
                each.close()

    @staticmethod
    def is_refused(data: bytes) -> bool:
        """Return whether the bytes are malformed before the proof, or a whole HELLO with a wrong proof."""
        try:
            return bool(FrameDecoder(UNPROVEN_MAX_LENGTH).feed(data))
        except ProtocolError:
            return True

    @staticmethod
    def await_end(unauthenticated: socket.socket) -> None:
        """Wait until the JVM closes the connection.

        Raises:
            Violation: the JVM does not close it within the deadline.
        """
        try:
            while unauthenticated.recv(1 << 12):
                pass
        except TimeoutError:
            raise Violation("the JVM keeps a connection that has sent malformed bytes without a proof") from None
        except OSError:
            pass  # reset: the JVM closed the connection before it had read everything

    def check_end(self) -> None:
        """Check that the links have left nothing in the JVM."""
        self.check()
        self.healthy.close()

        def threads() -> list[str]:
            return [name for name in self.java.Parties.bridgeThreadNames() if name != "pyrs-cleaner"]

        eventually(lambda: not threads(), lambda: f"threads are left in the JVM: {threads()}")
        eventually(
            lambda: self.used_heap() < self.heap + HEAP_GROWTH,
            lambda: f"the heap grew from {self.heap:,} to {self.used_heap():,} bytes",
        )
        self.errors.flush()
        self.errors.seek(0)
        errors = self.errors.read()
        if "Exception in thread" in errors or "OutOfMemory" in errors:
            raise Violation(f"a thread of the JVM ended with an uncaught exception: {errors[-3_000:]}")


def fuzz(seed: int, seconds: float | None, count: int | None) -> None:
    """Fuzz until the time or the number of frames is used up.

    Raises:
        Violation: an invariant does not hold.
    """
    with ExitStack() as stack:
        campaign = JavaFuzz(seed, stack)
        budget = Budget("fuzz of the Java side", seconds, count, "frames")
        number = 0
        while budget.left:
            number += 1
            try:
                budget.done += campaign.link(number)
                if number % CHECKED_EACH == 0:
                    campaign.check()
            except Exception as error:
                path = save(f"java-{seed}-{number}.bin", campaign.data)
                details = "".join(traceback.format_exception(error))
                raise Violation(f"link {seed}/java/{number}: {error}\n{details}saved in {path}") from error
        try:
            campaign.check_end()
        except AssertionError as error:
            raise Violation(str(error)) from error
        log(f"{budget.name}: {budget.summary()}, {number:,} links: no violation")
