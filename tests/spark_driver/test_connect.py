"""A bridge over Py4J: its logs, its counters, and an event loop that is never blocked."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import CallTimeout, JavaError
from pyrs.testing import TestSubscriber
from tests.shutdown import conftest as shutdown
from tests.shutdown.pace import run_at_pace
from tests.waiting import DEADLINE, MILLIS, eventually, recording

classes = shutdown.classes
shared_jvm = shutdown.shared_jvm
bridge = shutdown.bridge


@pytest.fixture
def java(shared_jvm: Any) -> Any:
    return shared_jvm.gateway.jvm


def test_no_callback_server_is_started(bridge: jvm.Bridge, shared_jvm: Any, java: Any) -> None:
    assert list(bridge.from_jvm(java.Parties.Range(100)).to_iterable(timeout=DEADLINE)) == list(range(100))
    sink = java.Parties.Counting(10, 1, False)
    bridge.to_jvm(pyrs.range(100)).subscribe(sink)
    assert sink.awaitEnd(MILLIS)
    call = bridge.to_jvm_callable(lambda number: number + 1, "java.util.function.Function")
    assert call.apply(41) == 42
    assert shared_jvm.gateway.get_callback_server() is None
    assert shared_jvm.gateway._callback_server is None


def test_opening_and_a_dropped_error_are_logged(shared_jvm: Any, java: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Mine(Exception):
        """An error that only this test raises."""

    def fail(subscriber: object, element: object) -> None:
        raise Mine

    def dropped() -> list[logging.LogRecord]:
        return [record for record in caplog.records if record.exc_info and record.exc_info[0] is Mine]

    with caplog.at_level(logging.INFO, "pyrs"), jvm.connect(shared_jvm.gateway, name="logged") as bridge:
        (opened,) = [record for record in caplog.records if "logged is open" in record.getMessage()]
        assert (opened.name, opened.levelno) == ("pyrs.jvm", logging.INFO)
        assert "Py4J JavaGateway at 127.0.0.1" in opened.getMessage()
        bridge.from_jvm(java.Parties.Range(5)).subscribe(TestSubscriber(1, on_element=fail))
        eventually(dropped, "no record of the error")
    (record,) = dropped()
    assert (record.name, record.levelno) == ("pyrs", logging.ERROR)
    assert "Mine" in record.getMessage()


def test_java_logs_a_dropped_error(bridge: jvm.Bridge, java: Any, tmp_path: Path) -> None:
    """System.Logger uses java.util.logging if the application has no other logging framework."""
    file = tmp_path / "java.log"
    logger = java.java.util.logging.Logger.getLogger("io.pyrs")
    handler = java.java.util.logging.FileHandler(str(file))
    logger.addHandler(handler)
    logger.setUseParentHandlers(False)
    try:
        recorder = recording(pyrs.UNBOUNDED)
        bridge.from_jvm(java.Parties.Wrong("two terminals")).subscribe(recorder)
        recorder.await_complete()
        eventually(lambda: "a second terminal" in file.read_text(), "Java has not logged the dropped error")
    finally:
        logger.setUseParentHandlers(True)
        logger.removeHandler(handler)
        handler.close()
    assert "<level>WARNING</level>" in file.read_text()
    assert "1.7" in file.read_text()


def test_repr_and_stats_follow_live_streams(bridge: jvm.Bridge, java: Any) -> None:
    assert "open, Py4J JavaGateway at 127.0.0.1:" in repr(bridge)
    assert "0 streams live, demand 0, 0 in flight, 0 elements in, 0 out, 0 dropped" in repr(bridge)
    recorder = recording(3)
    bridge.from_jvm(java.Parties.Range(1 << 60)).subscribe(recorder)
    assert recorder.await_count(3) == [0, 1, 2]
    waiting = recording(5)
    publisher = java.java.util.concurrent.SubmissionPublisher()
    bridge.from_jvm(publisher).subscribe(waiting)
    eventually(lambda: bridge.stats()["elements_in"] == 3 and bridge.stats()["demand"] == 5, lambda: repr(bridge))
    stats = bridge.stats()
    assert stats["streams_live"] == stats["streams_total"] == 2
    assert 5 < stats["in_flight"] <= 32
    assert 3 <= stats["largest_in_flight"] <= 32
    assert stats["bytes_in"] > 0 and stats["bytes_out"] > 0 and stats["threads"] >= 2
    assert "2 streams live, demand 5, " in repr(bridge)
    assert " 3 elements in, " in repr(bridge)

    def shown() -> dict[str, str]:
        found = re.findall(r"<th>(\w+)</th><td>([^<]*)</td>", bridge._repr_html_())
        return {key: value.replace(",", "") for key, value in found}

    # An idle thread may end between the two calls.
    eventually(lambda: shown() == {key: str(value) for key, value in bridge.stats().items()}, bridge._repr_html_)
    assert bridge.jvm_stats()["streams_live"] == 2
    eventually(lambda: bridge.jvm_stats()["outbound_elements"] >= 3, lambda: str(bridge.jvm_stats()))

    sink = java.Parties.Counting(10, 1, False)
    bridge.to_jvm(pyrs.range(20)).subscribe(sink)
    assert sink.awaitEnd(MILLIS)
    streams = bridge._session.streams
    eventually(
        lambda: any(getattr(each, "received", 0) > 3 for each in tuple(streams.values())), "nothing was prefetched"
    )
    recorder.cancel(), waiting.cancel()
    eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: repr(bridge))
    eventually(lambda: bridge.jvm_stats()["streams_live"] == 0, "streams are left in the JVM")
    stats, java_stats = bridge.stats(), bridge.jvm_stats()
    assert (stats["streams_total"], java_stats["streams_total"]) == (3, 3)
    assert (stats["elements_in"], stats["elements_out"], stats["in_flight"], stats["demand"]) == (3, 20, 0, 0)
    assert java_stats["inbound_elements"] == 20
    assert stats["dropped"] > 0, "the prefetched elements were not counted"
    bridge.close()
    assert "closed, Py4J" in repr(bridge) and ", closed, Py4J" in bridge._repr_html_()


# The tests below use asyncio.


def test_demand_of_an_async_for_is_exact(bridge: jvm.Bridge, java: Any) -> None:
    source = java.Parties.Range(1_000)

    async def main() -> None:
        expected = 0
        async for number in bridge.from_jvm(source, exact=True):
            assert number == expected
            expected += 1
            assert source.emitted() == expected, "the bridge requested more than the loop consumed"
            if expected == 200:
                break

    run_at_pace(main())
    assert source.awaitCancelled(MILLIS)
    assert source.emitted() == 200


@pytest.mark.parametrize("prefetch", [1, 256])
def test_async_for_prefetches_at_most_its_window(shared_jvm: Any, java: Any, prefetch: int) -> None:
    source, window = java.Parties.Range(20_000), 512

    async def main(bridge: jvm.Bridge) -> int:
        count = 0
        async with bridge.from_jvm(source).iterate(prefetch=prefetch) as elements:
            async for number in elements:
                assert number == count
                count += 1
                if count % 1_000 == 0:
                    assert source.emitted() <= count + prefetch + window
                    assert bridge.stats()["in_flight"] <= window
        return count

    with jvm.connect(shared_jvm.gateway, max_prefetch=window) as bridge:
        assert run_at_pace(main(bridge))[0] == 20_000
        assert bridge.stats()["largest_in_flight"] <= window


def test_a_cancelled_task_cancels_the_java_subscription(bridge: jvm.Bridge, java: Any) -> None:
    flowing, silent = java.Parties.Range(1 << 60), java.java.util.concurrent.SubmissionPublisher()

    async def read(stream: Any, started: asyncio.Event) -> None:
        started.set()
        async for _ in stream:
            pass

    async def main() -> None:
        for publisher in (flowing, silent):
            started = asyncio.Event()
            task = asyncio.create_task(read(bridge.from_jvm(publisher), started))
            await started.wait()
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
            assert task.done(), "the task waits for Java"
            with pytest.raises(asyncio.CancelledError):
                await task

    run_at_pace(main())
    assert flowing.awaitCancelled(MILLIS)
    eventually(lambda: silent.getNumberOfSubscribers() == 0, "the Java Subscription was not cancelled")
    eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: repr(bridge))


def test_a_completion_stage_is_awaited(bridge: jvm.Bridge, java: Any) -> None:
    futures = java.java.util.concurrent.CompletableFuture
    later, failing, never = futures(), futures(), futures()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, later.complete, 42)
        assert await bridge.from_jvm(later) == 42
        assert await bridge.from_jvm(later) == 42
        assert await bridge.from_jvm(futures.completedFuture(None)) is None
        failing.completeExceptionally(java.java.io.IOException("no"))
        with pytest.raises(JavaError, match="no") as caught:
            await bridge.from_jvm(failing)
        assert caught.value.java_class == "java.io.IOException"
        both = await asyncio.gather(*(bridge.from_jvm(futures.completedFuture(n)) for n in range(50)))
        assert both == list(range(50))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.ensure_future(as_coroutine(bridge.from_jvm(never))), 0.05)

    run_at_pace(main())
    with pytest.raises(CallTimeout):
        bridge.from_jvm(never).result(timeout_seconds=0.05)
    assert bridge.from_jvm(later).result(timeout_seconds=DEADLINE) == 42
    eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: f"streams are left: {bridge!r}")


async def as_coroutine(future: Any) -> Any:
    return await future
