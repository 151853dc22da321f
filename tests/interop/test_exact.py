"""With ``exact=True`` a Publisher receives each request of its Subscriber as one request, in both directions.

The window bounds the elements that are requested at a time. The requests of these tests are smaller.

By default the bridge requests a window of sixteen. If a broker counts delivery as acknowledgement, a cancel would lose
the messages of the window.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pyrs import Subscription
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, MapProcessor, Watched


class RecordingProcessor(MapProcessor):
    """Records the signals of upstream in a TestSubscriber, which also requests and cancels."""

    def __init__(self) -> None:
        super().__init__(lambda element: element)
        self.received = TestSubscriber(timeout=DEADLINE)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.received.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        self.received.on_next(element)


def watched_flux(java: Java) -> tuple[Any, Any]:
    watch = java.new("interop.Watch")
    flux = java.call(java.static("reactor.core.publisher.Flux", "range", 1, 1_000), "doOnRequest", watch)
    return java.call(flux, "doOnCancel", watch), watch


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", ["subscriber", "processor"])
def test_requests_of_a_python_subscriber_reach_java_unchanged_only_if_exact(
    bridge: Bridge, java: Java, kind: str, exact: bool
) -> None:
    processor = RecordingProcessor()
    party = processor if kind == "processor" else processor.received
    flux, watch = watched_flux(java)
    java.static("interop.Functions", "subscribe", flux, bridge.to_jvm(party, exact=exact))
    received = processor.received
    received.request(2)
    received.await_count(2)
    assert (java.call(watch, "requested") == 2) is exact
    received.request(3)
    assert received.await_count(5) == [1, 2, 3, 4, 5]
    if exact:
        assert java.call(watch, "requested") == 5
    received.cancel()
    assert java.call(watch, "awaitCancelled", MILLISECONDS)
    assert len(received.elements) == 5


@pytest.mark.parametrize("exact", [True, False])
def test_requests_of_a_java_subscriber_reach_python_unchanged_only_if_exact(
    bridge: Bridge, java: Java, exact: bool
) -> None:
    source = Watched(lambda: itertools.count())
    recorder = java.new("interop.Recorder", 2)
    source.subscribe(bridge.from_jvm(recorder, exact=exact))
    assert java.call(recorder, "awaitElements", 2, MILLISECONDS)
    assert (source.requested == 2) is exact
    java.call(recorder, "request", 3)
    assert java.call(recorder, "awaitElements", 5, MILLISECONDS)
    if exact:
        assert source.requested == source.emitted == 5
    java.call(recorder, "cancel")
    assert source.cancelled.wait(DEADLINE)


def test_requests_of_a_java_processor_reach_python_unchanged(bridge: Bridge, java: Java) -> None:
    """The Python Publisher receives the requests of the processor, which requests one at a time."""
    source = Watched(lambda: iter(range(10)))
    processor = bridge.from_jvm(java.static("interop.Gated", "oneByOne"), exact=True)
    received = TestSubscriber(3, timeout=DEADLINE)
    processor.subscribe(received)
    source.subscribe(processor)
    assert received.await_count(3) == [0, 1, 2]
    assert source.requested == source.emitted == 3
    received.request(8)  # one more, because the source detects its end at the next request
    assert received.await_complete() == list(range(10))
    assert source.requested == 11


def test_stage_is_exact_on_both_sides(bridge: Bridge, java: Java) -> None:
    flux, watch = watched_flux(java)
    stage = bridge.to_jvm_stage(lambda stream: stream.map(lambda n: n * 2), exact=True)
    recorder = java.new("interop.Recorder", 2)
    java.static("interop.Functions", "subscribe", java.call(flux, "transform", stage), recorder)
    assert java.call(recorder, "awaitElements", 2, MILLISECONDS)
    assert java.call(watch, "requested") == 2
    java.call(recorder, "request", 1)
    assert java.call(recorder, "awaitElements", 3, MILLISECONDS)
    assert java.call(watch, "requested") == 3
    assert java.call(recorder, "text") == "2 4 6"
    java.call(recorder, "cancel")
    assert java.call(watch, "awaitCancelled", MILLISECONDS)
