"""Streams of a bridge after ``jpype.shutdownJVM()``, in a separate process, because a process starts one JVM."""

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
        print("closed", bridge.closed, bridge.close())
        try:
            bridge.java_class("java.lang.String")
        except PyrsError as error:
            print(type(error).__name__)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    broken = "the link to the JVM is broken: the JVM closed the connection or has ended"
    assert done.stdout.splitlines() == [broken, broken, "upstream cancelled True", "closed True True", "LinkClosed"]
