"""Conversion of Mono, Single, Maybe, Completable and CompletionStage to Maybe or Single, and back."""

from __future__ import annotations

from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from tests.interop.harness import DEADLINE
from tests.waiting import eventually

RX = "io.reactivex.rxjava3.core"
FLUX = "reactor.core.publisher.Flux"
MONO = "reactor.core.publisher.Mono"
STAGE = "java.util.concurrent.CompletionStage"


@pytest.mark.parametrize(
    ("java_type", "method", "arguments", "kind", "result"),
    [
        (MONO, "just", [5], pyrs.Maybe, 5),
        (MONO, "empty", [], pyrs.Maybe, None),
        (f"{RX}.Single", "just", [5], pyrs.Single, 5),
        (f"{RX}.Maybe", "just", [5], pyrs.Maybe, 5),
        (f"{RX}.Maybe", "empty", [], pyrs.Maybe, None),
        (f"{RX}.Completable", "complete", [], pyrs.Maybe, None),
        ("java.util.concurrent.CompletableFuture", "completedFuture", [5], pyrs.Maybe, 5),
    ],
)
def test_from_jvm_returns_a_maybe_or_a_single(
    bridge: Bridge, java_type: str, method: str, arguments: list[Any], kind: type[Any], result: Any
) -> None:
    java_object = getattr(bridge.java_class(java_type), method)(*arguments)
    stream = bridge.from_jvm(java_object)
    assert isinstance(stream, kind) and isinstance(stream, pyrs.Single) == (kind is pyrs.Single)
    assert stream.block(DEADLINE) == result
    assert stream.map(lambda n: n + 1).block(DEADLINE) == (None if result is None else result + 1)
    assert bridge._references.java_handle(stream) == java_object  # to_jvm returns the original


@pytest.mark.parametrize("java_type", [FLUX, MONO, f"{RX}.Single", f"{RX}.Maybe"])
def test_from_jvm_makes_no_call_for_a_reference(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, java_type: str
) -> None:
    """Java reports the kind with the handle. An object of the gateway needs three calls."""
    reference = bridge.java_class(java_type).just(5)
    java_object = reference.java
    calls: list[str] = []
    control = bridge._references.control
    call = control._call
    monkeypatch.setattr(control, "_call", lambda method, *args: calls.append(method) or call(method, *args))
    stream = bridge.from_jvm(reference)
    assert calls == []
    assert stream.collect(timeout=DEADLINE) == [5] and calls == []
    assert bridge.from_jvm(java_object).collect(timeout=DEADLINE) == [5]
    assert calls == ["unwrap", "kind", "export"]


@pytest.mark.parametrize(
    ("java_type", "kind"), [(FLUX, pyrs.Stream), (MONO, pyrs.Maybe), (f"{RX}.Single", pyrs.Single)]
)
def test_element_that_is_a_publisher_has_its_kind(bridge: Bridge, java_type: str, kind: type[pyrs.Stream[int]]) -> None:
    inner = bridge.java_class(java_type).just(5)
    (element,) = bridge.from_jvm(bridge.java_class(FLUX).just(inner)).collect(timeout=DEADLINE)
    assert type(element) is kind and element.collect(timeout=DEADLINE) == [5]
    again = bridge.from_jvm(element, exact=True)
    assert type(again) is kind and again.source.exact and again.collect(timeout=DEADLINE) == [5]


def test_stage_receives_a_mono_as_a_stream(bridge: Bridge) -> None:
    """The result of a stage may have several elements, but the operators of a Maybe emit at most one."""
    seen: list[type] = []

    def twice(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
        seen.append(type(stream))
        return stream.flat_map(lambda n: pyrs.just(n, n))

    applied = bridge.to_jvm_stage(twice).apply(bridge.java_class(MONO).just(5).java)
    assert bridge.from_jvm(applied).collect(timeout=DEADLINE) == [5, 5]
    assert seen == [pyrs.Stream]


@pytest.mark.parametrize(
    ("java_type", "create"),
    [
        (MONO, lambda library: library.just(5)),
        (f"{RX}.Single", lambda library: library.just(5)),
        (f"{RX}.Maybe", lambda library: library.just(5)),
        ("java.util.concurrent.CompletableFuture", lambda library: library.completedFuture(5)),
        ("io.smallrye.mutiny.Uni", lambda library: library.createFrom().item(5)),
        ("io.smallrye.mutiny.Multi", lambda library: library.createFrom().item(5)),
    ],
)
def test_stage_of_a_flux_may_return_another_type_of_java(bridge: Bridge, java_type: str, create: Any) -> None:
    """Each is a Publisher in Python, but only Mono is one that ``transform`` takes."""
    one = bridge.from_jvm(create(bridge.java_class(java_type)))
    for result in (one, pyrs.Stream(one)):
        flux = bridge.java_class(FLUX).range(1, 3).transform(bridge.to_jvm_stage(lambda stream, result=result: result))
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [5]


@pytest.mark.parametrize("java_type", [MONO, f"{RX}.Single", f"{RX}.Maybe", f"{RX}.Completable"])
def test_from_jvm_forwards_the_error(bridge: Bridge, java_type: str) -> None:
    failed = bridge.java_class(java_type).error(bridge.java_class("java.lang.IllegalStateException")("planned"))
    with pytest.raises(JavaError, match="planned"):
        bridge.from_jvm(failed).block(DEADLINE)


def test_from_jvm_of_a_flux_is_a_stream(bridge: Bridge) -> None:
    stream = bridge.from_jvm(bridge.java_class("reactor.core.publisher.Flux").range(1, 3))
    assert type(stream) is pyrs.Stream and stream.collect() == [1, 2, 3]


@pytest.mark.parametrize(
    ("java_type", "read"),
    [
        (MONO, lambda one: one.block()),
        (f"{RX}.Single", lambda one: one.blockingGet()),
        (f"{RX}.Maybe", lambda one: one.blockingGet()),
        (STAGE, lambda one: one.toCompletableFuture().get()),
    ],
)
def test_to_jvm_converts_a_single(bridge: Bridge, java_type: str, read: Any) -> None:
    converted = bridge._references.java_handle(bridge.to_jvm(pyrs.range(5).count(), java_type=java_type))
    assert converted is not None and bridge.java_class(java_type).class_.isInstance(converted)
    assert read(converted) == 5


@pytest.mark.parametrize("java_type", [MONO, f"{RX}.Maybe"])
def test_to_jvm_converts_an_empty_maybe(bridge: Bridge, java_type: str) -> None:
    converted: Any = bridge._references.java_handle(bridge.to_jvm(pyrs.empty(), java_type=java_type))
    assert (converted.block() if java_type == MONO else converted.blockingGet()) is None


def test_to_jvm_converts_to_completable_and_forwards_failures(bridge: Bridge) -> None:
    completable: Any = bridge._references.java_handle(bridge.to_jvm(pyrs.just(1), java_type=f"{RX}.Completable"))
    assert completable.blockingAwait() is None
    mono: Any = bridge._references.java_handle(bridge.to_jvm(pyrs.just("x").map(int), java_type=MONO))
    with pytest.raises(ValueError, match="invalid literal"):
        mono.block()


@pytest.mark.parametrize("java_type", ["reactor.core.publisher.Flux", f"{RX}.Flowable"])
def test_to_jvm_converts_a_stream(bridge: Bridge, java_type: str) -> None:
    converted: Any = bridge._references.java_handle(bridge.to_jvm(pyrs.range(5), java_type=java_type))
    count = converted.count()
    assert (count.block() if java_type.endswith("Flux") else count.blockingGet()) == 5


@pytest.mark.parametrize("java_type", [FLUX, f"{RX}.Flowable", "io.smallrye.mutiny.Multi"])
@pytest.mark.parametrize("source", [FLUX, f"{RX}.Flowable", "io.smallrye.mutiny.Multi"])
def test_to_jvm_converts_a_stream_of_another_family(bridge: Bridge, source: str, java_type: str) -> None:
    """Mutiny has the interfaces of Flow, the others have those of org.reactivestreams."""
    library = bridge.java_class(source)
    stream = bridge.from_jvm(library.createFrom().items(1, 2) if source.endswith("Multi") else library.just(1, 2))
    converted = bridge.to_jvm(stream, java_type=java_type)
    assert bridge.java_class(java_type).class_.isInstance(converted)
    assert bridge.from_jvm(converted).collect(timeout=DEADLINE) == [1, 2]


def test_to_jvm_converts_a_single_value_of_another_family(bridge: Bridge) -> None:
    uni = bridge.from_jvm(bridge.java_class("io.smallrye.mutiny.Uni").createFrom().item(1))
    mono = bridge.from_jvm(bridge.java_class(MONO).just(2))
    assert bridge.from_jvm(bridge.to_jvm(uni, java_type=MONO)).block(DEADLINE) == 1
    assert bridge.from_jvm(bridge.to_jvm(uni, java_type=STAGE)).result(DEADLINE) == 1
    assert bridge.from_jvm(bridge.to_jvm(mono, java_type="io.smallrye.mutiny.Uni")).block(DEADLINE) == 2


def test_to_jvm_converts_between_the_libraries(bridge: Bridge) -> None:
    single = bridge.from_jvm(bridge.java_class(f"{RX}.Single").just(7))
    mono: Any = bridge._references.java_handle(bridge.to_jvm(single, java_type=MONO))
    assert mono.block() == 7
    stage = bridge.from_jvm(bridge.java_class("java.util.concurrent.CompletableFuture").completedFuture(8))
    mono = bridge._references.java_handle(bridge.to_jvm(stage, java_type=MONO))
    assert mono.block() == 8
    again: Any = bridge._references.java_handle(bridge.to_jvm(bridge.from_jvm(mono), java_type=MONO))
    assert again == mono


def test_cancelled_future_cancels_the_stream(bridge: Bridge) -> None:
    cancelled: list[bool] = []
    never = pyrs.Maybe(pyrs.never().do_on_cancel(lambda: cancelled.append(True)))
    future: Any = bridge._references.java_handle(bridge.to_jvm(never, java_type=STAGE))
    assert future.cancel(True)
    eventually(lambda: cancelled)


def test_to_jvm_rejects_other_types(bridge: Bridge) -> None:
    with pytest.raises(TypeError, match=r"takes a Maybe, not Stream .stream\.first"):
        bridge.to_jvm(pyrs.range(3), java_type=MONO)
    with pytest.raises(TypeError, match="takes a Single, not Maybe"):
        bridge.to_jvm(pyrs.empty(), java_type=f"{RX}.Single")
    with pytest.raises(ValueError, match="java_type must be one of"):
        bridge.to_jvm(pyrs.just(3), java_type="java.lang.String")
    with pytest.raises(TypeError, match="java_type must be the name"):
        bridge.to_jvm(pyrs.just(3), java_type=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="StringBuilder is none of them"):
        bridge.from_jvm(bridge.java_class("java.lang.StringBuilder")())
