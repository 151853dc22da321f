"""Sinks: hot Publishers to push elements into.

- ``unicast()``: one Subscriber. An element without demand is buffered; beyond the capacity ``overflow`` applies.
- ``multicast()``: several Subscribers, at the pace of the slowest. Beyond the capacity the result is ``OVERFLOW``.
- ``multicast_best_effort()``: several Subscribers. An element without demand is dropped for that Subscriber only.
- ``multicast_all_or_nothing()``: several Subscribers. An element for which one of them has no demand is emitted to
  none, and the result is ``OVERFLOW``.
- ``replay()``: several Subscribers, which receive the history first. An element without demand is buffered.
- ``SubmissionPublisher()``: several Subscribers, signalled on a scheduler. ``submit`` blocks, ``offer`` drops.

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
from pyrs.sinks.multicasting import AlignedSink, DirectSink, ReplaySink, UnicastSink
from pyrs.sinks.sink import Sink, busy_looping
from pyrs.sinks.submission import SubmissionPublisher

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


_OTHER_NAMES = {
    **dict.fromkeys(("Subject", "many", "Many", "Multicast", "share"), "use multicast() or multicast_best_effort()"),
    **dict.fromkeys(("ReplaySubject", "Replay"), "use replay(limit)"),
    **dict.fromkeys(("BehaviorSubject", "latest"), "use replay(1)"),
    **dict.fromkeys(("AsyncSubject", "one"), "use replay(1), and last() of its stream"),
    **dict.fromkeys(("Unicast", "queue"), "use unicast()"),
}

if not TYPE_CHECKING:  # a type checker would accept every attribute

    def __getattr__(name: str) -> object:
        advice = f": {_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{advice}")


def unicast(capacity: int = 256, overflow: Overflow | str | None = None) -> Sink[Any]:
    """Return a sink for one Subscriber, which may subscribe at any time.

    Buffers the elements that are not demanded, also before the Subscriber subscribes. A second Subscriber receives a
    RuntimeError. After the Subscriber has cancelled, the buffer is dropped and a push returns CANCELLED. A pushed error
    that the Subscriber has not received is reported to the dropped-errors hook.

    Args:
        capacity: the maximum number of buffered elements.
        overflow: what happens to an element when the buffer is full. None: the push returns OVERFLOW, and the caller
            decides. ``"error"``: it returns OVERFLOW, and the stream fails with ``BufferOverflow`` after the buffered
            elements. ``"drop_oldest"``, ``"drop_latest"``: an element is dropped and reported to the dropped-elements
            hook. ``"buffer"``: the element is buffered anyway; memory grows without a bound.

    Raises:
        TypeError: ``capacity`` is not an integer, or ``overflow`` is neither a str nor an ``Overflow``.
        ValueError: ``capacity`` is less than 1, or the strategy is not one of these.

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
    """Return a sink for several Subscribers, at the pace of the slowest.

    An element is emitted to all Subscribers when every one of them has demand; otherwise it is buffered. When the
    buffer is full, a push returns OVERFLOW, or ZERO_SUBSCRIBERS without a Subscriber. A Subscriber receives the
    buffered elements and later ones. Same as Reactor's ``multicast().onBackpressureBuffer()``.

    Args:
        capacity: the maximum number of buffered elements.
        auto_cancel: whether the cancel of the last Subscriber cancels the sink: pushes then return CANCELLED, the
            buffer is dropped, and later Subscribers complete at once. If False, the buffer is kept for them.

    Raises:
        TypeError: ``capacity`` is not an integer.
        ValueError: ``capacity`` is less than 1.

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
    """Return a sink that emits each element to the Subscribers that have demand.

    Buffers nothing: an element is dropped for a Subscriber without demand. Such drops are counted in ``dropped`` and
    reported to the dropped-elements hook. If no Subscriber has demand, nothing is counted, and a push returns OVERFLOW.
    It returns ZERO_SUBSCRIBERS without a Subscriber, and NON_SERIALIZED inside ``on_next``. Same as Reactor's
    ``multicast().directBestEffort()``.

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
    """Return a sink that emits each element to all Subscribers or to none.

    Buffers nothing: while a Subscriber has no demand, a push returns OVERFLOW. It returns ZERO_SUBSCRIBERS without a
    Subscriber, and NON_SERIALIZED inside ``on_next``. Same as Reactor's ``multicast().directAllOrNothing()``.

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
    """Return a sink that replays its history to each new Subscriber.

    Each Subscriber receives the history, then new elements, at its own pace. A Subscriber that subscribes after the
    terminal signal receives the history and that signal. **Without a limit memory grows**: every element is kept, as
    with Reactor's ``replay().all()``. With ``seconds`` only, the sink keeps the elements of that time, and those that a
    slow Subscriber has not consumed. With ``limit``, the sink keeps at most ``limit + capacity`` elements: when the
    slowest Subscriber is that far behind, a push returns OVERFLOW.

    Elements older than ``seconds`` are not replayed. No timer removes them: they are released when the next element or
    Subscriber arrives, and the last element when another one follows it.

    Args:
        limit: the maximum number of replayed elements; None for no limit.
        seconds: the maximum age of a replayed element; None for no limit.
        capacity: the number of elements beyond ``limit`` that are kept for slow Subscribers. Ignored without a limit.
        scheduler: the scheduler whose clock measures ``seconds``; None for the current one.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: ``limit`` or ``capacity`` is less than 1, or ``seconds`` is not positive and finite.

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
