"""Snapshots of live streams: ``Bridge.streams`` and its table."""

from __future__ import annotations

from typing import Any

import pytest
from plain_session import PlainSession

import pyrs
from pyrs._core.sites import Site
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.jvm.streams import Rates, Streams, StreamStatus, as_json, display, snapshot, title
from pyrs.testing import TestSubscriber


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def only(session: PlainSession) -> StreamStatus:
    (found,) = snapshot(session, Rates())
    return found


def test_stream_to_python_has_demand_and_buffered_elements() -> None:
    session = PlainSession()
    subscriber: TestSubscriber[Any] = TestSubscriber(2)
    session.subscribe(7, subscriber, site=Site("orders.py", 4))
    session.receive(session.step_as_frame(["NEXT", ["a", "b", "c"]], 1))
    found = only(session)
    assert found.direction == "to Python" and found.state == "live"
    assert found.name == "Publisher 7 of the JVM" and found.site == Site("orders.py", 4)
    assert (found.demand, found.elements, found.buffered, found.dropped) == (0, 2, 1, 0)
    assert found.in_flight == 14  # the window of 16 elements, minus the two that were delivered
    subscriber.request(pyrs.UNBOUNDED)
    assert (only(session).demand, only(session).elements) == (pyrs.UNBOUNDED, 3)


def test_completed_stream_leaves_the_snapshot() -> None:
    session = PlainSession()
    session.subscribe(7, TestSubscriber(2))
    session.receive(Frame(FrameType.COMPLETE, 1, b""))
    assert snapshot(session, Rates()) == []


def test_cancelled_stream_counts_its_elements_as_dropped() -> None:
    session, seen = PlainSession(), []

    def on_element(subscriber: TestSubscriber[Any], element: object) -> None:
        subscriber.cancel()
        seen.append(only(session))

    session.subscribe(7, TestSubscriber(1, on_element=on_element))
    session.receive(session.step_as_frame(["NEXT", ["a", "b", "c"]], 1))
    (found,) = seen
    assert (found.state, found.dropped) == ("cancelled", 3)  # "a" is counted as delivered after on_next has returned


def outbound(session: PlainSession, publisher: object, site: Site | None = None) -> StreamStatus:
    handle = session.handles.own(publisher, site)
    session.receive(session.step_as_frame(["SUBSCRIBE", handle], 2))
    session.receive(session.step_as_frame(["REQUEST", 3], 2))
    return only(session)


def test_stream_to_the_jvm_has_the_name_and_line_of_its_publisher() -> None:
    publisher = pyrs.range(9).map(str)
    line = publisher.source.stages[-1].site
    found = outbound(PlainSession(), publisher, Site("elsewhere.py", 1))
    assert found.direction == "to JVM"
    assert (found.name, found.site) == ("range(0, 9).map(str)", line)
    assert line is not None and line.file == __file__
    assert (found.demand, found.elements, found.buffered) == (0, 3, 0)


def test_publisher_without_a_site_has_the_site_of_to_jvm() -> None:
    class Foreign:
        def subscribe(self, subscriber: Any) -> None:
            subscriber.on_subscribe(TestSubscription())

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    class TestSubscription:
        def request(self, n: int) -> None: ...
        def cancel(self) -> None: ...

    foreign = Foreign()
    found = outbound(PlainSession(), foreign, Site("orders.py", 9))
    assert (found.name, found.site, found.demand) == ("Foreign", Site("orders.py", 9), 3)


def test_stream_does_not_keep_its_publisher() -> None:
    session = PlainSession()
    publisher = pyrs.never()
    handle = session.handles.own(publisher)
    session.receive(session.step_as_frame(["SUBSCRIBE", handle], 2))
    stream = session.streams[2]
    assert stream.publisher() is publisher
    session.handles.clear()
    del publisher
    assert stream.publisher() is None
    assert only(session).name == "a Python Publisher"


def test_publisher_whose_attributes_raise_has_no_site() -> None:
    class Broken(pyrs.Publisher[Any]):
        @property
        def stages(self) -> Any:
            raise ValueError("no stages")

        def __repr__(self) -> str:
            raise ValueError("no repr")

        def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
            pyrs.never().subscribe(subscriber)

    session, publisher = PlainSession(), Broken()
    session.receive(session.step_as_frame(["SUBSCRIBE", session.handles.own(publisher)], 2))
    assert (only(session).name, only(session).site) == ("Broken", None)


def test_rate_is_measured_between_two_snapshots() -> None:
    clock = Clock()
    rates = Rates(clock)
    assert rates.rates([("a", 50, 10.0)]) == [5.0]  # the first rate is the mean since the stream was opened
    clock.now += 2
    assert rates.rates([("a", 250, 12.0), ("b", 0, 0.0)]) == [100.0, 0.0]
    clock.now += 0.01
    assert rates.rates([("a", 260, 12.01)]) == [100.0]  # after a short interval the rate stays the same
    clock.now += 0.99
    assert rates.rates([("a", 350, 13.0)]) == [100.0]


def test_rate_of_a_stream_with_the_key_of_another_is_not_negative() -> None:
    clock = Clock()
    rates = Rates(clock)
    rates.rates([("a", 500, 10.0)])
    clock.now += 2
    assert rates.rates([("a", 10, 1.0)]) == [10.0]


def test_rates_forget_streams_that_ended() -> None:
    rates = Rates(Clock())
    rates.rates([("a", 50, 10.0)])
    rates.rates([])
    assert rates._before == {}


STREAM = StreamStatus(1, "to Python", "Publisher <7>", "live", 1_500, 16, 3, 12, 2.4, 0, 5.0, Site("orders.py", 4))


def test_table_is_text_and_html(capsys: pytest.CaptureFixture[str]) -> None:
    streams = Streams(title("bridge-1", "open", 1, 2), [STREAM, STREAM._replace(demand=pyrs.UNBOUNDED, site=None)])
    first, head, row, other = str(streams).splitlines()
    assert first == "bridge-1, open; live streams: 1; dropped elements in all: 2"
    assert head.split()[:3] == ["stream", "publisher", "state"]
    assert " ".join(row.split()) == "1 to Python Publisher <7> live 1,500 16 3 12 2 0 orders.py:4"
    assert "unbounded" in other
    assert repr(streams) == str(streams)
    assert "<td>Publisher &lt;7&gt;</td>" in streams._repr_html_() and streams._repr_html_().count("<tr>") == 3
    display(streams)
    assert capsys.readouterr().out == f"{streams}\n"


def test_table_without_streams_shows_a_message() -> None:
    assert str(Streams("bridge-1", [])) == "bridge-1\nno live stream"


def test_notebook_displays_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from types import SimpleNamespace

    shown: list[object] = []
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(__import__("sys").modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", SimpleNamespace(display=shown.append))
    streams = Streams("bridge-1", [])
    display(streams)
    assert shown == [streams] and capsys.readouterr().out == ""


def test_json_has_the_streams() -> None:
    session = PlainSession()
    session.subscribe(7, TestSubscriber(2))
    found = as_json("bridge-1", "open", session)
    assert (found["name"], found["streams_live"], found["streams"][0]["demand"]) == ("bridge-1", 1, 2)
