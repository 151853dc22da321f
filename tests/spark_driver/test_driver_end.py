"""The end of a session, a process or a stream of a Spark driver does not affect the bridge and its other streams."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyrs.jvm.gateways.jars import packaged_jars
from tests.rounds import CAMPAIGN
from tests.shutdown import conftest as shutdown
from tests.waiting import eventually

SECONDS = 300
"""Longer than several drivers need to start and stop at the same time."""

pytestmark = pytest.mark.timeout(SECONDS + 60)
ROOT = Path(__file__).parents[2]
classes = shutdown.classes
shared_jvm = shutdown.shared_jvm

# Start a driver as users do: the user's classes are on its class path, the pyrs jar is not. The classes are at the end
# of the class path (SPARK_DIST_CLASSPATH). A driver with classes at its start (spark.driver.extraClassPath) could not
# use the archive of .ci/driver_archive.py.
DRIVER = """
    import os, subprocess, sys, threading
    import pyrs
    from pyrs import jvm
    from tests.sessions import spark_session
    from tests.waiting import DEADLINE, MILLIS, eventually, recording
    pyrs.set_element_hook(lambda count, where: None)
    os.environ["SPARK_DIST_CLASSPATH"] = sys.argv[1]
    spark = spark_session("local[1]")
    gateway = spark.sparkContext._gateway
    bridge = jvm.connect(spark)
    parties = gateway.jvm.Parties
"""


def start(program: str, classes: Path, *, pinned: bool = True) -> subprocess.Popen[str]:
    """Run a program in a separate driver."""
    class_path = f"{classes}:{packaged_jars().reactive_streams}"
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER) + textwrap.dedent(program), class_path],
        env={**os.environ, "PYSPARK_PIN_THREAD": str(pinned).lower(), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def together(programs: dict[Any, Callable[[], subprocess.Popen[str]]]) -> Iterator[dict[Any, subprocess.Popen[str]]]:
    """Start all programs; kill those that still run at the end of the test."""
    with ExitStack() as end:
        children = {}
        for name, begin in programs.items():
            children[name] = end.enter_context(begin())
            end.callback(children[name].kill)
        yield children


def no_callback_server(gateway: str) -> str:
    return f"assert {gateway}.__dict__.get('_callback_server') is None and {gateway}.get_callback_server() is None"


LIFE = f"""
    def check(condition, what):
        if not condition:
            raise AssertionError(what)

    kind = "ClientServer" if os.environ["PYSPARK_PIN_THREAD"] == "true" else "JavaGateway"
    check(type(gateway).__name__ == kind and kind in repr(bridge), bridge)
    {no_callback_server("gateway")}

    spark.range(1).agg({{"id": "max"}}).schema  # the first query is slow: run it before the streams

    # Open streams in both directions without Spark, and one whose elements need Spark jobs.
    endless, count = parties.Range(1 << 60), 200_000
    running, exact = recording(10, 1), recording(100, 1)
    sink, jobs = parties.Counting(100, 1, False), parties.Counting(1, 1, False)
    bridge.from_jvm(endless).subscribe(running)
    bridge.from_jvm(parties.Range(count)).subscribe(exact)
    bridge.to_jvm(pyrs.range(count)).subscribe(sink)
    bridge.to_jvm(pyrs.range(count).map(lambda n: spark.range(n).agg({{"id": "max"}}).schema and n)).subscribe(jobs)
    running.await_count(1)
    eventually(lambda: jobs.count() > 0, lambda: f"no job has ended: {{jobs.error()}}")

    spark.stop()
    stopped = len(running.elements)
    check(jobs.awaitEnd(MILLIS), "the stream of Spark jobs hangs")
    check(jobs.error() is not None, "the stream of Spark jobs completed")
    running.await_count(stopped + 10_000)
    check(not running.assert_live().ended and not bridge.closed, bridge)
    # The two finite streams may terminate between the two calls.
    eventually(lambda: bridge.jvm_stats()["streams_live"] == bridge.stats()["streams_live"] > 0, lambda: repr(bridge))

    # Start a new session in the same JVM, and use it with the same bridge and with another one.
    spark = spark_session("local[1]")
    check(spark.sparkContext._gateway is gateway, "another gateway")
    with jvm.connect(spark) as second:
        check(list(second.from_jvm(parties.Range(5)).to_iterable(timeout=DEADLINE)) == [*range(5)], second)
        again = parties.Counting(1, 1, False)
        bridge.to_jvm(pyrs.range(3).map(lambda n: spark.range(n + 1).schema and n)).subscribe(again)
        check(again.awaitEnd(MILLIS) and again.error() is None and again.count() == 3, again.error())
    running.assert_live()  # closing one bridge ends no stream of the other

    # Run another Python process with this JVM. The process ends in the middle of its streams.
    client = gateway._gateway_client
    address = getattr(client, "java_parameters", None) or client.gateway_parameters
    parties.share("source", parties.Range(1 << 60))
    child = subprocess.run(
        [sys.executable, "-c", {{other!r}}, str(address.port)],
        input=address.auth_token, capture_output=True, text=True, timeout=DEADLINE * 2,
    )
    check((child.returncode, child.stdout, child.stderr) == (0, "1000\\n", ""), (child, child.stderr))
    check(parties.shared("source").awaitCancelled(MILLIS), "the stream of the other process was not cancelled")

    check(exact.await_complete() == list(range(count)), "elements were lost")
    check(sink.awaitEnd(MILLIS) and (sink.count(), sink.inOrder(), sink.error()) == (count, True, None), sink.error())
    running.cancel()
    check(endless.awaitCancelled(MILLIS), "not cancelled")
    {no_callback_server("gateway")}
    {no_callback_server("spark.sparkContext._gateway")}
    check(bridge.close(DEADLINE), "threads of the bridge still run")
    spark.stop()
    print("done")
"""

OTHER = """
    import sys
    from py4j.java_gateway import GatewayParameters, JavaGateway
    import pyrs
    from pyrs import jvm
    from tests.waiting import DEADLINE, recording
    pyrs.set_element_hook(lambda count, where: None)
    java = JavaGateway(gateway_parameters=GatewayParameters(port=int(sys.argv[1]), auth_token=sys.stdin.read()))
    bridge = jvm.connect(java)
    recorder = recording(10, 1)
    bridge.from_jvm(java.jvm.Parties.shared("source")).subscribe(recorder)
    recorder.await_count(1)
    print(len(list(bridge.from_jvm(java.jvm.Parties.Range(1000)).to_iterable(timeout=DEADLINE))))
"""


@pytest.mark.slow
def test_streams_survive_the_sessions_of_a_driver(classes: Path) -> None:
    """Streams survive the end of a session, of another process and of another bridge.

    A campaign also runs the driver without pinned threads.
    """
    modes = (True, False) if CAMPAIGN else (True,)
    program = LIFE.replace("{other!r}", repr(textwrap.dedent(OTHER)))
    with together({pinned: partial(start, program, classes, pinned=pinned) for pinned in modes}) as children:
        for pinned, child in children.items():
            output, error = child.communicate(timeout=SECONDS)
            assert (child.returncode, output) == (0, "done\n"), (pinned, error[-3000:])
            assert "Traceback" not in error, (pinned, error[-3000:])


MID_STREAM = (
    shutdown.OPEN_STREAMS
    + """
    print(gateway.proc.pid if hasattr(gateway, "proc") else gateway.java_process.pid, flush=True)
    sys.stdin.readline()
"""
)

# The last statement of the program, its exit status, and the expected text on standard error.
ENDS = {
    "returns": ("", 0, ""),
    "raises": ("    raise ArithmeticError('mine')", 1, "ArithmeticError: mine"),
    "sys.exit": ("    sys.exit(7)", 7, ""),
}


@pytest.mark.slow
def test_the_driver_ends_mid_stream(classes: Path) -> None:
    """Open streams do not delay the exit of the interpreter, and the driver's JVM stops with the interpreter."""
    drivers: dict[str, int] = {}
    with together({how: partial(start, MID_STREAM + last, classes) for how, (last, _, _) in ENDS.items()}) as children:
        for how, child in children.items():
            assert child.stdout is not None and child.stdin is not None
            line = child.stdout.readline()
            assert line, (how, child.communicate(timeout=SECONDS)[1][-3000:])
            drivers[how] = int(line)
        for child in children.values():
            assert child.stdin is not None
            child.stdin.write("end\n")
            child.stdin.flush()
        for how, child in children.items():
            _, status, message = ENDS[how]
            _, error = child.communicate(timeout=SECONDS)
            assert child.returncode == status, (how, child.returncode, error[-3000:])
            assert ("Traceback" in error) == bool(message), (how, error[-3000:])
            assert message in error
    eventually(lambda: all(map(has_terminated, drivers.values())), "the driver's JVM still runs")


def has_terminated(pid: int) -> bool:
    """Return whether a process has terminated; it need not be a child of this process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


FORKING = """
    import itertools, os, signal, sys
    from py4j.java_gateway import GatewayParameters, JavaGateway
    import pyrs
    from pyrs import jvm
    from pyrs.errors import LinkBroken
    from tests.waiting import DEADLINE, MILLIS, eventually, recording
    pyrs.set_element_hook(lambda count, where: None)
    port, token = sys.stdin.read().split()

    def new_gateway():
        return JavaGateway(gateway_parameters=GatewayParameters(port=int(port), auth_token=token))

    java = new_gateway()
    bridge = jvm.connect(java)
    source = bridge.from_jvm(java.jvm.Parties.Range(3))
    java.jvm.Parties.share("small", java.jvm.Parties.Range(3))
    endless = java.jvm.Parties.Range(1 << 60)
    recorder, sink = recording(100, 1), java.jvm.Parties.Counting(100, 1, False)
    bridge.from_jvm(endless).subscribe(recorder)
    bridge.to_jvm(pyrs.from_iterable(itertools.count())).subscribe(sink)
    recorder.await_count(1)

    def in_the_child():
        assert bridge.closed and "closed" in repr(bridge)
        for use in (lambda: bridge.from_jvm(None), lambda: bridge.to_jvm(pyrs.range(3)), bridge.jvm_stats):
            try:
                use()
            except Exception as error:
                assert "fork" in str(error) or "closed" in str(error), error
            else:
                raise AssertionError("the parent's bridge works in the child")
        late = recording(1)
        source.subscribe(late)
        error = late.await_error()
        assert isinstance(error, LinkBroken) and "fork" in str(error), error
        assert bridge.close()
        mine = new_gateway()
        with jvm.connect(mine) as own:
            small = own.from_jvm(mine.jvm.Parties.shared("small"))
            assert list(small.to_iterable(timeout=DEADLINE)) == [0, 1, 2]

    for number in range(12):
        before = len(recorder.elements)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                in_the_child()
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
                status = 1
            if number % 2:
                sys.exit(status)  # runs the exit handlers; os._exit does not
            os._exit(status)
        _, waited = os.waitpid(child, 0)
        assert waited == 0, f"child {number} failed"
        eventually(lambda: len(recorder.elements) > before, "the parent's stream has stopped")
    eventually(lambda: sink.count() > 1_000, "the parent's other stream has stopped")
    sink.cancel()
    recorder.cancel()
    assert endless.awaitCancelled(MILLIS)
    assert bridge.close(DEADLINE)
    assert recorder.elements == list(range(len(recorder.elements)))
    assert sink.inOrder() and sink.error() is None
    print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_cannot_use_the_bridge_of_its_parent(shared_jvm: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(FORKING)],
        input=f"{shared_jvm.port} {shared_jvm.token}",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", ""), done.stderr[-4000:]
