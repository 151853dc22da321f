"""Sinks: hot Publishers that you push elements into, from any thread, one at a time.

- ``unicast()``: one Subscriber. An element without demand is buffered; beyond the capacity ``overflow`` applies.
- ``multicast()``: several Subscribers receive the same elements. An element without demand is buffered for all of
  them; beyond the capacity the result is ``OVERFLOW``.
- ``multicast_best_effort()``: several Subscribers, none of which slows the others. An element without demand is dropped
  for that Subscriber, and counted.
- ``multicast_all_or_nothing()``: several Subscribers. An element for which one of them has no demand is emitted to
  none: ``OVERFLOW``.
- ``replay()``: several Subscribers, which receive the history first. An element without demand is buffered.
- ``SubmissionPublisher()``: several Subscribers, each on its own thread. ``submit`` blocks, ``offer`` drops.

Examples:
    >>> from pyrs import sinks
    >>> sink = sinks.multicast()
    >>> _ = sink.stream.map(str.upper).subscribe(on_next=print)
    >>> sink.try_emit("a")
    A
    <EmitResult.OK: 'ok'>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrs import schedulers
from pyrs._core.hub import EmitResult
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.validation import checked_natural, checked_seconds
from pyrs.errors import EmitFailed, PublisherClosed
from pyrs.sinks.multicasting import AlignedSink, DirectSink
from pyrs.sinks.replaying import ReplaySink
from pyrs.sinks.sink import Sink, busy_looping
from pyrs.sinks.submission import SubmissionPublisher
from pyrs.sinks.unicasting import UnicastSink

if TYPE_CHECKING:
    from datetime import timedelta

__all__ = [
    "EmitFailed",
    "EmitResult",
    "PublisherClosed",
    "Sink",
    "SubmissionPublisher",
    "busy_looping",
    "multicast",
    "multicast_all_or_nothing",
    "multicast_best_effort",
    "replay",
    "unicast",
]


def unicast(capacity: int = 256, overflow: Overflow | str | None = None) -> Sink[Any]:
    """Return a sink for one Subscriber, whenever it comes.

    Holds what that Subscriber has not demanded, also before it is there. A second Subscriber is told RuntimeError.
    When the Subscriber has cancelled, a push is answered with CANCELLED, and what was held is dropped.

    Args:
        capacity: the most elements held.
        overflow: what happens beyond that. None: OVERFLOW, and whoever pushes decides. ``"error"``: OVERFLOW, and the
            stream fails with ``BufferOverflow`` after what is held. ``"drop_oldest"``, ``"drop_latest"``: an element is
            dropped, and the hook for dropped elements is told. ``"buffer"``: it is held all the same; it grows without
            a bound.

    Raises:
        TypeError: the capacity is not an integer, or the overflow no strategy.
        ValueError: the capacity is less than 1, or the strategy is not one of these.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.unicast(capacity=2)
        >>> [sink.try_emit(n).value for n in (1, 2, 3)]
        ['ok', 'ok', 'overflow']
        >>> _ = sink.stream.subscribe(on_next=print)
        1
        2
    """
    allowed = (Overflow.ERROR, Overflow.DROP_OLDEST, Overflow.DROP_LATEST, Overflow.BUFFER)
    strategy = None if overflow is None else checked_overflow(overflow, *allowed)
    return UnicastSink(checked_natural(capacity, "capacity", 1), strategy)


def multicast(capacity: int = 256, *, auto_cancel: bool = True) -> Sink[Any]:
    """Return a sink for several Subscribers, who get the same elements at the pace of the slowest.

    An element goes to all Subscribers at once when all have demand, else it is held. Beyond the capacity a push is
    answered with OVERFLOW, or ZERO_SUBSCRIBERS where nobody is there. What is pushed before the first Subscriber is
    held for it; a later one gets what comes from then on. Reactor's ``multicast().onBackpressureBuffer()``.

    Args:
        capacity: the most elements held.
        auto_cancel: when the last Subscriber has cancelled, the sink is CANCELLED for good and drops what it holds;
            whoever comes then is completed at once. If False, it holds elements for whoever comes next.

    Raises:
        TypeError: the capacity is not an integer.
        ValueError: it is less than 1.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.multicast()
        >>> fast = sink.stream.subscribe(on_next=lambda n: print("fast", n))
        >>> slow = sink.stream.subscribe(on_next=lambda n: print("slow", n), request=1)
        >>> sink.emit(1)
        fast 1
        slow 1
        >>> sink.emit(2)
        >>> slow.request(1)
        fast 2
        slow 2
    """
    return AlignedSink(checked_natural(capacity, "capacity", 1), bool(auto_cancel))


def multicast_best_effort() -> Sink[Any]:
    """Return a sink for several Subscribers, each of whom gets the elements that it has demand for.

    Holds nothing: an element is lost to a Subscriber without demand. The sink counts these in ``dropped``, and the hook
    for dropped elements is told. OVERFLOW where nobody had demand, ZERO_SUBSCRIBERS where nobody is there. A push from
    inside ``on_next`` is NON_SERIALIZED. Reactor's ``multicast().directBestEffort()``.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.multicast_best_effort()
        >>> sink.try_emit(1)
        <EmitResult.ZERO_SUBSCRIBERS: 'zero_subscribers'>
        >>> one = sink.stream.subscribe(on_next=print, request=1)
        >>> sink.try_emit(2)
        2
        <EmitResult.OK: 'ok'>
        >>> sink.try_emit(3)
        <EmitResult.OVERFLOW: 'overflow'>
    """
    return DirectSink(all_or_nothing=False)


def multicast_all_or_nothing() -> Sink[Any]:
    """Return a sink for several Subscribers, who get an element all together or not at all.

    Holds nothing: as long as one Subscriber has no demand, a push is answered with OVERFLOW, and nobody gets it.
    ZERO_SUBSCRIBERS where nobody is there. A push from inside ``on_next`` is NON_SERIALIZED. Reactor's
    ``multicast().directAllOrNothing()``.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.multicast_all_or_nothing()
        >>> fast = sink.stream.subscribe(on_next=print)
        >>> slow = sink.stream.subscribe(on_next=print, request=0)
        >>> sink.try_emit(1)
        <EmitResult.OVERFLOW: 'overflow'>
    """
    return DirectSink(all_or_nothing=True)


def replay(
    limit: int | None = None,
    seconds: float | timedelta | None = None,
    *,
    capacity: int = 256,
    scheduler: schedulers.Scheduler | None = None,
) -> Sink[Any]:
    """Return a sink whose Subscribers each get the history first, and then what comes, at their own pace.

    **Without a limit it grows**: every element is kept for as long as the sink is, as by Reactor's ``replay().all()``.
    With ``seconds`` alone it grows with what comes in that time, and with what a slow Subscriber has not taken. With a
    ``limit`` it holds at most ``limit + capacity`` elements: when the slowest Subscriber is so far behind, a push is
    answered with OVERFLOW. The history outlives the end: a later Subscriber gets it, and then the end.

    No timer looks after ``seconds``: nobody is given what is too old, but it is let go of when the next element or
    Subscriber comes, and the last element when another follows it.

    Args:
        limit: the most elements of the history, None for all.
        seconds: how long an element belongs to the history, None for ever.
        capacity: how many elements more than ``limit`` are held for slow Subscribers. Without a limit it means nothing.
        scheduler: whose clock ``seconds`` goes by; the current one when None.

    Raises:
        TypeError: one of the numbers is none.
        ValueError: the limit or the capacity is less than 1, or the seconds are not positive and finite.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.replay(limit=2)
        >>> for n in range(5):
        ...     sink.emit(n)
        >>> _ = sink.stream.subscribe(on_next=print)
        3
        4
    """
    return ReplaySink(
        None if limit is None else checked_natural(limit, "limit", 1),
        None if seconds is None else checked_seconds(seconds, "seconds", positive=True),
        schedulers.current(scheduler).now,
        checked_natural(capacity, "capacity", 1),
    )
