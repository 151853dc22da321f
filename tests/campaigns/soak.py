"""Run streams of every shape on many threads for a long time, and compare the live objects before and after.

Each gateway has its own process: ``python -m tests.campaigns.soak py4j|jpype SEED SECONDS THREADS``.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.errors import JavaError
from tests.campaigns.reporting import Budget, Violation, log
from tests.shutdown.plain_jvm import PlainJvm, compile_parties
from tests.waiting import collected, eventually, recording

GATEWAYS = ("py4j", "jpype")
ROOT = Path(__file__).parents[2]
SECONDS = 90.0
"""The deadline of one stream, which normally takes milliseconds."""
MILLIS = int(SECONDS * 1_000)
SETTLE_SECONDS = 60.0
HANDLES = 20
"""The most handles that may be left: of objects that this module references or the next garbage collection frees."""
EAGER_THREADS = 4 + 2
"""The most threads of an idle bridge: four workers, the reader and the writer."""
HEAP = "-Xmx512m"
HEAP_GROWTH = 24 << 20
OBJECT_GROWTH = 100
"""The allowed growth of the number of live objects of pyrs, for example those of idle threads."""
WARM_UP = 0.15
"""The fraction of the time before the first measurement. Pools and caches fill during this time."""
FUNCTION = "java.util.function.Function"


def run(seed: int, minutes: float, threads: int) -> None:
    """Soak both gateways, each in its own process for half of the time.

    Raises:
        Violation: the result of a stream is wrong, or a counter has grown.
    """
    for gateway in GATEWAYS:
        seconds = minutes * 60 / len(GATEWAYS)
        command = [sys.executable, "-m", "tests.campaigns.soak", gateway, str(seed), str(seconds), str(threads)]
        try:
            status = subprocess.run(command, check=False, timeout=seconds + 600, cwd=ROOT).returncode
        except subprocess.TimeoutExpired:
            raise Violation(f"the process of soak over {gateway} hangs") from None
        if status:
            raise Violation(f"soak over {gateway} ended with status {status}, see above")


class Shapes:
    """The shapes of streams over one bridge. Each one raises AssertionError if its result is wrong."""

    def __init__(self, bridge: jvm.Bridge) -> None:
        self.bridge = bridge
        self.range = bridge.java_class("Parties$Range")
        self.counting = bridge.java_class("Parties$Counting")
        self.wrong = bridge.java_class("Parties$Wrong")
        self.parties = bridge.java_class("Parties")
        self.all: list[Callable[[Random], None]] = [
            self.from_java,
            self.from_java_exactly,
            self.to_java,
            self.to_java_by_reference,
            self.through_a_processor,
            self.calls,
            self.cancel_in_the_middle,
            self.cancel_from_java,
            self.error_from_java,
            self.error_to_java,
        ]

    def from_java(self, random: Random) -> None:
        """Java emits to a Python Subscriber."""
        count = random.choice((0, 1, 100, 5_000))
        stream = self.bridge.from_jvm(self.range(count))
        assert stream.collect(timeout=SECONDS) == list(range(count))

    def from_java_exactly(self, random: Random) -> None:
        """Java emits with demand that is forwarded one to one."""
        subscriber = recording(1, 1)
        self.bridge.from_jvm(self.range(50), exact=True).subscribe(subscriber)
        assert subscriber.await_complete(SECONDS) == list(range(50))

    def to_java(self, random: Random) -> None:
        """Python emits to a Java Subscriber."""
        count = random.choice((0, 1, 100, 5_000))
        self.received(pyrs.range(count), count, random.choice((1, 7, 1_000)))

    def to_java_by_reference(self, random: Random) -> None:
        """Python emits objects that are sent as handles, and large values."""
        elements = [object() for _ in range(200)] + [bytes(200_000), {"key": [object()]}]
        self.received(pyrs.from_iterable(elements), len(elements), 16)

    def received(self, stream: Any, count: int, first: int) -> None:
        """Subscribe a Java Subscriber and check that it receives this number of elements."""
        sink = self.counting(first, 1, False)
        self.bridge.to_jvm(stream).subscribe(sink.java)
        assert sink.awaitEnd(MILLIS), "no terminal signal"
        assert (sink.error(), sink.count()) == (None, count)

    def through_a_processor(self, random: Random) -> None:
        """A Python stage transforms the elements of a Java Publisher."""
        stage = self.bridge.to_jvm_stage(lambda stream: stream.map(lambda n: n * 2).filter(lambda n: n % 3 == 0))
        result = self.bridge.from_jvm(stage.apply(self.range(500).java))
        assert result.collect(timeout=SECONDS) == [n * 2 for n in range(500) if n * 2 % 3 == 0]

    def calls(self, random: Random) -> None:
        """Java calls a Python function with objects."""
        function = self.bridge.to_jvm_callable(lambda value: value, FUNCTION)
        assert self.parties.callMany(function, 2, 10) == "20"

    def cancel_in_the_middle(self, random: Random) -> None:
        """Python cancels an endless Publisher of Java."""
        source, count = self.range(1 << 60), random.randrange(1, 300)
        assert self.bridge.from_jvm(source).take(count).collect(timeout=SECONDS) == list(range(count))
        assert source.awaitCancelled(MILLIS), "the Publisher is not cancelled"

    def cancel_from_java(self, random: Random) -> None:
        """Java cancels an endless Publisher of Python."""
        cancelled = threading.Event()
        sink = self.counting(10, 1, False)
        endless = pyrs.from_iterable(iter(int, 1)).do_on_cancel(cancelled.set)
        self.bridge.to_jvm(endless).subscribe(sink.java)
        eventually(lambda: sink.count() > 10, "no element", SECONDS)
        sink.cancel()
        assert cancelled.wait(SECONDS), "the Publisher is not cancelled"

    def error_from_java(self, random: Random) -> None:
        """A Java Publisher fails."""
        subscriber = recording(5)
        self.bridge.from_jvm(self.wrong("request throws")).subscribe(subscriber)
        assert isinstance(subscriber.await_error(BaseException, SECONDS), JavaError)

    def error_to_java(self, random: Random) -> None:
        """A Python Publisher fails after some elements."""
        at = random.randrange(20)
        sink = self.counting(100, 0, False)
        self.bridge.to_jvm(pyrs.range(50).map(lambda n: n if n < at else 1 // 0)).subscribe(sink.java)
        assert sink.awaitEnd(MILLIS), "no terminal signal"
        assert "ZeroDivisionError" in sink.error() and sink.count() == at


class Soak:
    """One process with one JVM and one bridge."""

    def __init__(self, gateway: str, seed: int, stack: ExitStack) -> None:
        self.name = f"soak over {gateway}"
        self.seed = seed
        classes = compile_parties(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        self.plain: PlainJvm | None = None
        if gateway == "py4j":
            self.plain = PlainJvm(classes, (HEAP,))
            stack.callback(self.plain.stop)
            self.bridge = stack.enter_context(jvm.connect(self.plain.gateway))
        else:
            self.bridge = stack.enter_context(jvm.launch(classpath=[classes], jvm_options=[HEAP]))
        self.shapes = Shapes(self.bridge)
        self.system = self.bridge.java_class("java.lang.System")
        self.runtime = self.bridge.java_class("java.lang.Runtime").getRuntime()
        self.problems: list[str] = []
        self.counts: Counter[str] = Counter()
        self.stopped = threading.Event()

    def work(self, thread: int, round_name: str) -> None:
        """Run shapes until the time has elapsed or a problem was found."""
        number = 0
        while not self.stopped.is_set():
            number += 1
            name = f"{self.seed}/{round_name}/{thread}/{number}"
            random = Random(name)
            shape = random.choice(self.shapes.all)
            try:
                shape(random)
            except BaseException as error:
                self.problems.append(f"{shape.__name__} of {name}: {''.join(traceback.format_exception(error))}")
                self.stopped.set()
            self.counts[shape.__name__] += 1

    def run(self, seconds: float, threads: int, round_name: str) -> None:
        """Run shapes on many threads."""
        self.stopped.clear()
        budget = Budget(self.name, seconds, None, "streams")
        workers = [
            threading.Thread(target=self.work, args=(number, round_name), name=f"soak-{number}", daemon=True)
            for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        while budget.left and not self.stopped.wait(0.1):
            budget.done = sum(self.counts.values())
        self.stopped.set()
        for worker in workers:
            worker.join(SECONDS * 2)
            if worker.is_alive():
                self.problems.append(f"{worker.name} hangs")
        if self.problems:
            raise Violation("\n".join(self.problems[:5]))

    def counters(self) -> dict[str, int]:
        """Return the counters that must not grow."""
        self.bridge._references.originals.clear()  # the last errors, with the streams that their tracebacks reference
        gc.collect()
        for _ in range(2):
            self.system.gc()
        python, java = self.bridge.stats(), self.bridge.jvm_stats()
        files = len(list(Path("/proc/self/fd").iterdir()))
        if self.plain is not None:
            files -= len(self.plain.gateway._gateway_client.deque)  # idle connections of Py4J
        return {
            "streams": int(python["streams_live"]) + int(str(java["streams_live"])),
            "handles of Python": len(self.bridge._session.handles),
            "handles of Java": int(str(java["handles_owned"])),
            "threads": threading.active_count(),
            "files": files,
            "objects of pyrs": sum(str(type(each).__module__).startswith("pyrs.") for each in gc.get_objects()),
            "heap of Java": int(self.runtime.totalMemory()) - int(self.runtime.freeMemory()),
        }

    def settled(self) -> dict[str, int]:
        """Wait until all streams and idle threads have ended and few handles are left; return the counters."""
        last: dict[str, int] = {}

        def quiet() -> bool:
            last.update(self.counters())
            handles = last["handles of Python"] <= HANDLES and last["handles of Java"] <= HANDLES
            return handles and last["streams"] == 0 and self.bridge.stats()["threads"] <= EAGER_THREADS

        eventually(quiet, lambda: f"not quiet: {last}", SETTLE_SECONDS)
        return dict(last)

    def compare(self, start: dict[str, int]) -> None:
        """Compare the counters with those of the start.

        Raises:
            Violation: a counter has grown.
        """
        allowed = {
            "handles of Python": HANDLES,
            "handles of Java": HANDLES,
            "heap of Java": HEAP_GROWTH,
            "objects of pyrs": OBJECT_GROWTH,
            "threads": 6,
            "files": 4,
        }
        end: dict[str, int] = {}

        def grown() -> dict[str, tuple[int, int]]:
            end.update(self.counters())
            return {key: (start[key], end[key]) for key in start if end[key] > start[key] + allowed.get(key, 0)}

        try:
            collected(lambda: not grown(), lambda: f"grown from and to: {grown()}")
        except AssertionError as error:
            raise Violation(str(error)) from error
        log(f"{self.name}: start {start}")
        log(f"{self.name}: end   {end}")


def soak(gateway: str, seed: int, seconds: float, threads: int) -> None:
    """Soak one gateway in this process.

    Raises:
        Violation: the result of a stream is wrong, or a counter has grown.
    """
    before = pyrs.set_element_hook(lambda count, where: None)  # elements prefetched at a cancel are dropped on purpose
    try:
        with ExitStack() as stack:
            campaign = Soak(gateway, seed, stack)
            campaign.run(seconds * WARM_UP, threads, "warm-up")
            start = campaign.settled()
            campaign.run(seconds * (1 - WARM_UP), threads, "soak")
            campaign.settled()
            campaign.compare(start)
            log(f"{campaign.name}: {sum(campaign.counts.values()):,} streams: no violation; {dict(campaign.counts)}")
    finally:
        pyrs.set_element_hook(before)


def main(gateway: str, seed: str, seconds: str, threads: str) -> int:
    """Run one gateway. Return 1 if an invariant was violated."""
    try:
        soak(gateway, int(seed), float(seconds), int(threads))
    except (Violation, AssertionError) as violation:
        log(f"soak over {gateway}: VIOLATION: {violation}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
