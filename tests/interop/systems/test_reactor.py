"""Project Reactor, and its StepVerifier on a Python Publisher."""

from __future__ import annotations

import itertools
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
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
    name="Project Reactor",
    packages=("io.projectreactor:reactor-core:3.7.12",),
    test_packages=("io.projectreactor:reactor-test:3.7.12",),
    component="the library itself, and its StepVerifier",
    source="`Flux` and `Mono`, with elements of all types in the value table",
    sink="`Flux.from`, `transform`, `StepVerifier.create`",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, unless `exact=True`",
    cancel="`Subscription.cancel()`: `doOnCancel`, `doFinally`",
    gateways=("jpype", "spark"),
)


@pytest.fixture
def flux(bridge: Bridge) -> JavaClass:
    return bridge.java_class("reactor.core.publisher.Flux")


class TestFluxIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_mono_is_awaitable_and_a_stream(self, bridge: Bridge, recipe: ModuleType) -> None:
        mono = bridge.java_class("reactor.core.publisher.Mono")
        assert recipe.first(bridge, mono.just("one")) == "one"
        assert recipe.first(bridge, mono.empty()) is None
        with pytest.raises(JavaError, match="no such row"):
            recipe.first(bridge, mono.error(bridge.java_class("java.lang.IllegalStateException")("no such row")))

    def test_demand_is_bounded_and_cancel_is_forwarded(self, bridge: Bridge, flux: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flux.range(1, ENDLESS), requested.append)
        end: Future[str] = Future()
        source = source.doFinally(bridge.to_jvm_callable(end.set_result, "java.util.function.Consumer"))
        check_demand_and_cancel(bridge.from_jvm(source), requested, cancelled)
        assert end.result(DEADLINE) == "CANCEL"

    def test_exact_demand_is_forwarded_unchanged(self, bridge: Bridge, flux: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flux.range(1, ENDLESS), requested.append)
        check_exact_demand(bridge.from_jvm(source, exact=True), requested, cancelled)

    def test_error_is_forwarded(self, bridge: Bridge, flux: Any) -> None:
        received = TestSubscriber(10, timeout=DEADLINE)
        bridge.from_jvm(flux.range(1, 2).concatWith(flux.error(java_failure(bridge)))).subscribe(received)
        check_java_failure(received.await_error())
        assert received.elements == [1, 2]


class TestPythonIntoFlux:
    def test_elements_pass_through_reactor(self, bridge: Bridge, recipe: ModuleType) -> None:
        pairs = recipe.as_flux(bridge, pyrs.range(1, 101)).buffer(2)
        assert bridge.from_jvm(pairs).collect(timeout=DEADLINE) == [[n, n + 1] for n in range(1, 101, 2)]

    def test_demand_is_bounded(self, bridge: Bridge, recipe: ModuleType) -> None:
        """``count`` requests Long.MAX_VALUE; ``limitRate`` requests a few elements at a time."""
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert recipe.first(bridge, recipe.as_flux(bridge, numbers).count()) == MANY
        assert max(requested) <= WINDOW
        assert sum(requested) <= MANY + WINDOW
        requested.clear()
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        limited = recipe.as_flux(bridge, numbers).limitRate(8).take(20, False)
        assert recipe.first(bridge, limited.count()) == 20
        assert sum(requested) <= 8 * FIRST_WINDOW

    def test_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        taken = recipe.as_flux(bridge, source).take(5).collectList()
        assert recipe.first(bridge, taken) == [1, 2, 3, 4, 5]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= WINDOW

    @pytest.mark.parametrize("how", ["dispose", "timeout"])
    def test_cancel_by_other_operators_is_forwarded(self, bridge: Bridge, recipe: ModuleType, how: str) -> None:
        source = Watched(lambda: itertools.count(1))
        never = bridge.java_class("reactor.core.publisher.Mono").never()
        function = bridge.to_jvm_callable(lambda number: never, "java.util.function.Function")
        silent = recipe.as_flux(bridge, source).concatMap(function)
        if how == "dispose":
            silent.subscribe().dispose()
        else:
            soon = bridge.java_class("java.time.Duration").ofMillis(1)
            with pytest.raises(JavaTimeout):
                bridge.from_jvm(silent.timeout(soon)).collect(timeout=DEADLINE)
        assert source.cancelled.wait(DEADLINE)

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        failing = recipe.as_flux(bridge, Watched(lambda: iter([1, 2]), LookupError("no third")))
        resume = bridge.to_jvm_callable(lambda error: pyrs.just(str(error)), "java.util.function.Function")
        elements = bridge.from_jvm(failing.onErrorResume(resume)).collect(timeout=DEADLINE)
        assert elements == [1, 2, "io.pyrs.PythonException: LookupError: no third"]
        once = bridge.java_class("reactor.util.retry.Retry").max(1)
        failure = LookupError("no third")
        source = Watched(lambda: iter([1, 2]), failure)
        received = TestSubscriber(10, timeout=DEADLINE)
        bridge.from_jvm(recipe.as_flux(bridge, source).retry(1)).subscribe(received)
        assert received.await_error() is failure
        assert received.elements == [1, 2, 1, 2]
        with pytest.raises(JavaError, match="Retries exhausted: 1/1") as caught:
            bridge.from_jvm(recipe.as_flux(bridge, source).retryWhen(once)).collect(timeout=DEADLINE)
        assert caught.value.__cause__ is failure


class TestPythonInTheMiddle:
    def test_stage_transforms_elements(self, bridge: Bridge, flux: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, flux.range(1, ENDLESS), requested.append)
        doubled = recipe.through_python(bridge, source, lambda stream: stream.map(lambda number: number * 2))
        assert recipe.first(bridge, doubled.take(4).collectList()) == [2, 4, 6, 8]
        assert cancelled.wait(DEADLINE)
        assert sum(requested) <= WINDOW

    def test_stage_function_is_called_once_per_assembly(self, bridge: Bridge, flux: Any, recipe: ModuleType) -> None:
        assembled: list[pyrs.Stream[int]] = []

        def stage(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            assembled.append(stream)
            return stream

        through = recipe.through_python(bridge, flux.range(1, 3), stage)
        for _ in range(2):
            assert bridge.from_jvm(through).collect(timeout=DEADLINE) == [1, 2, 3]
        assert len(assembled) == 1

    def test_error_is_forwarded(self, bridge: Bridge, flux: Any, recipe: ModuleType) -> None:
        source, cancelled = recipe.watched(bridge, flux.range(1, ENDLESS), lambda n: None)
        failing = recipe.through_python(bridge, source, lambda stream: stream.map(no_third))
        check_failing_stage(bridge.from_jvm(failing), cancelled)


class TestStepVerifier:
    def test_step_verifier_accepts_a_conforming_publisher(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: iter(range(1, 6)))
        recipe.verify_counts(bridge, source, 5)
        assert source.emitted == 5

    def test_step_verifier_reports_an_unexpected_element(self, bridge: Bridge, recipe: ModuleType) -> None:
        with pytest.raises(JavaError, match="expected value: 3; actual value: 4") as caught:
            recipe.verify_counts(bridge, pyrs.just(1, 2, 4), 3)
        assert caught.value.java_class == "java.lang.AssertionError"

    def test_publisher_error_fails_the_verification(self, bridge: Bridge, recipe: ModuleType) -> None:
        with pytest.raises(JavaError, match="out of numbers"):
            recipe.verify_counts(bridge, Watched(lambda: iter([1]), LookupError("out of numbers")), 2)
