"""Describe the live streams of a bridge: ``Bridge.streams`` and ``Bridge.show``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from time import monotonic
from typing import Any, NamedTuple

from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import clipped
from pyrs._core.downstream import subscriber_name
from pyrs._core.sites import Site
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.outbound import OutboundStream
from pyrs.jvm.link.session import Session
from pyrs.stream.traits import short_site

__all__ = ["Rates", "StreamStatus", "Streams", "as_json", "cells", "display", "snapshot", "text_table", "title"]

TO_PYTHON = "to Python"
TO_JVM = "to JVM"
_MAX_NAME = 60
_MAX_STREAMS = 1_000
_MIN_SECONDS = 0.1
"""The minimum time over which a rate is computed, so that the size of a single batch hardly matters."""

COLUMNS = (
    "stream",
    "publisher",
    "state",
    "demand",
    "in flight",
    "buffered",
    "elements",
    "rate/s",
    "dropped",
    "assembled at",
)
_NUMBERS = range(3, 9)
"""The columns that are right-aligned."""


class StreamStatus(NamedTuple):
    """The state of one live stream.

    The counters of a stream to Python are updated after each chunk of elements that its Subscriber processed.

    Attributes:
        id: the number of the stream, unique for its link.
        direction: ``"to Python"`` or ``"to JVM"``.
        name: the Publisher; the Subscriber, if the Publisher is not known.
        state: ``"live"``, or ``"starting"``, ``"cancelled"`` or ``"ended"`` until the stream is removed.
        demand: requested and not yet emitted elements; ``pyrs.UNBOUNDED`` for unbounded demand.
        in_flight: to Python: granted and not yet delivered elements; to the JVM: encoded and not yet written ones.
        buffered: the elements that this process buffers.
        elements: delivered elements; to the JVM: emitted ones.
        rate: elements per second since the previous snapshot, or since the stream was opened.
        dropped: buffered elements of a cancelled stream, which will not be delivered.
        seconds: the time since the stream was opened.
        site: the line of user code that assembled it, if it is known.
    """

    id: int
    direction: str
    name: str
    state: str
    demand: int
    in_flight: int
    buffered: int
    elements: int
    rate: float
    dropped: int
    seconds: float
    site: Site | None


class Streams(tuple[StreamStatus, ...]):
    """The live streams of a bridge at one moment: a tuple of ``StreamStatus``.

    ``str(streams)`` is a table. A notebook shows an HTML table.

    Attributes:
        title: the line above the table.
    """

    title: str

    def __new__(cls, title: str, streams: Iterable[StreamStatus]) -> Streams:
        """Return the streams with a title."""
        self = super().__new__(cls, streams)
        self.title = title
        return self

    def __str__(self) -> str:
        return "\n".join([self.title, *text_table([cells(stream) for stream in self])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(stream))}</tr>" for stream in self)
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{rows}</table>"


class Rates:
    """Computes rates from the counts of successive snapshots."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self._before: dict[Hashable, tuple[float, int, float]] = {}

    def rates(self, counts: Sequence[tuple[Hashable, int, float]]) -> list[float]:
        """Return the rate of each stream since the previous call.

        A rate is measured over at least 0.1 seconds; before that, the previous rate is returned.

        Args:
            counts: the key, the number of elements and the age in seconds of each stream.
        """
        now = self.clock()
        known, rates = {}, []
        for key, elements, age in counts:
            then, before, rate = self._before.get(key, (now - age, 0, 0.0))
            if elements < before:  # a new link reuses the key
                then, before, rate = now - age, 0, 0.0
            elapsed = now - then
            if elapsed >= _MIN_SECONDS:
                rate = (elements - before) / elapsed
                then, before = now, elements
            known[key] = then, before, rate
            rates.append(rate)
        self._before = known  # forgets the streams that have ended
        return rates


def snapshot(session: Session, rates: Rates, most: int | None = None) -> list[StreamStatus]:
    """Return the state of every live stream, or of the ``most`` oldest. Takes no lock."""
    now = rates.clock()
    found = [_status(stream, now) for stream in list(session.streams.values())[:most]]
    measured = rates.rates([((id(session), each.id), each.elements, each.seconds) for each in found])
    return [each._replace(rate=rate) for each, rate in zip(found, measured, strict=True)]


def as_json(name: str, state: str, session: Session) -> dict[str, Any]:
    """Return the state of a bridge and its oldest streams, ready for JSON."""
    return {
        "name": name,
        "state": state,
        "streams_live": len(session.streams),
        "dropped": session.dropped,
        "streams": [stream._asdict() for stream in snapshot(session, Rates(), _MAX_STREAMS)],
    }


def title(name: str, state: str, live: int, dropped: int) -> str:
    """Return the line above the table of a bridge."""
    return f"{name}, {state}; live streams: {live:,}; dropped elements in all: {dropped:,}"


def _status(stream: InboundStream | OutboundStream, now: float) -> StreamStatus:
    state = stream.state
    if isinstance(stream, InboundStream):
        direction = TO_PYTHON
        elements, demand, in_flight = stream.window.delivered, stream.demand, stream.in_flight
        buffered = max(0, stream.received - elements)
        peer = f"Publisher {stream.handle} of the JVM" if stream.handle else ""
        name, site = peer or f"for {subscriber_name(stream.subscriber)}", stream.site
    else:
        direction = TO_JVM
        elements, demand = stream.emitted, stream.unused_credit
        in_flight = buffered = stream.buffered
        publisher = stream.publisher()
        site = _site_of(publisher) or stream.site
        if publisher is not None:
            name = _name(publisher)
        else:  # garbage-collected, or not known
            name = f"for Subscriber {stream.handle} of the JVM" if stream.handle else "a Python Publisher"
    if demand > UNBOUNDED >> 1:  # unbounded demand minus the elements so far
        demand = UNBOUNDED
    dropped = buffered if state == "cancelled" else 0
    seconds = max(0.0, now - stream.opened)
    return StreamStatus(
        stream.id, direction, name, state, demand, in_flight, buffered, elements, 0.0, dropped, seconds, site
    )


def _name(publisher: object) -> str:
    try:
        name = repr(publisher)
    except Exception:  # the repr of a third-party Publisher
        name = type(publisher).__name__
    return clipped(" ".join(name.split()), _MAX_NAME)


def _site_of(publisher: Any) -> Site | None:
    """Return the line of user code that called the last operator of a Publisher."""
    with suppress(Exception):  # raised by an attribute of a third-party Publisher
        for _ in range(8):  # bounds the depth of wrappers
            stages = getattr(publisher, "stages", None)
            site = stages[-1].site if isinstance(stages, tuple) and stages else getattr(publisher, "site", None)
            if isinstance(site, Site):
                return site
            publisher = getattr(publisher, "source", None)
    return None


def cells(stream: StreamStatus) -> list[str]:
    """Return the text of each column."""
    return [
        f"{stream.id} {stream.direction}",
        stream.name,
        stream.state,
        "unbounded" if stream.demand >= UNBOUNDED else f"{stream.demand:,}",
        f"{stream.in_flight:,}",
        f"{stream.buffered:,}",
        f"{stream.elements:,}",
        f"{stream.rate:,.0f}",
        f"{stream.dropped:,}",
        short_site(stream.site),
    ]


def text_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table of ``cells``, or ``no live stream``."""
    if not rows:
        yield "no live stream"
        return
    table = [COLUMNS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    for row in table:
        aligned = [
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()


def display(streams: Streams) -> None:
    """Print the table, or display it in a notebook."""
    ipython = sys.modules.get("IPython")  # a notebook has imported it already
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        sys.modules["IPython.display"].display(streams)
    else:
        print(streams)
