"""RxJava 3."""

from __future__ import annotations

import itertools
import threading
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge, JavaClass
from pyrs.jvm.values.errors import JavaTimeout
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.demand import (
    ENDLESS,
    FIRST_WINDOW,
    MANY,
    WINDOW,
    check_demand_and_cancel,
    check_exact_demand,
    check_failing_stage,
    check_java_failure,
    java_failure,
    no_third,
)
from tests.interop.systems.system import System

SYSTEM = System(
    name="RxJava 3",
    packages=("io.reactivex.rxjava3:rxjava:3.1.12",),
    component="the library itself",
    source="`Flowable` and types with `toFlowable`, with elements of all types in the value table",
    sink="`Flowable.fromPublisher`, `compose`",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, unless `exact=True`",
    cancel="`Subscription.cancel()`: `doOnCancel`, `doFinally`",
    gateways=("jpype", "spark"),
)

CORE = "io.reactivex.rxjava3.core"


@pytest.fixture
def flowable(bridge: Bridge) -> JavaClass:
    return bridge.java_class(f"{CORE}.Flowable")


class TestFlowableIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_single_and_maybe_are_awaitable(self, bridge: Bridge, recipe: ModuleType) -> None:
        assert recipe.one(bridge, bridge.java_class(f"{CORE}.Single").just("one")) == "one"
        assert recipe.one(bridge, bridge.java_class(f"{CORE}.Maybe").empty()) is None

    def test_observable_drops_elements_without_demand(self, bridge: Bridge, recipe: ModuleType) -> None:
        ended = threading.Event()
        observable = bridge.java_class(f"{CORE}.Observable").range(1, MANY)
        observable = observable.doOnComplete(bridge.to_jvm_callable(ended.set, f"{recipe.FUNCTIONS}.Action"))
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.observed(bridge, observable).subscribe(received)
        received.await_count(1)
        assert ended.wait(DEADLINE), "the Observable waited for Python"
        received.request(pyrs.UNBOUNDED)
        elements = received.await_complete()
        assert elements == sorted(elements)
        assert elements[-1] == MANY
        assert len(elements) <= 2 * FIRST_WINDOW

    def test_demand_is_bounded_and_cancel_is_forwarded(self, bridge: Bridge, flowable: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flowable.range(1, ENDLESS), requested.append)
        ended = threading.Event()
        source = source.doFinally(bridge.to_jvm_callable(ended.set, f"{recipe.FUNCTIONS}.Action"))
        check_demand_and_cancel(bridge.from_jvm(source), requested, cancelled)
        assert ended.wait(DEADLINE)

    def test_exact_demand_is_forwarded_unchanged(self, bridge: Bridge, flowable: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flowable.range(1, ENDLESS), requested.append)
        check_exact_demand(bridge.from_jvm(source, exact=True), requested, cancelled)

    def test_error_is_forwarded(self, bridge: Bridge, flowable: Any) -> None:
        received = TestSubscriber(10, timeout=DEADLINE)
        bridge.from_jvm(flowable.range(1, 2).concatWith(flowable.error(java_failure(bridge)))).subscribe(received)
        check_java_failure(received.await_error())
        assert received.elements == [1, 2]


class TestPythonIntoFlowable:
    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        pairs = recipe.as_flowable(bridge, pyrs.range(1, 101)).buffer(2)
        assert bridge.from_jvm(pairs).collect(timeout=DEADLINE) == [[n, n + 1] for n in range(1, 101, 2)]

    def test_demand_is_bounded(self, bridge: Bridge, recipe: ModuleType) -> None:
        """``count`` requests Long.MAX_VALUE; ``rebatchRequests`` requests a few elements at a time."""
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert recipe.one(bridge, recipe.as_flowable(bridge, numbers).count()) == MANY
        assert max(requested) <= WINDOW
        assert sum(requested) <= MANY + WINDOW
        requested.clear()
        limited = recipe.as_flowable(bridge, numbers).rebatchRequests(8).take(20)
        assert recipe.one(bridge, limited.count()) == 20
        assert sum(requested) <= 8 * FIRST_WINDOW

    def test_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        assert recipe.one(bridge, recipe.as_flowable(bridge, source).take(5).toList()) == [1, 2, 3, 4, 5]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= WINDOW

    @pytest.mark.parametrize("how", ["dispose", "timeout"])
    def test_cancel_by_other_operators_is_forwarded(self, bridge: Bridge, recipe: ModuleType, how: str) -> None:
        source = Watched(lambda: itertools.count(1))
        flowable = recipe.as_flowable(bridge, source)
        never = bridge.java_class(f"{CORE}.Flowable").never()
        silent = flowable.concatMap(bridge.to_jvm_callable(lambda number: never, f"{recipe.FUNCTIONS}.Function"))
        if how == "dispose":
            silent.subscribe().dispose()
        else:
            milliseconds = bridge.java_class("java.util.concurrent.TimeUnit").MILLISECONDS
            with pytest.raises(JavaTimeout):
                bridge.from_jvm(silent.timeout(1, milliseconds)).collect(timeout=DEADLINE)
        assert source.cancelled.wait(DEADLINE)

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        failure = LookupError("no third")
        failing = recipe.as_flowable(bridge, Watched(lambda: iter([1, 2]), failure))
        assert bridge.from_jvm(failing.onErrorReturnItem(-1)).collect(timeout=DEADLINE) == [1, 2, -1]
        received = TestSubscriber(10, timeout=DEADLINE)
        bridge.from_jvm(failing.retry(1)).subscribe(received)
        assert received.await_error() is failure
        assert received.elements == [1, 2, 1, 2]
        resume = bridge.to_jvm_callable(lambda error: pyrs.just(str(error)), f"{recipe.FUNCTIONS}.Function")
        elements = bridge.from_jvm(failing.onErrorResumeNext(resume)).collect(timeout=DEADLINE)
        assert elements == [1, 2, "io.pyrs.PythonException: LookupError: no third"]

    def test_observe_on_keeps_elements_before_an_error(self, bridge: Bridge, recipe: ModuleType) -> None:
        """This needs ``delayError``: without it RxJava drops the buffered elements."""
        failing = recipe.as_flowable(bridge, Watched(lambda: iter(range(1000)), LookupError("no more")))
        io = bridge.java_class("io.reactivex.rxjava3.schedulers.Schedulers").io()
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(failing.observeOn(io, True)).subscribe(received)
        assert str(received.await_error()) == "no more"
        assert received.elements == list(range(1000))


class TestPythonInTheMiddle:
    def test_stage_transforms_elements(self, bridge: Bridge, flowable: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flowable.range(1, ENDLESS), requested.append)
        doubled = recipe.through_python(bridge, source, lambda stream: stream.map(lambda number: number * 2))
        assert recipe.one(bridge, doubled.take(4).toList()) == [2, 4, 6, 8]
        assert cancelled.wait(DEADLINE)
        assert sum(requested) <= WINDOW

    def test_error_is_forwarded(self, bridge: Bridge, flowable: Any, recipe: ModuleType) -> None:
        source, cancelled = recipe.watched(bridge, flowable.range(1, ENDLESS), lambda n: None)
        failing = recipe.through_python(bridge, source, lambda stream: stream.map(no_third))
        check_failing_stage(bridge.from_jvm(failing), cancelled)
