"""The news of the streaming queries as a Publisher."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from pyrs import schedulers
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.validation import checked_natural
from pyrs.publishers.creating import Emitter, created
from pyrs.spark.sessions import in_background, live_context
from pyrs.stream.stream import Stream

__all__ = ["events"]

_BOUNDED = (Overflow.DROP_OLDEST, Overflow.DROP_LATEST, Overflow.LATEST, Overflow.ERROR)


def events(spark: Any, buffer: int = 1024, overflow: Overflow | str = "drop_oldest") -> Stream[Any]:
    """Return a stream of what Spark tells its listeners of the session's streaming queries.

        events(spark)
        --started--progress--progress--idle--terminated--

    The elements are Spark's: ``QueryStartedEvent``, ``QueryProgressEvent``, ``QueryIdleEvent`` and
    ``QueryTerminatedEvent`` of ``pyspark.sql.streaming.listener``.

    Hot: each Subscriber has a listener of its own, from when it subscribes until it cancels, and hears of what happens
    in between. There is no end. Spark's listener bus is never blocked: events wait for demand in a buffer, and where
    that is full ``overflow`` says what becomes of them; the hook for dropped elements is told. The Subscriber is
    signalled on a thread of the default scheduler.

    Args:
        spark: the session.
        buffer: how many events may wait.
        overflow: ``"drop_oldest"``, ``"drop_latest"``, ``"latest"``, or ``"error"``: the stream fails with
            ``BufferOverflow``.

    Raises:
        TypeError: spark is no SparkSession, or the others are of no fitting type.
        ValueError: buffer is less than 1, or overflow none of these.
        JvmUnavailable: the session is one of Spark Connect, was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    Rules: 1.1, 1.3, 3.5, 3.9.
    """
    live_context(spark)
    strategy = checked_overflow(overflow, *_BOUNDED)
    capacity = checked_natural(buffer, "buffer", 1)

    def listen(emitter: Emitter[Any]) -> None:
        listener = _Listener(emitter)
        spark.streams.addListener(listener)
        emitter.on_cancel(lambda: in_background(lambda: _remove(spark, listener)))

    # One event waits at the thread that signals; all others where the strategy can reach them.
    return created(listen, "events(spark", strategy, capacity).publish_on(schedulers.default(), prefetch=1)


def _remove(spark: Any, listener: Any) -> None:
    if spark.sparkContext._jsc is not None:
        spark.streams.removeListener(listener)


class _Listener(StreamingQueryListener):  # type: ignore[misc]
    """Called by Spark's listener bus, with one event after the other."""

    def __init__(self, emitter: Emitter[Any]) -> None:
        self._emitter = emitter

    def _tell(self, event: Any) -> None:
        if not self._emitter.cancelled:
            self._emitter.next(event)

    onQueryStarted = onQueryProgress = onQueryIdle = onQueryTerminated = _tell  # noqa: N815 - Spark's names
