"""Helidon 3, whose operators use java.util.concurrent.Flow."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.demand import (
    ENDLESS,
    FIRST_WINDOW,
    MANY,
    WINDOW,
    check_java_failure,
    java_failure,
)
from tests.interop.systems.system import System

SYSTEM = System(
    name="Helidon 3",
    packages=("io.helidon.common:helidon-common-reactive:3.2.11",),
    component="the library itself",
    source="`Multi` and `Single` (a `Flow.Publisher`), with elements of all types in the value table",
    sink="`Multi.create(Flow.Publisher)`",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, unless `exact=True`",
    cancel="`Subscription.cancel()`: `onCancel`",
    gateways=("jpype", "spark"),
    status="partial",
    reason="the operators `Multi` and `Single`. The web server, the web client and the database client of "
    "Helidon 3 are not tested; Helidon 4 has replaced Reactive Streams by virtual threads.",
)


@pytest.fixture
def multi(bridge: Bridge, recipe: ModuleType) -> Any:
    return bridge.java_class(recipe.MULTI)


class TestMultiIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_value_of_a_single_is_received(self, bridge: Bridge, multi: Any, recipe: ModuleType) -> None:
        assert recipe.one(bridge, bridge.java_class("io.helidon.common.reactive.Single").just("one")) == "one"
        assert recipe.one(bridge, multi.range(5, 3).first()) == 5

    @pytest.mark.parametrize("exact", [False, True])
    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, multi: Any, recipe: ModuleType, exact: bool
    ) -> None:
        emitted: list[int] = []
        source, cancelled = recipe.watched(bridge, multi.range(1, ENDLESS), emitted.append)
        received = TestSubscriber(timeout=DEADLINE)
        bridge.from_jvm(source, exact=exact).subscribe(received)
        received.await_subscription()
        assert emitted == []
        received.request(3)
        assert received.await_count(3) == [1, 2, 3]
        assert not cancelled.is_set()
        received.request(2)
        assert received.await_count(5) == [1, 2, 3, 4, 5]
        received.cancel()
        assert cancelled.wait(DEADLINE)
        assert received.elements == [1, 2, 3, 4, 5]
        assert not received.ended
        assert len(emitted) == 5 if exact else len(emitted) <= 2 * FIRST_WINDOW

    def test_error_is_forwarded(self, bridge: Bridge, multi: Any) -> None:
        received = TestSubscriber(10, timeout=DEADLINE)
        failing = multi.range(1, 2).onCompleteResumeWith(multi.error(java_failure(bridge)))
        bridge.from_jvm(failing).subscribe(received)
        check_java_failure(received.await_error())
        assert received.elements == [1, 2]


class TestPythonIntoMulti:
    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        gathered = recipe.as_multi(bridge, pyrs.range(1, 1001)).skip(10).collectList()
        assert recipe.one(bridge, gathered) == list(range(11, 1001))

    def test_demand_is_bounded(self, bridge: Bridge, recipe: ModuleType) -> None:
        """``collectList`` requests Long.MAX_VALUE; ``observeOn`` requests eight elements at a time."""
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert len(recipe.one(bridge, recipe.as_multi(bridge, numbers).collectList())) == MANY
        assert max(requested) <= WINDOW
        assert sum(requested) <= MANY + WINDOW
        requested.clear()
        pool = bridge.java_class("java.util.concurrent.ForkJoinPool").commonPool()
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(recipe.as_multi(bridge, numbers).observeOn(pool, 8, False), exact=True).subscribe(received)
        received.await_count(1)
        assert sum(requested) <= 16
        received.cancel()

    def test_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        assert recipe.one(bridge, recipe.as_multi(bridge, source).limit(5).collectList()) == [1, 2, 3, 4, 5]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= WINDOW

    @pytest.mark.parametrize("how", ["takeUntil", "Single.cancel"])
    def test_cancel_by_other_operators_is_forwarded(
        self, bridge: Bridge, multi: Any, recipe: ModuleType, how: str
    ) -> None:
        source = Watched(lambda: itertools.count(1))
        never = bridge.to_jvm_callable(lambda number: multi.never(), "java.util.function.Function")
        silent = recipe.as_multi(bridge, source).flatMap(never, 1, False, 1)
        if how == "takeUntil":
            assert bridge.from_jvm(silent.takeUntil(multi.singleton("now"))).collect(timeout=DEADLINE) == []
        else:
            silent.collectList().cancel()
        assert source.cancelled.wait(DEADLINE)

    def test_error_is_forwarded(self, bridge: Bridge, multi: Any, recipe: ModuleType) -> None:
        failure = LookupError("no third")
        failing = recipe.as_multi(bridge, Watched(lambda: iter([1, 2]), failure))
        resumed = failing.onErrorResumeWith(
            bridge.to_jvm_callable(lambda error: multi.singleton(str(error)), "java.util.function.Function")
        )
        assert bridge.from_jvm(resumed).collect(timeout=DEADLINE) == [
            1,
            2,
            "io.pyrs.PythonException: LookupError: no third",
        ]
        received = TestSubscriber(10, timeout=DEADLINE)
        bridge.from_jvm(failing.retry(1)).subscribe(received)
        assert received.await_error() is failure
        assert received.elements == [1, 2, 1, 2]
