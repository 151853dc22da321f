"""``Stream.explain``: agreement with the registry of operators, text, steps and SVG."""

from __future__ import annotations

import re
from typing import Any
from xml.dom import minidom

import pytest

import pyrs
from pyrs import schedulers
from pyrs.stream.explaining import ExplainedStep, explain
from pyrs.testing import TestSubscriber
from tests.operator_registry import ROWS, Row
from tests.operator_registry.row import Sample, some

SAMPLES = [(row, name, sample) for row in ROWS.values() for name, sample in row.samples.items()]


def kind_of_demand(text: str) -> str:
    found = re.match(r"exact|ahead|everything|of the shared", text)
    return found[0] if found else "a number"


def kind_of_buffer(text: str) -> str:
    return "nothing" if text == "nothing" else "grows" if "grows" in text else "bounded"


def step_of(sample: Sample) -> ExplainedStep:
    """Return the operator's step, which ``auto_connect`` or ``ref_count`` may follow."""
    steps = explain(sample.apply((sample.over or some)())).steps
    return next(step for step in reversed(steps) if step.demand != "of the shared stream")


@pytest.mark.parametrize(("row", "name", "sample"), SAMPLES, ids=[name for _, name, _ in SAMPLES])
def test_step_agrees_with_the_registry(row: Row, name: str, sample: Sample) -> None:
    if name == "transform":
        pytest.skip("its function returns the operators")
    step = step_of(sample)
    assert kind_of_demand(step.demand) == kind_of_demand(row.demand), step
    assert kind_of_buffer(step.holds) == kind_of_buffer(row.holds), step
    assert "{" not in step.demand + step.holds + step.thread


@pytest.mark.parametrize(("row", "name", "sample"), SAMPLES, ids=[name for _, name, _ in SAMPLES])
def test_bounded_agrees_with_the_requests(row: Row, name: str, sample: Sample) -> None:
    if name in ("transform", "switch_on_first"):
        pytest.skip("its function returns the operators that request")
    requests: list[int] = []
    call = sample.demand or sample.apply
    with schedulers.use(schedulers.VirtualTime()) as time:
        stream = call(pyrs.never().do_on_request(requests.append))
        stream.subscribe(TestSubscriber(pyrs.UNBOUNDED))
    time.advance_by(1)
    bounded = any(step.bounded for step in explain(stream).steps)
    assert bounded == (max(requests, default=0) < pyrs.UNBOUNDED), (row.demand, requests)


def test_text_shows_each_input_of_a_combining_operator() -> None:
    stream = pyrs.range(3).map(str).zip(pyrs.just(1).merge(pyrs.just(2)), pyrs.just(4)).take(1)
    lines = [re.split(r"  +", line)[0] for line in str(stream.explain()).splitlines()]
    assert lines[1:9] == [
        "┌ range(0, 3)",
        "│ .map(str)",
        "├ ┌ just(1)",
        "│ ├ just(2)",
        "│ .merge(2 streams)",
        "├ just(4)",
        ".zip(3 streams)",
        ".take(1)",
    ]


def test_text_shows_bounds_buffers_and_threads() -> None:
    disk = schedulers.single("disk")
    try:
        explanation = pyrs.range(3).publish_on(disk, 16).map(str).explain()
    finally:
        disk.close()
    assert str(explanation).splitlines()[-3:] == [
        "demand is bounded by  publish_on (ahead: 16)",
        "elements wait in      publish_on (16)",
        "the thread changes at publish_on (single('disk'))",
    ]
    assert "~~~ thread: single('disk') ~~~" in str(explanation)
    assert explanation.steps[1].site is not None
    assert explanation.steps[1].site.file == __file__


def test_shared_stream_is_one_step() -> None:
    assert [step.call for step in pyrs.range(3).share().explain().steps] == ["range(0, 3)", "share()"]
    assert [step.call for step in pyrs.range(3).cache(5).explain().steps] == ["range(0, 3)", "cache(5)"]


@pytest.mark.parametrize("source", [pyrs.never(), pyrs.error(ValueError("no"))])
def test_source_without_elements_needs_no_demand(source: pyrs.Stream[object]) -> None:
    assert [step.demand for step in source.explain().steps] == ["not needed"]


class Own(pyrs.Publisher[int]):
    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        raise AssertionError("explain does not subscribe")

    def __repr__(self) -> str:
        return "Own()"


def test_third_party_publisher_is_a_source() -> None:
    assert [step.call for step in pyrs.Stream(Own()).map(str).explain().steps] == ["Own()", "map(str)"]


@pytest.mark.parametrize(
    "attributes", [{"site": "https://example.com"}, {"stages": ["bronze"]}, {"source": "orders"}, {"call": "GET"}]
)
@pytest.mark.parametrize("name", ["Orders", "Delay"])  # ``Delay`` is also the name of a class of pyrs
def test_attributes_of_a_third_party_publisher_are_not_read(name: str, attributes: dict[str, Any]) -> None:
    publisher = type(name, (Own,), attributes)()
    step, mapped = pyrs.Stream(publisher).map(str).explain().steps
    assert (step.call, step.site, mapped.call) == (repr(publisher), None, "map(str)")


def test_svg_is_valid_and_escapes_calls() -> None:
    stream = pyrs.just("<&>").zip(pyrs.range(3).prefetch(4)).map(lambda pair: pair)
    explanation = stream.explain()
    document = minidom.parseString(explanation.svg())
    shown = {node.firstChild.data for node in document.getElementsByTagName("text") if node.firstChild is not None}
    assert {"just('<&>')", "prefetch(4)", "zip(2 streams)", "map(<lambda>)"} <= shown
    assert explanation._repr_html_() == explanation.svg()
