"""The events of streaming queries as a Publisher."""

from __future__ import annotations

from threading import Event
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from pyrs import schedulers
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.validation import checked_natural
from pyrs.publishers.creating import Emitter, created
from pyrs.spark.sessions import check_pyspark, checked_session, in_background, wait_while_running, why_stopped
from pyrs.stream.stream import Stream

_BOUNDED = (Overflow.DROP_OLDEST, Overflow.DROP_LATEST, Overflow.LATEST, Overflow.ERROR)


def events(spark: Any, buffer: int = 1024, overflow: Overflow | str = "drop_oldest") -> Stream[Any]:
    """Stream the listener events of the session's streaming queries.

        events(spark)
        --started--progress--progress--idle--terminated--

    The elements are Spark's: ``QueryStartedEvent``, ``QueryProgressEvent``, ``QueryIdleEvent`` and
    ``QueryTerminatedEvent`` of ``pyspark.sql.streaming.listener``.

    Hot: each Subscriber has its own listener, and receives the events between its subscription and its cancel. The
    stream never completes; it fails with ``JvmUnavailable`` when the session is stopped. Spark's listener bus is never
    blocked: events wait for demand in a buffer. When the buffer is full, ``overflow`` selects the event to drop, and
    the dropped-elements hook is called. A thread of the default scheduler signals the Subscriber.

    Args:
        spark: the session.
        buffer: the capacity for events without demand.
        overflow: ``"drop_oldest"``, ``"drop_latest"``, ``"latest"``, or ``"error"``: the stream fails with
            ``BufferOverflow``.

    Raises:
        TypeError: ``spark`` is not a SparkSession, or another argument has a wrong type.
        ValueError: ``buffer`` is less than 1, or ``overflow`` has another value.
        NotImplementedError: the session is one of Spark Connect, and PySpark is older than 4.0.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    Rules: 1.1, 1.3, 3.5, 3.9.
    """
    checked_session(spark)
    check_pyspark(spark, "events")
    strategy = checked_overflow(overflow, *_BOUNDED)
    capacity = checked_natural(buffer, "buffer", 1)

    def listen(emitter: Emitter[Any]) -> None:
        listener = _Listener(emitter)
        spark.streams.addListener(listener)
        ended = Event()
        emitter.on_cancel(ended.set)

        def watch() -> None:
            wait_while_running(spark, ended, emitter.error)
            if why_stopped(spark) is None:
                spark.streams.removeListener(listener)

        in_background(watch)

    # One event is prefetched by the signalling thread; all others stay in the buffer of the overflow strategy.
    return created(listen, "events(spark", strategy, capacity).publish_on(schedulers.default(), prefetch=1)


class _Listener(StreamingQueryListener):  # type: ignore[misc]
    """Called by Spark's listener bus, with one event at a time."""

    def __init__(self, emitter: Emitter[Any]) -> None:
        self._emitter = emitter

    def _emit(self, event: Any) -> None:
        if not self._emitter.cancelled:
            self._emitter.next(event)

    onQueryStarted = onQueryProgress = onQueryIdle = onQueryTerminated = _emit  # noqa: N815 - Spark's names
