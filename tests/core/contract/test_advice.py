"""Errors for names and idioms of other libraries suggest the call of pyrs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE


@pytest.mark.parametrize(
    ("mistake", "advice"),
    [
        (lambda s: s.flatMap(pyrs.just), "use flat_map()"),
        (lambda s: s.doOnNext(print), "use do_on_next()"),
        (lambda s: s.pipe(print), "call operators as methods"),
        (lambda s: s.block(), "use collect() for all elements"),
        (lambda s: s.observe_on(print), "use publish_on()"),
        (lambda s: s.where(bool), "use filter()"),
        (lambda s: s.first_or_default(0), "use first(default=...)"),
        (lambda s: s.foreach(print), "use for_each()"),
        (lambda s: s.chunked(3), "use buffer(count)"),
        (lambda s: s.limit(3), "use take()"),
        (lambda s: s.sorted(), "use to_list().map(sorted)"),
        (lambda s: s.peek(print), "use do_on_next()"),
        (lambda s: s.emit(1), "use a sink of pyrs.sinks"),
        (lambda s: s.toDF(), "use pyrs.spark.for_each_frame() or read_stream()"),
        (lambda s: s.cancel(), "use the Subscription that subscribe(on_next=...) returns"),
        (lambda s: s.parallel(2).collect(), "use sequential().collect"),
        (lambda s: s.subscribe(on_next=print, request=0).dispose(), "no dispose(): use cancel()"),
        (lambda s: s.subscribe(on_next=print, request=0).unsubscribe(), "no unsubscribe(): use cancel()"),
    ],
)
def test_error_for_a_foreign_method_name_suggests_the_method_of_pyrs(
    mistake: Callable[[Any], object], advice: str
) -> None:
    with pytest.raises(AttributeError) as raised:
        mistake(pyrs.just(1, 2))
    assert advice in str(raised.value)


def test_unknown_method_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"'Stream' object has no attribute 'frobnicate'$"):
        pyrs.just(1, 2).frobnicate  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(pyrs.just(1), "_repr_markdown_")


def test_error_for_a_function_as_subscriber_suggests_on_next() -> None:
    with pytest.raises(TypeError, match=r"subscribe\(on_next=print\)"):
        pyrs.just(1).subscribe(print)  # type: ignore[call-overload]


def test_zip_takes_a_list_and_refuses_a_string() -> None:
    assert pyrs.range(2).zip(["a", "b"]).collect() == [(0, "a"), (1, "b")]
    with pytest.raises(TypeError, match=r"pyrs\.just for a stream of the whole value, or pyrs\.from_iterable"):
        pyrs.range(2).zip("ab")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("on_next", "use next()"),
        ("onNext", "use next()"),
        ("emit", "use next()"),
        ("on_error", "use error()"),
        ("on_completed", "use complete()"),
        ("is_cancelled", "use cancelled"),
    ],
)
def test_error_for_an_unknown_emitter_method_suggests_the_right_one(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as raised:
        pyrs.create(lambda emitter: getattr(emitter, name)(1)).collect(timeout=DEADLINE)
    assert str(raised.value) == f"'Emitter' object has no attribute {name!r}: {advice}"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("on_next", "use emit() or try_emit()"),
        ("tryEmitNext", "use try_emit()"),
        ("error", "use emit_error() or try_emit_error()"),
        ("onComplete", "use emit_complete() or try_emit_complete()"),
        ("map", "use sink.stream.map"),
        ("asFlux", "use stream"),
    ],
)
def test_error_for_an_unknown_sink_method_suggests_the_right_one(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(pyrs.sinks.multicast(), name)
    assert str(raised.value).endswith(f" object has no attribute {name!r}: {advice}")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ops", "operators are methods"),
        ("of", "use just()"),
        ("Flux", "use Stream"),
        ("jvm", "import pyrs.jvm first"),
        ("telemetry", "import pyrs.telemetry first"),
        ("fromIterable", r"use from_iterable\(\)"),
        ("flatMap", r"operators are methods of a Stream, such as stream\.flat_map\(\)"),
        ("connect", "import pyrs.jvm"),
        ("from_dataframe", "import pyrs.spark"),
    ],
)
def test_error_for_an_unknown_package_attribute_suggests_the_right_one(
    name: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pyrs, name, raising=False)
    with pytest.raises(AttributeError, match=advice):
        getattr(pyrs, name)


def test_unknown_name_of_the_package_gets_no_advice() -> None:
    for name in ("frobnicate", "_map", "__wrapped__"):
        with pytest.raises(AttributeError, match=rf"^module 'pyrs' has no attribute '{name}'$"):
            getattr(pyrs, name)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (pyrs.sinks, "BehaviorSubject", r": use replay\(1\)$"),
        (pyrs.sinks, "frobnicate", r"'frobnicate'$"),
        (pyrs.schedulers, "boundedElastic", r": use default\(\) or pool\(\)$"),
        (pyrs.schedulers, "frobnicate", r"'frobnicate'$"),
    ],
)
def test_error_for_an_unknown_module_attribute_suggests_the_right_one(module: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(module, name)


@pytest.mark.parametrize(
    ("mistake", "advice"),
    [
        (lambda s: s.publish_on(pyrs.schedulers.default), r": call it, default\(\)$"),
        (lambda s: s.subscribe_on(pyrs.schedulers.default), r": call it, default\(\)$"),
        (lambda s: pyrs.from_iterable(lambda: [1]), r"not function: call it, or use defer or from_callable$"),
        (lambda s: pyrs.from_async_iterable(numbers), "not function: call it$"),
        (lambda s: pyrs.from_async_iterable([1]), "not list: use from_iterable$"),
        (lambda s: pyrs.from_callable(fetch), "from_awaitable creates a stream of the result"),
        (lambda s: pyrs.create(letters), r"function must call emitter\.next\(element\), and must not yield"),
        (lambda s: pyrs.create(later), r"function must call emitter\.next\(element\), and must not yield"),
        (lambda s: pyrs.sinks.multicast().subscribe(on_next=print), r"use sink\.stream\.subscribe\(on_next=\.\.\.\)"),
    ],
)
def test_error_for_a_wrong_argument_suggests_the_right_one(mistake: Callable[[Any], object], advice: str) -> None:
    with pytest.raises(TypeError, match=advice):
        mistake(pyrs.just(1, 2))


async def fetch() -> int:
    return 1


async def numbers() -> Any:
    yield 1


def letters(emitter: pyrs.Emitter[str]) -> Any:
    yield "a"


async def later(emitter: pyrs.Emitter[str]) -> Any:
    yield "a"


@pytest.mark.parametrize("loop_or_pool", ["loop", "pool"])
def test_error_for_a_foreign_scheduler_suggests_the_one_of_pyrs(loop_or_pool: str) -> None:
    if loop_or_pool == "loop":
        loop = asyncio.new_event_loop()
        with pytest.raises(TypeError, match=r"use schedulers\.asyncio\(loop\)$"):
            pyrs.just(1).publish_on(loop)  # type: ignore[arg-type]
        loop.close()
    else:
        executor = concurrent.futures.ThreadPoolExecutor()
        with executor, pytest.raises(TypeError, match=r"use schedulers\.pool\(max_threads\)$"):
            pyrs.just(1).publish_on(executor)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["map", "first", "retry", "debounce", "collect", "buffer"])
def test_argument_errors_of_python_name_the_class_stream(name: str) -> None:
    """The message names ``Stream``, not the private base class that defines the method."""
    method = getattr(pyrs.Stream, name)
    with pytest.raises(TypeError, match=rf"^Stream\.{name}\(\)"):
        method(pyrs.just(1), nonsense=1)
    assert pickle.loads(pickle.dumps(method)) is method


def test_operator_functions_are_methods() -> None:
    with pytest.raises(AttributeError, match=r"operators are methods of a Stream, such as stream\.map"):
        pyrs.operators.map  # type: ignore[attr-defined]  # noqa: B018


def test_error_for_await_of_a_stream_suggests_the_alternatives() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match=r"a Stream cannot be awaited.*await stream\.to_list\(\)"):
            await pyrs.range(3)  # type: ignore[misc]
        assert await pyrs.range(3).count() == 3

    asyncio.run(main())
    with pytest.raises(TypeError, match="awaitable must be an awaitable or a function that returns one, not Stream"):
        pyrs.from_awaitable(pyrs.range(3))  # type: ignore[arg-type]
    assert pyrs.from_awaitable(pyrs.range(3).count()).block() == 3


def test_overflow_error_of_interval_suggests_the_strategies() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    pyrs.interval(0.001).subscribe(subscriber)
    error = subscriber.await_error(pyrs.PyrsError, DEADLINE)
    assert "overflow='drop' skips such ticks" in str(error)
