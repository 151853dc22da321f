"""The end of a link with its JVM, or without memory, in a separate process, because a process starts one JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 100


def test_streams_end_with_link_broken_when_the_jvm_is_shut_down() -> None:
    program = """
        import threading
        import jpype, pyrs
        from pyrs import jvm
        from pyrs.errors import LinkBroken, PyrsError
        from pyrs.testing import TestSubscriber

        bridge = jvm.launch()
        hot = bridge.java_class("java.util.concurrent.SubmissionPublisher")
        waiting, idle = TestSubscriber(1), TestSubscriber(0)
        for subscriber in (waiting, idle):  # one has demand, the other has requested nothing
            bridge.from_jvm(hot()).subscribe(subscriber)
        cancelled = threading.Event()
        java_subscriber = bridge.from_jvm(bridge.java_class("java.net.http.HttpResponse$BodySubscribers").discarding())
        pyrs.never().do_on_cancel(cancelled.set).subscribe(java_subscriber)
        jpype.shutdownJVM()
        for subscriber in (waiting, idle):
            print(subscriber.await_error(LinkBroken, 30))
        print("upstream cancelled", cancelled.wait(30))
        try:
            bridge.java_class("java.lang.String")
        except PyrsError as error:
            print(type(error).__name__, error)
        print("closed", bridge.closed, bridge.close())
        try:
            bridge.java_class("java.lang.String")
        except PyrsError as error:
            print(type(error).__name__, error)
    """
    broken = "the link to the JVM is broken: the JVM closed the connection or has ended"
    open_another = "open another one with pyrs.jvm.connect or pyrs.jvm.launch"
    assert lines_of(program) == [
        broken,
        broken,
        "upstream cancelled True",
        f"LinkClosed bridge-1 is closed ({broken}): {open_another}",
        "closed True True",
        f"LinkClosed bridge-1 is closed: {open_another}",
    ]


def test_a_gateway_call_after_the_shutdown_of_the_jvm_raises() -> None:
    """As a call does that was about to begin on another thread. JPype's isinstance would abort the process."""
    program = """
        import jpype
        from pyrs import jvm

        with jvm.launch() as bridge:
            java = bridge._gateway._java
            jpype.shutdownJVM()
            print(java.translate(jpype.JVMNotRunning("not running")))
            print(type(java.translate(KeyError("another"))))
    """
    shut_down = "the JVM of this process has been shut down, and it cannot be started again"
    assert lines_of(program) == [shut_down, "<class 'KeyError'>"]


def test_a_message_beyond_the_heap_of_the_jvm_ends_the_link() -> None:
    program = """
        import pyrs
        from pyrs import jvm
        from pyrs.errors import LinkBroken
        from pyrs.testing import TestSubscriber

        bridge = jvm.launch(jvm_options=["-Xmx48m"])
        other = TestSubscriber(1)
        bridge.from_jvm(bridge.java_class("java.util.concurrent.SubmissionPublisher")()).subscribe(other)
        body = bridge.java_class("java.net.http.HttpResponse$BodySubscribers").discarding()
        # In a list, so that the size of the message is not announced.
        pyrs.just([bytes(100_000_000)]).subscribe(bridge.from_jvm(body))
        print(other.await_error(LinkBroken, 60))
        print("closed", bridge.close())
    """
    assert lines_of(program) == [
        "the link to the JVM is broken: the JVM sent GOAWAY: the JVM has too little memory for a message "
        "(java.lang.OutOfMemoryError: Java heap space): give it more, as with -Xmx, or send smaller values (code 1)",
        "closed True",
    ]


def test_an_element_beyond_the_heap_of_the_jvm_fails_its_stream() -> None:
    """For some of the sizes, memory is too small for the array of the element, for others for that of its frame."""
    program = """
        import jpype, pyrs
        from pyrs import jvm
        from pyrs.testing import TestSubscriber

        bridge = jvm.launch(jvm_options=["-Xmx64m", "-XX:+UseSerialGC"])
        Hot = jpype.JClass("java.util.concurrent.SubmissionPublisher")
        ends = set()
        for size in range(16_000_000, 21_000_000, 500_000):
            array = None
            hot, subscriber = Hot(), TestSubscriber(5)
            bridge.from_jvm(hot).subscribe(subscriber)
            array = jpype.JArray(jpype.JByte)(size)
            hot.submit(array)
            hot.close()
            subscriber.await_end(30)
            if subscriber.error is None:
                ends.add(f"complete {len(subscriber.elements[0]) - size}")
            else:
                ends.add(f"{len(subscriber.elements)} {subscriber.error}")
        print(*sorted(ends), sep="\\n")
        hot, subscriber = Hot(), TestSubscriber(5)
        bridge.from_jvm(hot).subscribe(subscriber)
        array = None
        hot.submit(jpype.JArray(jpype.JByte)(3))
        hot.close()
        print(*subscriber.await_complete(30), bridge.close())
    """
    assert lines_of(program) == [
        "0 java.lang.OutOfMemoryError: Java heap space",
        "complete 0",
        "b'\\x00\\x00\\x00' True",
    ]


def lines_of(program: str) -> list[str]:
    """Run a program and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()
