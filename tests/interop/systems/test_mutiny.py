"""SmallRye Mutiny over the interfaces of java.util.concurrent.Flow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
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
    name="SmallRye Mutiny",
    packages=("io.smallrye.reactive:mutiny:3.3.0",),
    component="the library itself",
    source="`Multi` (a `Flow.Publisher`); `Uni` as a `Maybe`",
    sink="`Multi.createFrom().publisher`; a `Maybe` as a `Uni`",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, unless `exact=True`",
    cancel="`Subscription.cancel()`: `onCancellation()`",
    gateways=("jpype", "spark"),
)

INFRASTRUCTURE = "io.smallrye.mutiny.infrastructure.Infrastructure"


@pytest.fixture
def create(bridge: Bridge) -> JavaObject:
    created: JavaObject = bridge.java_class("io.smallrye.mutiny.Multi").createFrom()
    return created


@pytest.fixture(scope="module", autouse=True)
def check_that_pools_are_shut_down(connected: tuple[Bridge, Any], recipe: ModuleType) -> Iterator[None]:
    """Stop the threads of Mutiny, which would delay the exit of the process."""
    yield
    recipe.shut_down(connected[0])
    infrastructure = connected[0].java_class(INFRASTRUCTURE)
    assert infrastructure.getDefaultExecutor().isShutdown()
    assert infrastructure.getDefaultWorkerPool().isShutdown()


class TestMultiIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_uni_becomes_a_maybe_and_a_maybe_becomes_a_uni(self, bridge: Bridge, recipe: ModuleType) -> None:
        uni = bridge.java_class("io.smallrye.mutiny.Uni").createFrom()
        assert recipe.one(bridge, uni.item("one")) == "one"
        assert recipe.one(bridge, uni.nullItem()) is None
        created = bridge.java_class("io.smallrye.mutiny.Uni").createFrom().item("two")
        assert isinstance(bridge.from_jvm(created), pyrs.Maybe)
        as_uni: Any = bridge._references.java_handle(bridge.to_jvm(pyrs.just(3), java_type="io.smallrye.mutiny.Uni"))
        assert as_uni.subscribeAsCompletionStage().get() == 3
        assert bridge.from_jvm(uni.item("one").toMulti()).collect(timeout=DEADLINE) == ["one"]
        with pytest.raises(JavaError, match="no such row"):
            recipe.one(bridge, uni.failure(bridge.java_class("java.lang.IllegalStateException")("no such row")))

    def test_demand_is_bounded_and_cancel_is_forwarded(self, bridge: Bridge, create: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, create.range(1, ENDLESS), requested.append)
        check_demand_and_cancel(bridge.from_jvm(source), requested, cancelled)

    def test_exact_demand_is_forwarded_unchanged(self, bridge: Bridge, create: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, create.range(1, ENDLESS), requested.append)
        check_exact_demand(bridge.from_jvm(source, exact=True), requested, cancelled)

    def test_error_is_forwarded(self, bridge: Bridge, create: Any) -> None:
        received = TestSubscriber(10, timeout=DEADLINE)
        failure = java_failure(bridge)
        both = bridge.java_class("io.smallrye.mutiny.Multi").createBy().concatenating()
        bridge.from_jvm(both.streams(create.range(1, 3), create.failure(failure))).subscribe(received)
        check_java_failure(received.await_error())
        assert received.elements == [1, 2]


class TestPythonIntoMulti:
    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        pairs = recipe.as_multi(bridge, pyrs.range(1, 101)).group().intoLists().of(2)
        assert bridge.from_jvm(pairs).collect(timeout=DEADLINE) == [[n, n + 1] for n in range(1, 101, 2)]

    def test_demand_is_bounded(self, bridge: Bridge, recipe: ModuleType) -> None:
        """``collect`` requests Long.MAX_VALUE; ``emitOn`` requests eight elements at a time."""
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert len(recipe.one(bridge, recipe.as_multi(bridge, numbers).collect().asList())) == MANY
        assert max(requested) <= WINDOW
        assert sum(requested) <= MANY + WINDOW
        requested.clear()
        pool = bridge.java_class(INFRASTRUCTURE).getDefaultWorkerPool()
        limited = recipe.as_multi(bridge, numbers).emitOn(pool, 8).select().first(20)
        assert recipe.one(bridge, limited.collect().asList()) == list(range(20))
        assert sum(requested) <= 8 * FIRST_WINDOW

    def test_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        five = recipe.as_multi(bridge, source).select().first(5)
        assert recipe.one(bridge, five.collect().asList()) == [1, 2, 3, 4, 5]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= WINDOW

    def test_cancellable_cancels_the_publisher(self, bridge: Bridge, create: Any, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        never = bridge.to_jvm_callable(lambda number: create.nothing(), "java.util.function.Function")
        silent = recipe.as_multi(bridge, source).onItem().transformToMultiAndConcatenate(never)
        nothing = bridge.to_jvm_callable(lambda number: None, "java.util.function.Consumer")
        silent.subscribe().with_(nothing).cancel()
        assert source.cancelled.wait(DEADLINE)

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        failure = LookupError("no third")
        failing = recipe.as_multi(bridge, Watched(lambda: iter([1, 2]), failure))
        recovered = failing.onFailure().recoverWithItem(-1)
        assert bridge.from_jvm(recovered).collect(timeout=DEADLINE) == [1, 2, -1]
        with pytest.raises(LookupError, match="no third") as caught:
            recipe.one(bridge, failing.collect().asList())
        assert caught.value is failure


class TestPythonInTheMiddle:
    def test_stage_transforms_elements(self, bridge: Bridge, create: Any, recipe: ModuleType) -> None:
        requested: list[int] = []
        source, cancelled = recipe.watched(bridge, create.range(1, ENDLESS), requested.append)
        doubled = recipe.through_python(bridge, source, lambda stream: stream.map(lambda number: number * 2))
        assert recipe.one(bridge, doubled.select().first(4).collect().asList()) == [2, 4, 6, 8]
        assert cancelled.wait(DEADLINE)
        assert sum(requested) <= WINDOW

    def test_error_is_forwarded(self, bridge: Bridge, create: Any, recipe: ModuleType) -> None:
        source, cancelled = recipe.watched(bridge, create.range(1, ENDLESS), lambda n: None)
        failing = recipe.through_python(bridge, source, lambda stream: stream.map(no_third))
        check_failing_stage(bridge.from_jvm(failing), cancelled)
