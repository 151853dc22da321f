"""The end of streams, bridges and the process with the JVM in this process: nothing hangs, nothing is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jpype
import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import JvmUnavailable, LinkClosed
from pyrs.jvm.gateways.jars import packaged_jars
from tests.shutdown import conftest as shutdown
from tests.shutdown.pace import run_at_pace
from tests.waiting import DEADLINE, MILLIS, eventually, recording

ROOT = Path(__file__).parents[2]
SECONDS = 100
classes = shutdown.classes


@pytest.fixture(autouse=True)
def quiet_drops() -> Iterator[None]:
    """Disable the reports of dropped elements: the tests drop prefetched elements on purpose."""
    before = pyrs.set_element_hook(lambda count, where: None)
    yield
    pyrs.set_element_hook(before)


@pytest.fixture
def bridge(classes: Path) -> Iterator[jvm.Bridge]:
    with jvm.launch(classpath=[classes]) as opened:
        yield opened


@pytest.fixture
def parties(bridge: jvm.Bridge) -> Any:
    return jpype.JClass("Parties")


def threads_of_java() -> int:
    return int(jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean().getThreadCount())


def test_leaving_launch_closes_the_bridge_but_not_the_jvm(classes: Path) -> None:
    with jvm.launch(classpath=[classes]) as first:
        source, recorder = jpype.JClass("Parties").Range(1 << 60), recording(10, 1)
        first.from_jvm(source).subscribe(recorder)
        recorder.await_count(1)
    assert first.closed
    recorder.await_error(LinkClosed)
    assert source.awaitCancelled(MILLIS)
    assert jpype.isJVMStarted()
    assert jpype.JClass("java.lang.Integer").parseInt("7") == 7
    for again in (jvm.launch(), jvm.connect()):
        with again:
            assert list(again.from_jvm(jpype.JClass("Parties").Range(5)).to_iterable(timeout=DEADLINE)) == [*range(5)]


def test_two_bridges_on_one_jvm_close_independently(bridge: jvm.Bridge, parties: Any) -> None:
    second = jvm.connect()
    ended, recorder = recording(10, 1), recording(10, 1)
    source = parties.Range(1 << 60)
    second.from_jvm(source).subscribe(ended)
    bridge.from_jvm(parties.Range(50_000)).subscribe(recorder)
    sink = parties.Counting(10, 1, False)
    # The second bridge's stream is an ordinary Python Publisher for the first bridge.
    bridge.to_jvm(second.from_jvm(parties.Range(20))).subscribe(sink)
    assert sink.awaitEnd(MILLIS)
    assert (sink.count(), sink.inOrder(), sink.error()) == (20, True, None)
    ended.await_count(1)
    assert second.close(DEADLINE)
    ended.await_error(LinkClosed)
    assert source.awaitCancelled(MILLIS)
    assert recorder.await_complete() == list(range(50_000))


def test_a_second_launch_attaches(bridge: jvm.Bridge, parties: Any, tmp_path: Path) -> None:
    recorder = recording(10, 1)
    bridge.from_jvm(parties.Range(50_000)).subscribe(recorder)
    jar = Path(shutil.copy(packaged_jars().reactive_streams, tmp_path / "added-later.jar"))
    with jvm.launch(classpath=[jar]) as second:
        loader = jpype.JClass("org.jpype.JPypeContext").getInstance().getClassLoader()
        assert str(jar) in " ".join(str(url) for url in loader.getURLs())
        assert list(second.from_jvm(parties.Range(3)).to_iterable(timeout=DEADLINE)) == [0, 1, 2]
    with pytest.raises(JvmUnavailable, match="-Xmx77m"):
        jvm.launch(jvm_options=["-Xmx77m"])
    assert recorder.await_complete() == list(range(50_000))


def test_a_thousand_streams_leave_no_thread_attached(bridge: jvm.Bridge) -> None:
    """Threads of the bridge call Java for Subscribers, and short-lived threads of the user call it directly."""
    futures = jpype.JClass("java.util.concurrent.CompletableFuture")
    completed = futures.completedFuture(jpype.JClass("java.lang.Object")())  # arrives by reference
    problems: list[object] = []

    def use() -> None:
        try:
            for _ in range(25):
                (text,) = bridge.from_jvm(completed).map(str).to_iterable(timeout=DEADLINE)
                assert text.startswith("java.lang.Object@"), text
        except BaseException as error:
            problems.append(error)

    use()
    before = threads_of_java()
    for _ in range(5):
        users = [threading.Thread(target=use) for _ in range(8)]
        for user in users:
            user.start()
        for user in users:
            user.join(DEADLINE * 2)
            assert not user.is_alive()
    assert problems == []
    assert bridge.stats()["streams_total"] > 1_000
    bridge.close()
    # Calls of the main thread run on a worker thread, which attaches to the JVM and detaches.
    eventually(
        lambda: threads_of_java() <= before + 2, lambda: f"{threads_of_java()} threads in the JVM, {before} before"
    )


# The tests below start processes, each with its own JVM.

PROGRAM = """
    import gc, os, signal, sys, threading
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a descendant of nohup ignores SIGHUP
    import jpype
    import pyrs
    from pyrs import jvm
    from tests.waiting import DEADLINE, MILLIS, recording
    pyrs.set_element_hook(lambda count, where: None)
    bridge = jvm.launch(classpath=[sys.argv[1]])
    parties = jpype.JClass("Parties")
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("JAVA_TOOL_OPTIONS", None)  # a JVM that reads it prints a message on standard error
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM) + textwrap.dedent(program), *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_concurrent_first_launches_share_one_jvm(classes: Path) -> None:
    program = """
        import sys
        from threading import Barrier
        from pyrs import jvm
        from tests.waiting import DEADLINE, run_on_threads
        barrier, numbers = Barrier(6), []
        def launch():
            barrier.wait(DEADLINE)
            with jvm.launch(classpath=[sys.argv[1]]) as bridge:
                numbers.append(bridge.java_class("java.lang.Integer").valueOf(7))
        run_on_threads(*[launch] * 6)
        print(numbers)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(classes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout == f"{[7] * 6}\n", done.stderr


@pytest.mark.parametrize(("name", "status"), [("SIGINT", -2), ("SIGTERM", -15), ("SIGHUP", -1)])
def test_a_signal_ends_the_process_after_a_launch_on_another_thread(tmp_path: Path, name: str, status: int) -> None:
    """JPype's handler of SIGTERM would crash, that of SIGHUP run shutdown hooks, and SIGINT arrive after the wait."""
    program = """
        import os, signal, sys, threading
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a descendant of nohup ignores SIGHUP
        from pyrs import jvm
        from tests.waiting import DEADLINE, run_on_threads
        run_on_threads(jvm.launch)
        late = threading.Timer(DEADLINE / 2, os._exit, [3])
        late.daemon = True
        late.start()
        os.kill(os.getpid(), signal.Signals[sys.argv[1]])
        threading.Event().wait(DEADLINE)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == status, done.stderr.decode()


MID_STREAM = shutdown.OPEN_STREAMS + '    print("flowing", flush=True)\n    sys.stdin.readline()\n'

# The last statement of the program, its exit status, and the expected text on standard error.
ENDS = {
    "returns": ("", 0, ""),
    "closes": ("    bridge.close(0.1)", 0, ""),
    "raises": ("    raise ArithmeticError('mine')", 1, "ArithmeticError: mine"),
    "sys.exit": ("    sys.exit(7)", 7, ""),
    "leaves the block": ("    with bridge: raise LookupError('mine')", 1, "LookupError: mine"),
    "is interrupted": ("    os.kill(os.getpid(), signal.SIGINT); running.await_end()", -2, "KeyboardInterrupt"),
    "is terminated": ("    os.kill(os.getpid(), signal.SIGTERM); running.await_end()", -15, ""),
    "is hung up": ("    os.kill(os.getpid(), signal.SIGHUP); running.await_end()", -1, ""),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_process_ends_mid_stream(classes: Path, how: str) -> None:
    """Neither running nor blocked Subscribers of either side delay the exit."""
    last, status, message = ENDS[how]
    with start(MID_STREAM + last, classes) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "flowing\n", child.communicate(timeout=SECONDS)[1]
        _, error = child.communicate("end\n", timeout=SECONDS)
    assert child.returncode == status, error
    assert (message in error.splitlines()) if message else error == ""


SHUTDOWN = """
    from pyrs.errors import LinkBroken
    running, idle = recording(10, 1), recording(1)
    bridge.from_jvm(parties.Range(1 << 60)).subscribe(running)
    bridge.from_jvm(jpype.JClass("java.util.concurrent.SubmissionPublisher")()).subscribe(idle)
    running.await_count(1)
    jpype.shutdownJVM()
    for recorder in (running, idle):
        recorder.await_error(LinkBroken)
    print("ended")
"""


def test_shutdown_of_the_jvm_ends_every_stream(classes: Path) -> None:
    with start(SHUTDOWN, classes) as child:
        output, error = child.communicate(timeout=SECONDS)
    assert (child.returncode, output) == (0, "ended\n"), error


INTERRUPTS = """
    count = 100_000
    others = [recording(100, 1) for _ in range(2)]
    for other in others:
        bridge.from_jvm(parties.Range(count)).subscribe(other)
    sink = parties.Counting(100, 1, False)
    bridge.to_jvm(pyrs.range(count)).subscribe(sink)
    endless = bridge.from_jvm(parties.Range(1 << 60))
    armed, main = threading.Event(), threading.main_thread().ident
    gc.disable()  # Python itself swallows an interrupt that strikes while the collector runs a finalizer

    def interrupt():
        while armed.wait(DEADLINE):
            armed.clear()
            signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    interrupts = 0
    while interrupts < 60:
        try:
            for number in endless.to_iterable(timeout=DEADLINE):
                if number == interrupts % 40:
                    armed.set()
        except KeyboardInterrupt:
            interrupts += 1
    for other in others:
        assert other.await_complete() == list(range(count))
    assert sink.awaitEnd(MILLIS)
    assert (sink.count(), sink.inOrder(), sink.error()) == (count, True, None)
    assert bridge.close(DEADLINE)
    print(interrupts, bridge.stats()["streams_live"])
"""


def test_interrupts_leave_other_streams_complete(classes: Path) -> None:
    with start(INTERRUPTS, classes) as child:
        output, error = child.communicate(timeout=SECONDS)
    assert (child.returncode, output, error) == (0, "60 0\n", "")


# The tests below use asyncio.


def test_the_event_loop_runs_other_tasks_while_a_stream_emits(bridge: jvm.Bridge, parties: Any) -> None:
    count = 100_000
    turns, waiting = 0, False

    def turn() -> None:
        nonlocal turns, waiting
        turns, waiting = turns + 1, False

    async def flow() -> int:
        nonlocal waiting
        loop, total = asyncio.get_running_loop(), 0
        async with bridge.from_jvm(parties.Range(count)).iterate(prefetch=1_000) as elements:
            async for number in elements:
                assert number == total
                total += 1
                if not waiting:
                    waiting = True
                    loop.call_soon(turn)
        return total

    assert run_at_pace(flow())[0] == count
    # One turn after every 128 elements, or fewer turns when elements arrive just before the loop starts to wait.
    assert turns > count // 300, "other tasks did not run often enough"


def test_a_cancelled_task_cancels_the_java_subscription(bridge: jvm.Bridge, parties: Any) -> None:
    source, silent = parties.Range(1 << 60), jpype.JClass("java.util.concurrent.SubmissionPublisher")()

    async def read(stream: Any, arrived: asyncio.Event) -> None:
        arrived.set()
        async for _ in stream:
            pass

    async def main() -> None:
        for publisher in (source, silent):
            arrived = asyncio.Event()
            task = asyncio.create_task(read(bridge.from_jvm(publisher), arrived))
            await arrived.wait()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(main(), DEADLINE))
    assert source.awaitCancelled(MILLIS)
    eventually(lambda: silent.getNumberOfSubscribers() == 0, "the Java Subscription was not cancelled")
    eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: f"streams are left: {bridge!r}")
