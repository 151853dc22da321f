"""Spans and metrics of subscriptions, and the trace that crosses the link."""

from __future__ import annotations

import asyncio
import doctest
import gc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from plain_session import PlainSession

import pyrs
from pyrs import sinks, telemetry
from pyrs._core import observation
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.telemetry import meters, naming, subscriptions
from pyrs.testing import TestPublisher, TestSubscriber

EXPORTER = InMemorySpanExporter()
READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def provider() -> Iterator[None]:
    """Set the providers once for all tests, because they are global and cannot be replaced."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([READER]))
    telemetry.instrument()
    telemetry.instrument()
    yield
    telemetry.uninstrument()


@pytest.fixture(autouse=True)
def no_spans() -> Iterator[None]:
    EXPORTER.clear()
    yield


def spans() -> dict[str, ReadableSpan]:
    return {span.name: span for span in EXPORTER.get_finished_spans()}


def attributes(name: str) -> dict[str, Any]:
    return dict(spans()[name].attributes or {})


def test_span_operator_records_each_subscription() -> None:
    stream = pyrs.range(5).transform(telemetry.span("numbers", tenant="a"))
    assert stream.collect() == stream.collect() == list(range(5))
    finished = EXPORTER.get_finished_spans()
    assert [span.name for span in finished] == ["numbers"] * 2
    assert attributes("numbers") == {
        "tenant": "a",
        "pyrs.elements": 5,
        "pyrs.requested": -1,
        "pyrs.outcome": "completed",
    }


@pytest.mark.parametrize("shared", ["share", "cache"])
def test_each_subscriber_of_a_shared_span_has_a_span_too(shared: str) -> None:
    telemetry.instrument()
    stream = getattr(pyrs.range(5).transform(telemetry.span("source")), shared)().map(str)
    assert stream.collect() == list("01234")
    names = sorted(span.name.partition(" at ")[0] for span in EXPORTER.get_finished_spans())
    assert names == ["map", "source"]


def test_strict_names_the_subscriber_of_the_user() -> None:
    class Requesting(TestSubscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            super().on_subscribe(subscription)
            subscription.request(0)

    received = Requesting()
    pyrs.strict(TestPublisher[int]()).subscribe(received)
    assert str(received.await_error()).startswith("Subscriber Requesting: ")


class ThirdParty(pyrs.Publisher[Any]):
    """A Publisher whose repr is not that of a call."""

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        raise AssertionError("not subscribed")


@pytest.mark.parametrize(
    ("expected", "stream"),
    [
        ("unicast", sinks.unicast().stream),
        ("multicast", sinks.multicast().stream),
        ("multicast_best_effort", sinks.multicast_best_effort().stream),
        ("multicast_all_or_nothing", sinks.multicast_all_or_nothing().stream),
        ("replay", sinks.replay(1).stream),
        ("error", pyrs.error(ValueError())),
        ("never", pyrs.never()),
        ("publish", pyrs.never().publish()),
        ("auto_connect", pyrs.never().publish().auto_connect()),
        ("share", pyrs.never().share()),
        ("cache", pyrs.never().cache()),
        ("named", pyrs.never().checkpoint("named").share()),
        ("TestPublisher", TestPublisher[int]().stream()),
        ("ThirdParty", pyrs.Stream(ThirdParty())),
        ("ThirdParty", pyrs.strict(ThirdParty())),
    ],
)
def test_stream_is_named_after_the_call_of_the_user(expected: str, stream: pyrs.Stream[Any]) -> None:
    name, _ = naming.name_of_stream(naming.operators_of(stream))
    assert name.partition(" at ")[0] == expected


def test_error_is_recorded() -> None:
    with pytest.raises(ValueError, match="planned"):
        pyrs.error(ValueError("planned")).transform(telemetry.span("fails")).collect()
    assert attributes("fails")["pyrs.outcome"] == "failed"
    assert [event.name for event in spans()["fails"].events] == ["exception"]
    assert not spans()["fails"].status.is_ok


def test_cancel_ends_the_span_once() -> None:
    source, subscriber = TestPublisher[int](), TestSubscriber[int](3)
    source.stream().transform(telemetry.span("cancelled")).subscribe(subscriber)
    source.next(1)
    subscriber.cancel()
    subscriber.cancel()
    source.assert_cancelled()
    assert len(EXPORTER.get_finished_spans()) == 1
    assert attributes("cancelled") == {"pyrs.elements": 1, "pyrs.requested": 3, "pyrs.outcome": "cancelled"}


def test_span_is_the_parent_of_spans_upstream() -> None:
    with trace.get_tracer("test").start_as_current_span("request"):
        inner = pyrs.just(1).transform(telemetry.span("inner"))
        inner.map(str).transform(telemetry.span("outer")).collect()
    found = spans()
    assert found["inner"].parent is not None
    assert found["inner"].parent.span_id == found["outer"].context.span_id
    assert found["outer"].parent is not None
    assert found["outer"].parent.span_id == found["request"].context.span_id
    assert len({span.context.trace_id for span in found.values()}) == 1


def test_trace_crosses_from_python_to_the_peer() -> None:
    from pyrs.jvm import context

    with trace.get_tracer("test").start_as_current_span("here") as current:
        entries = context.collect_entries()
    assert entries["traceparent"].split("-")[1:3] == [
        format(current.get_span_context().trace_id, "032x"),
        format(current.get_span_context().span_id, "016x"),
    ]
    assert "traceparent" not in context.collect_entries()


def test_trace_crosses_from_the_peer_to_python() -> None:
    session = PlainSession()
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    handle = session.handles.own(pyrs.range(3).transform(telemetry.span("here")))
    options = {"context": {"traceparent": traceparent}}
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([handle, options])))
    session.receive(Frame(FrameType.REQUEST, 2, (3).to_bytes(8, "big")))
    recorded = spans()["here"]
    assert format(recorded.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert recorded.parent is not None
    assert format(recorded.parent.span_id, "016x") == "b7ad6b7169203331"


def measured(metric: str, **attributes: object) -> Any:
    """Return the data point of a metric with these attributes, or None. The names lack the prefix ``pyrs.``."""
    data = READER.get_metrics_data()
    assert data is not None
    for each in data.resource_metrics[0].scope_metrics[0].metrics:
        for point in each.data.data_points:
            found = {key.removeprefix("pyrs."): value for key, value in (point.attributes or {}).items()}
            if each.name == f"pyrs.{metric}" and attributes.items() <= found.items():
                return point
    return None


def value(metric: str, **attributes: object) -> int:
    return int(measured(metric, **attributes).value)


async def iterated(stream: pyrs.Stream[Any]) -> list[Any]:
    return [element async for element in stream]


TERMINAL: dict[str, Callable[[pyrs.Stream[Any]], Any]] = {
    "collect": lambda stream: stream.collect(),
    "for_each": lambda stream: stream.for_each(lambda _: None),
    "to_iterable": lambda stream: list(stream.to_iterable()),
    "subscribe": lambda stream: stream.subscribe(TestSubscriber(10)),
    "callables": lambda stream: stream.subscribe(on_next=lambda _: None),
    "async for": lambda stream: asyncio.run(iterated(stream)),
}
CHAINS: dict[str, Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]] = {
    "a fused chain": lambda stream: stream.map(str),
    "a fused chain with a filter": lambda stream: stream.filter(lambda n: n > 1).map(str),
    "a pushed chain": lambda stream: stream.concat_map(pyrs.just).map(str),
    "an operator": lambda stream: stream.concat_map(pyrs.just),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_await_of_a_folded_chain_is_a_span_of_the_fold(chain: str) -> None:
    async def child() -> int:
        with trace.get_tracer("test").start_as_current_span("child"):
            return await CHAINS[chain](pyrs.range(5)).reduce(lambda _, element: record(element))

    def record(element: Any) -> Any:
        trace.get_tracer("test").start_span("of the function").end()
        return element

    asyncio.run(child())
    found = spans()
    function, outer = found.pop("of the function"), found.pop("child")
    (span,) = found.values()
    assert re.fullmatch(r"reduce at test_telemetry.py:\d+", span.name)
    assert function.parent is not None and span.context is not None and function.parent.span_id == span.context.span_id
    assert span.parent is not None and outer.context is not None and span.parent.span_id == outer.context.span_id
    assert attributes(span.name)["pyrs.outcome"] == "completed"
    assert attributes(span.name)["pyrs.elements"] == 1
    assert value("active", stream=span.name) == 0


@pytest.mark.parametrize("chain", CHAINS)
def test_error_of_an_awaited_fold_is_recorded(chain: str) -> None:
    def raises(*_: Any) -> Any:
        raise ValueError("a bug")

    async def main() -> None:
        with pytest.raises(ValueError, match="a bug"):
            await CHAINS[chain](pyrs.range(5)).reduce(raises)
        with pytest.raises(pyrs.NoElement):
            await CHAINS[chain](pyrs.range(0)).last()

    asyncio.run(main())
    reduced, last = EXPORTER.get_finished_spans()
    for span, name, kind in ((reduced, "reduce", "ValueError"), (last, "last", "pyrs.errors.NoElement")):
        assert span.name.partition(" ")[0] == name
        assert (span.attributes or {})["pyrs.outcome"] == "failed"
        assert [(event.attributes or {})["exception.type"] for event in span.events] == [kind]


def test_cancelled_await_of_a_fold_is_cancelled() -> None:
    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pyrs.never().checkpoint("awaited").to_list(), 0.01)

    asyncio.run(main())
    assert attributes("awaited")["pyrs.outcome"] == "cancelled"


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("terminal", TERMINAL)
def test_every_subscription_is_one_span(terminal: str, chain: str) -> None:
    stream = CHAINS[chain](pyrs.range(5))
    elements = 3 if "filter" in chain else 5
    TERMINAL[terminal](stream)
    (span,) = EXPORTER.get_finished_spans()
    operator = "concat_map" if chain == "an operator" else "map"
    assert re.fullmatch(rf"{operator} at test_telemetry.py:\d+", span.name)
    found = dict(span.attributes or {})
    assert found["pyrs.elements"] == elements
    assert found["pyrs.outcome"] == "completed"
    assert found["code.file.path"] == __file__
    assert span.name.endswith(f":{found['code.line.number']}")
    counted = value("elements", stream=span.name)  # of all terminal operations so far: the span names are equal
    assert counted > 0 and counted % elements == 0
    assert value("active", stream=span.name) == 0


@pytest.mark.parametrize(
    "name",
    [
        lambda stream: stream.checkpoint("orders"),
        lambda stream: stream.log("orders"),
        lambda stream: stream.metrics(pyrs.Metrics("orders")),
    ],
)
def test_name_is_that_of_the_last_named_operator(name: Callable[[Any], Any]) -> None:
    name(pyrs.range(3).checkpoint("earlier")).map(str).collect()
    assert list(spans()) == ["orders"]


def test_iteration_that_stops_early_is_cancelled() -> None:
    for _ in zip(range(2), pyrs.range(5).checkpoint("pulled").to_iterable(), strict=False):
        pass
    for _ in zip(range(2), pyrs.range(5000).concat_map(pyrs.just).checkpoint("pushed").to_iterable(), strict=False):
        pass
    assert attributes("pulled")["pyrs.outcome"] == attributes("pushed")["pyrs.outcome"] == "cancelled"
    assert attributes("pulled")["pyrs.elements"] == 2


def test_error_of_an_iteration_is_recorded() -> None:
    def fail(n: int) -> int:
        raise ValueError("planned")

    with pytest.raises(ValueError, match="planned"):
        list(pyrs.range(3).map(fail).checkpoint("fails").to_iterable())
    assert attributes("fails")["pyrs.outcome"] == "failed"


def test_elements_before_an_error_are_counted() -> None:
    with pytest.raises(ZeroDivisionError):
        pyrs.just(2, 1, 0).map(lambda n: 1 / n).checkpoint("inverse").collect()
    assert attributes("inverse")["pyrs.elements"] == 2


def test_subscriber_that_raises_ends_its_span() -> None:
    class Raising(TestSubscriber[Any]):
        def on_next(self, element: Any, /) -> None:
            raise ValueError("planned")

    before = pyrs.set_error_hook(lambda error, where: None)
    pyrs.range(3).concat_map(pyrs.just).checkpoint("raises").subscribe(Raising(3))
    pyrs.set_error_hook(before)
    assert attributes("raises")["pyrs.outcome"] == "cancelled"


def test_abandoned_subscription_ends_with_the_next_one() -> None:
    subscriber: Any = TestSubscriber(1)
    pyrs.range(3).concat_map(pyrs.just).checkpoint("abandoned").subscribe(subscriber)
    del subscriber
    gc.collect()
    pyrs.just(1).checkpoint("next").collect()
    assert attributes("abandoned") | {"code.file.path": "", "code.line.number": 0} == {
        "code.file.path": "",
        "code.line.number": 0,
        "pyrs.elements": 1,
        "pyrs.requested": 1,
        "pyrs.outcome": "cancelled",
    }


def test_metrics_follow_a_live_subscription() -> None:
    source, subscriber = TestPublisher[int](), TestSubscriber[int](5)
    source.stream().checkpoint("live").subscribe(subscriber)
    source.next(1, 2)
    assert value("subscribed", stream="live") == value("active", stream="live") == 1
    assert value("requested", stream="live") == 5
    assert value("elements", stream="live") == 2
    assert value("demand", stream="live") == 3
    subscriber.request(pyrs.UNBOUNDED)
    assert value("demand", stream="live") == 0
    assert value("requested", stream="live") == 5
    source.complete()
    assert value("active", stream="live") == 0
    assert value("elements", stream="live") == 2
    duration = measured("flow.duration", stream="live", outcome="completed")
    assert duration.count == 1
    delay = measured("on_next.delay", stream="live")
    assert delay.count == 1
    assert 0 < 2 * delay.sum <= duration.sum


def test_delay_is_measured_at_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(subscriptions, "perf_counter", lambda: now[0])
    source, subscriber = TestPublisher[int](), TestSubscriber[int](2)
    source.stream().checkpoint("delayed").subscribe(subscriber)
    now[0] = 3.0
    source.next(1, 2)
    subscriber.request(1)
    assert measured("on_next.delay", stream="delayed").sum == 1.5
    now[0] = 3.05
    subscriber.request(1)  # not recorded: the delay is recorded at most ten times a second
    now[0] = 5.0
    source.next(3)
    subscriber.cancel()
    delay = measured("on_next.delay", stream="delayed")
    assert (delay.count, delay.sum) == (2, 3.5)


def test_error_type_is_an_attribute_of_the_duration() -> None:
    with pytest.raises(ValueError, match="planned"):
        pyrs.error(ValueError("planned")).checkpoint("failing").collect()
    assert measured("flow.duration", **{"stream": "failing", "error.type": "ValueError"}).count == 1


def test_drops_are_counted_for_each_operator() -> None:
    before = pyrs.set_element_hook(lambda count, where: None)
    source, subscriber = TestPublisher[int](), TestSubscriber[int](1)
    source.stream().on_backpressure_drop().subscribe(subscriber)
    source.next(1, 2, 3)
    subscriber.cancel()
    pyrs.set_element_hook(before)
    assert value("dropped", operator="on_backpressure_drop") == 2


def test_number_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meters, "_MAX_NAMES", 0)
    for n in range(3):
        pyrs.just(n).checkpoint(f"order {n}").collect()
    assert value("subscribed", stream="other") == 3
    assert measured("subscribed", stream="order 1") is None


class FromPeer(pyrs.Publisher[Any]):
    """A Publisher of the peer, without a bridge."""

    carries_context = True

    def __init__(self, session: PlainSession) -> None:
        self.session = session

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.session.subscribe(7, subscriber)


@pytest.mark.parametrize("demand", [3, 40])
def test_stream_of_the_link_counts_its_elements_exactly(demand: int) -> None:
    session = PlainSession()

    class Third(TestSubscriber[Any]):
        def on_next(self, element: Any, /) -> None:
            super().on_next(element)
            if element == 2:
                self.cancel()

    pyrs.Stream(FromPeer(session)).subscribe(Third(demand))
    (identifier,) = session.streams
    session.receive(Frame(FrameType.NEXT, identifier, session.codec.encode(list(range(10)))))
    assert attributes("FromPeer")["pyrs.elements"] == 3
    assert attributes("FromPeer")["pyrs.outcome"] == "cancelled"


def test_stream_of_the_link_calls_the_subscriber_directly() -> None:
    session, subscriber = PlainSession(), TestSubscriber[Any](40)
    pyrs.Stream(FromPeer(session)).subscribe(subscriber)
    (stream,) = session.streams.values()
    assert stream.subscriber.on_next == subscriber.on_next
    session.receive(Frame(FrameType.NEXT, stream.id, session.codec.encode(list(range(10)))))
    assert value("demand", stream="FromPeer") == 30
    subscriber.cancel()


@pytest.mark.parametrize(
    "build",
    [
        lambda inner: pyrs.range(3).flat_map(lambda n: inner),
        lambda inner: pyrs.range(3).filter_when(lambda n: inner),
        lambda inner: pyrs.range(3).delay_until(lambda n: inner),
        lambda inner: pyrs.defer(lambda: inner),
        lambda inner: pyrs.error(OSError("planned")).retry_when(lambda errors: inner),
    ],
    ids=["flat_map", "filter_when", "delay_until", "defer", "retry_when"],
)
def test_inner_streams_are_not_recorded(build: Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]) -> None:
    build(pyrs.just(1).map(str)).checkpoint("outer").materialize().collect()
    assert [span.name for span in EXPORTER.get_finished_spans()] == ["outer"]


def test_publishers_still_recognize_a_second_subscription() -> None:
    publisher, subscriber = pyrs.sinks.SubmissionPublisher[int](pyrs.schedulers.inline()), TestSubscriber[int]()
    publisher.subscribe(subscriber)
    assert publisher.subscribers == (subscriber,)
    publisher.close()
    first, second, third = TestSubscriber[int](), TestSubscriber[int](), TestSubscriber[int]()
    kept: list[Any] = []
    stream: pyrs.Stream[int] = pyrs.Stream(Keeping(kept))
    for each in (first, first, second):
        stream.subscribe(each)
    assert kept[0] == kept[1] == first
    assert hash(kept[0]) == hash(first)
    assert kept[0] != kept[2]
    assert third not in kept


class Keeping(pyrs.Publisher[Any]):
    """Keeps its Subscribers, and signals nothing."""

    carries_context = True

    def __init__(self, kept: list[Any]) -> None:
        self.kept = kept

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.kept.append(subscriber)


def test_error_that_cannot_be_formatted_reaches_the_subscriber() -> None:
    class Unformattable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    reported: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: reported.append(where))
    subscriber = TestSubscriber[Any](1)
    pyrs.error(Unformattable()).checkpoint("odd").subscribe(subscriber)
    pyrs.set_error_hook(before)
    assert isinstance(subscriber.await_error(), Unformattable)
    assert attributes("odd")["pyrs.outcome"] == "failed"
    assert reported == ["recording the stream 'odd'"]


@pytest.mark.parametrize("step", ["on_start", "on_end"])
@pytest.mark.parametrize("make", [pyrs.range, lambda n: pyrs.range(n).flat_map(pyrs.just)], ids=["range", "flat_map"])
def test_span_processor_that_raises_fails_no_stream(
    step: str, make: Callable[[int], pyrs.Stream[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("from a span processor")

    reported: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: reported.append(f"{error} {where}"))
    monkeypatch.setattr(SimpleSpanProcessor, step, fail)
    subscriber = TestSubscriber[int](3)
    try:
        make(3).checkpoint("observed").subscribe(subscriber)
        assert list(make(2).checkpoint("iterated").to_iterable()) == [0, 1]
    finally:
        pyrs.set_error_hook(before)
    assert subscriber.await_complete() == [0, 1, 2]
    assert reported == [f"from a span processor recording the stream {name!r}" for name in ("observed", "iterated")]


def test_publisher_with_attributes_that_raise_is_not_recorded() -> None:
    class Hostile:
        def subscribe(self, subscriber: pyrs.Subscriber[int]) -> None:
            pyrs.just(1).checkpoint("inner").subscribe(subscriber)

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    reported: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: reported.append(where))
    try:
        assert pyrs.Stream[int](Hostile()).collect() == [1]
    finally:
        pyrs.set_error_hook(before)
    assert reported == ["raised by an attribute of a Publisher, whose subscription is not recorded"]
    assert list(spans()) == ["inner"]


def test_nothing_is_recorded_after_uninstrument() -> None:
    telemetry.uninstrument()
    try:
        source = pyrs.range(3).source
        assert observation.last_operator(source) is source
        pyrs.range(3).map(str).collect()
        list(pyrs.range(3).to_iterable())
        assert EXPORTER.get_finished_spans() == ()
        pyrs.range(3).transform(telemetry.span("explicit")).collect()
        assert list(spans()) == ["explicit"]
    finally:
        telemetry.instrument()


def test_name_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="name must be a string, not int"):
        telemetry.span(7)  # type: ignore[arg-type]


def test_span_is_one_step_of_explain() -> None:
    stream = pyrs.range(3).transform(telemetry.span("numbers")).map(str)
    assert [step.call for step in stream.explain().steps] == ["range(0, 3)", "span('numbers')", "map(str)"]


def test_example_of_the_page_prints_its_output() -> None:
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    shown = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    # The example sets the global providers, so a new process runs it.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (shown, "")
    assert len(shown) == 2


def test_docstring_examples_run() -> None:
    assert doctest.testmod(telemetry).failed == 0
