"""ps.events, ps.supports and ps.attach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Barrier, Event
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs import spark as ps
from pyrs.errors import BufferOverflow, JvmUnavailable
from pyrs.spark import sessions
from pyrs.spark.executors import shipping
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, eventually, run_on_threads


@pytest.fixture(autouse=True)
def _check_that_no_listener_remains(spark: Any) -> Iterator[None]:
    """A cancel removes the listener on another thread."""
    yield
    eventually(lambda: not listeners(spark), "a listener is still registered in the driver")


def listeners(spark: Any) -> Any:
    return spark._jsparkSession.streams().listListeners()


def run_query(spark: Any) -> Any:
    sdf = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    return sdf.writeStream.format("noop").trigger(processingTime="100 milliseconds").start()


def names(subscriber: TestSubscriber[Any], query: Any) -> list[str]:
    """Return the events of this query. The termination of an earlier query may arrive late."""
    events = [(getattr(event, "progress", event).runId, type(event).__name__) for event in subscriber.elements]
    return [name for run, name in events if str(run) == query.runId]


def test_events_of_a_query_arrive_in_order(spark: Any) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    query = run_query(spark)
    eventually(lambda: "QueryProgressEvent" in names(subscriber, query))
    query.stop()
    eventually(lambda: names(subscriber, query)[-1] == "QueryTerminatedEvent")
    assert names(subscriber, query)[0] == "QueryStartedEvent"
    subscriber.cancel()


def test_a_blocked_subscriber_blocks_neither_the_query_nor_other_listeners(spark: Any) -> None:
    dropped: list[int] = []
    before = pyrs.set_element_hook(lambda count, where: dropped.append(count))
    blocked, go_on = Event(), Event()

    def wait(event: Any) -> None:
        blocked.set()
        go_on.wait(DEADLINE)

    other: TestSubscriber[Any] = TestSubscriber(None)
    subscription = ps.events(spark, buffer=2).subscribe(on_next=wait)
    ps.events(spark).subscribe(other)
    try:
        query = run_query(spark)
        assert blocked.wait(DEADLINE)
        eventually(lambda: names(other, query).count("QueryProgressEvent") >= 5)
        eventually(lambda: dropped)
        query.stop()
    finally:
        go_on.set()
        subscription.cancel()
        other.cancel()
        pyrs.set_element_hook(before)


def test_a_full_buffer_fails_the_stream_with_overflow_error(spark: Any) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    after: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark, buffer=1, overflow="error").subscribe(subscriber)
    ps.events(spark).subscribe(after)
    query = run_query(spark)
    # The Subscriber holds one event, the link prefetches one, and the buffer holds one. Spark calls listeners in the
    # order of registration, so five events have passed ``subscriber`` when ``after`` has received five.
    eventually(lambda: len(after.elements) >= 5)
    query.stop()
    subscriber.request(5)
    assert isinstance(subscriber.await_error(BufferOverflow, DEADLINE), BufferOverflow)
    after.cancel()


def test_cancel_removes_the_listener(spark: Any) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    assert len(listeners(spark)) == 1
    subscriber.cancel()
    eventually(lambda: not listeners(spark))


def test_a_stopped_session_fails_the_stream(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    monkeypatch.setattr(sessions, "why_stopped", lambda spark: "it was stopped")
    assert str(subscriber.await_error(JvmUnavailable, DEADLINE)) == "it was stopped"


def test_wrong_arguments_raise(spark: Any) -> None:
    with pytest.raises(TypeError, match="spark must be a SparkSession, not str"):
        ps.events("spark")
    with pytest.raises(ValueError, match="buffer must be at least 1"):
        ps.events(spark, buffer=0)
    with pytest.raises(ValueError, match="overflow must be one of 'drop_oldest', 'drop_latest', 'latest', 'error'"):
        ps.events(spark, overflow="buffer")


class EndedJvm:
    """The ``JavaSparkContext`` of a killed JVM."""

    def sc(self) -> Any:
        raise ConnectionError("the JVM has ended")


def test_supports_reports_a_jvm_that_has_ended(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "_jsc", EndedJvm())
    assert ps.supports(spark)["from_dataframe"] == "no: the JVM of the SparkSession has ended"


def test_supports_reports_ok_for_a_classic_session(spark: Any) -> None:
    pytest.importorskip("pandas")
    names = {"from_dataframe", "from_stream", "events", "for_each_frame", "apply", "for_each_partition", "attach"}
    assert {name: answer for name, answer in ps.supports(spark).items() if name in names} == dict.fromkeys(names, "ok")


def test_supports_reports_a_package_missing_on_the_driver(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("Pandas >= 2.2.0 must be installed")

    monkeypatch.setattr(shipping, "require_minimum_pandas_version", missing)
    assert ps.supports(spark)["apply"] == "no: Pandas >= 2.2.0 must be installed"


def test_supports_reports_why_a_session_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PYSPARK_PIN_THREAD", "false")
    assert all(answer.startswith("no: PYSPARK_PIN_THREAD is off") for answer in ps.supports(spark).values())
    with pytest.raises(JvmUnavailable, match="PYSPARK_PIN_THREAD is off"):
        ps.events(spark)
    with pytest.raises(TypeError, match="spark must be a SparkSession, not int"):
        ps.supports(3)


def test_attach_returns_one_bridge_until_it_is_closed(spark: Any) -> None:
    bridge = ps.attach(spark)
    assert ps.attach(spark) is bridge
    publisher = bridge.to_jvm(pyrs.range(3))
    assert bridge.from_jvm(publisher).collect(timeout=DEADLINE) == [0, 1, 2]
    bridge.close()
    again = ps.attach(spark)
    assert again is not bridge and not again.closed
    again.close()


def test_attach_on_several_threads_returns_one_bridge(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge starts threads, so no lock is held while one is opened."""
    both, opened, connect = Barrier(2), [], jvm.connect

    def connect_together(spark: Any) -> Any:
        both.wait(DEADLINE)
        opened.append(connect(spark))
        return opened[-1]

    monkeypatch.setattr(jvm, "connect", connect_together)
    attached: list[Any] = []
    run_on_threads(*[lambda: attached.append(ps.attach(spark))] * 2)
    assert attached[0] is attached[1]
    assert sorted(bridge.closed for bridge in opened) == [False, True]
    attached[0].close()
