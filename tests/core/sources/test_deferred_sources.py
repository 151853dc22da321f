"""defer, using, from_callable and generate: sources that call a function for each Subscriber."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar

import pytest

import pyrs
from pyrs.testing import TestSubscriber
from tests.core.conftest import Dropped
from tests.waiting import DEADLINE


class Resource:
    """A context manager that records its calls."""

    def __init__(self, exit_error: Exception | None = None) -> None:
        self.calls: list[str] = []
        self.exit_error = exit_error

    def __enter__(self) -> Resource:
        self.calls.append("enter")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, stack: object) -> bool:
        self.calls.append("exit" if error is None else f"exit {error}")
        if self.exit_error is not None:
            raise self.exit_error
        return True  # using must not suppress the error


def failing(message: str = "no") -> pyrs.Stream[int]:
    return pyrs.error(ValueError(message))


class TestDefer:
    def test_factory_is_called_once_per_subscriber(self) -> None:
        calls: list[int] = []

        def factory() -> pyrs.Stream[int]:
            calls.append(1)
            return pyrs.just(len(calls))

        stream = pyrs.defer(factory)
        assert calls == []
        assert (stream.collect(), stream.map(str).collect()) == ([1], ["2"])

    def test_demand_is_forwarded(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.defer(lambda: pyrs.range(5)).subscribe(subscriber)
        subscriber.request(2)
        subscriber.assert_elements(0, 1).assert_live()

    def test_exception_of_the_factory_signals_on_error_with_a_note(self) -> None:
        def factory() -> pyrs.Stream[int]:
            raise ValueError("no source")

        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.defer(factory).subscribe(subscriber)
        error = subscriber.assert_error(ValueError)
        assert "in defer(factory)" in error.__notes__[0]
        assert "test_deferred_sources.py" in error.__notes__[0]

    def test_result_that_is_no_publisher_signals_type_error(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.defer(lambda: [1, 2]).subscribe(subscriber)  # type: ignore[arg-type, return-value]
        assert "the result of factory must be a Publisher" in str(subscriber.assert_error(TypeError))

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="factory"):
            pyrs.defer(pyrs.just(1))  # type: ignore[arg-type]

    def test_repr_shows_the_call(self) -> None:
        assert repr(pyrs.defer(failing).map(str)) == "defer(failing).map(str)"


class TestUsing:
    def test_resource_is_closed_before_on_complete(self) -> None:
        resource = Resource()
        seen: list[str] = []
        pyrs.using(lambda: resource, lambda _: pyrs.range(2)).subscribe(
            on_next=lambda n: seen.append(f"{n} {resource.calls[-1]}"),
            on_complete=lambda: seen.append(resource.calls[-1]),
        )
        assert seen == ["0 enter", "1 enter", "exit"]

    def test_each_subscriber_has_its_own_resource(self) -> None:
        resources: list[Resource] = []

        def make() -> Resource:
            resources.append(Resource())
            return resources[-1]

        stream = pyrs.using(make, lambda _: pyrs.just(1))
        assert resources == []
        assert stream.collect() + stream.collect() == [1, 1]
        assert [each.calls for each in resources] == [["enter", "exit"]] * 2

    def test_error_is_passed_to_exit_and_not_suppressed(self) -> None:
        resource = Resource()
        with pytest.raises(ValueError, match="no"):
            pyrs.using(lambda: resource, lambda _: failing()).collect()
        assert resource.calls == ["enter", "exit no"]

    def test_cancel_closes_the_resource(self) -> None:
        resource = Resource()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.using(lambda: resource, lambda _: pyrs.range(10)).subscribe(subscriber)
        subscriber.assert_elements(0)
        assert resource.calls == ["enter"]
        subscriber.cancel()
        subscriber.cancel()
        assert resource.calls == ["enter", "exit"]

    def test_cancel_while_the_resource_is_opened_closes_it(self) -> None:
        resource = Resource()
        subscriber: TestSubscriber[int] = TestSubscriber()

        def use(_: Resource) -> pyrs.Stream[int]:
            subscriber.cancel()
            return pyrs.range(3)

        pyrs.using(lambda: resource, use).subscribe(subscriber)
        assert resource.calls == ["enter", "exit"]
        subscriber.assert_elements().assert_live()

    def test_exception_of_use_closes_the_resource(self) -> None:
        resource = Resource()

        def use(_: Resource) -> pyrs.Stream[int]:
            raise KeyError("use")

        with pytest.raises(KeyError) as caught:
            pyrs.using(lambda: resource, use).collect()
        assert resource.calls == ["enter", "exit 'use'"]
        assert "in using(" in caught.value.__notes__[0]

    def test_exception_of_the_resource_factory_signals_on_error(self) -> None:
        def make() -> Resource:
            raise OSError("cannot open")

        with pytest.raises(OSError, match="cannot open"):
            pyrs.using(make, lambda _: pyrs.just(1)).collect()

    def test_exception_of_exit_on_completion_signals_on_error(self) -> None:
        resource = Resource(OSError("cannot close"))
        with pytest.raises(OSError, match="cannot close"):
            pyrs.using(lambda: resource, lambda _: pyrs.just(1)).collect()
        assert resource.calls == ["enter", "exit"]

    def test_exception_of_exit_after_error_or_cancel_is_dropped(self, dropped: Dropped) -> None:
        resource = Resource(OSError("cannot close"))
        with pytest.raises(ValueError, match="no"):
            pyrs.using(lambda: resource, lambda _: failing()).collect()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.using(lambda: resource, lambda _: pyrs.just(1)).subscribe(subscriber)
        subscriber.cancel()
        assert [str(error) for error in dropped.take()] == ["cannot close"] * 2

    def test_resource_is_closed_once_if_completion_and_cancel_race(self) -> None:
        for _ in range(300):
            resource = Resource()
            barrier = threading.Barrier(2)
            subscriber: TestSubscriber[int] = TestSubscriber()
            pyrs.using(lambda resource=resource: resource, lambda _: pyrs.just(1)).subscribe(subscriber)  # type: ignore[misc]

            def cancel(subscriber: TestSubscriber[int] = subscriber, barrier: threading.Barrier = barrier) -> None:
                barrier.wait(DEADLINE)
                subscriber.cancel()

            thread = threading.Thread(target=cancel)
            thread.start()
            barrier.wait(DEADLINE)
            subscriber.request(1)
            thread.join(DEADLINE)
            assert resource.calls == ["enter", "exit"]

    def test_exit_after_a_cancel_sees_the_context_of_subscribe(self) -> None:
        user = ContextVar("user", default="nobody")
        seen: list[str] = []

        @contextmanager
        def opened() -> Iterator[None]:
            yield
            seen.append(user.get())

        def start() -> pyrs.Subscription:
            user.set("ada")
            return pyrs.using(opened, lambda _: pyrs.never()).subscribe(on_next=print)

        Context().run(start).cancel()
        assert seen == ["ada"]

    @pytest.mark.parametrize("cancels", [False, True])
    def test_exit_in_the_context_of_subscribe_resets_the_variables_that_enter_set(self, cancels: bool) -> None:
        user, span = ContextVar("user", default="nobody"), ContextVar("span", default="none")
        seen: list[str] = []

        @contextmanager
        def opened() -> Iterator[None]:
            token = span.set("child")
            yield
            seen.append(span.get())
            span.reset(token)

        def run() -> None:
            user.set("ada")
            stream = pyrs.using(opened, lambda _: pyrs.never() if cancels else pyrs.range(2))
            subscription = stream.subscribe(on_error=seen.append)  # type: ignore[arg-type]
            if cancels:
                subscription.cancel()
            seen.append(span.get())

        Context().run(run)
        assert seen == ["child", "none"]

    def test_exit_after_a_cancel_elsewhere_sees_the_variables_that_enter_set(self) -> None:
        span = ContextVar("span", default="none")
        seen: list[str] = []

        @contextmanager
        def opened() -> Iterator[None]:
            span.set("child")
            yield
            seen.append(span.get())

        subscriber: TestSubscriber[int] = TestSubscriber()
        Context().run(pyrs.using(opened, lambda _: pyrs.never()).subscribe, subscriber)
        subscriber.cancel()
        assert seen == ["child"]

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RecursionError])
    def test_exit_of_the_resource_receives_an_interrupt_of_subscribe(self, error: type[BaseException]) -> None:
        resource = Resource()

        class Leaving(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise error("left")

        with pytest.raises(error):
            pyrs.using(lambda: resource, lambda _: Leaving()).subscribe(TestSubscriber())
        assert resource.calls == ["enter", "exit left"]

    def test_using_accepts_a_generator_based_context_manager(self) -> None:
        calls: list[str] = []

        @contextmanager
        def opened() -> Iterator[list[int]]:
            calls.append("open")
            yield [1, 2]
            calls.append("close")

        assert pyrs.using(opened, pyrs.from_iterable).collect() == [1, 2]
        assert calls == ["open", "close"]

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="resource"):
            pyrs.using(Resource(), failing)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="use"):
            pyrs.using(Resource, None)  # type: ignore[arg-type]


class TestFromCallable:
    def test_function_is_called_on_demand_and_completes_with_its_element(self) -> None:
        calls: list[int] = []
        subscriber: TestSubscriber[None] = TestSubscriber()
        stream = pyrs.from_callable(lambda: calls.append(1) or "x")  # type: ignore[func-returns-value]
        stream.subscribe(subscriber)
        assert calls == []
        subscriber.request(1)
        subscriber.assert_elements("x").assert_complete()

    def test_exception_and_none_of_the_function_signal_on_error(self) -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            pyrs.from_callable(lambda: 1 // 0).block()
        assert "in from_callable(<lambda>)" in caught.value.__notes__[0]
        with pytest.raises(pyrs.NullSignal):
            pyrs.from_callable(lambda: None).block()

    def test_repr_shows_the_call(self) -> None:
        assert repr(pyrs.from_callable(int).map(str)) == "from_callable(int).map(str)"

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="function"):
            pyrs.from_callable(3)  # type: ignore[arg-type]


class TestGenerate:
    def test_step_is_called_for_each_requested_element(self) -> None:
        steps: list[int] = []

        def step(state: int) -> tuple[str, int] | None:
            steps.append(state)
            return (f"<{state}>", state + 1) if state < 3 else None

        subscriber: TestSubscriber[str] = TestSubscriber(2)
        stream = pyrs.generate(lambda: 0, step)
        stream.subscribe(subscriber)
        assert steps == [0, 1]
        subscriber.request(5)
        subscriber.assert_elements("<0>", "<1>", "<2>").assert_complete()
        assert stream.collect() == ["<0>", "<1>", "<2>"]  # each Subscriber has its own state

    def test_errors_of_the_step_signal_on_error(self) -> None:
        with pytest.raises(ZeroDivisionError):
            pyrs.generate(lambda: 1, lambda n: (1 // (n - 3), n + 1)).collect()
        with pytest.raises(pyrs.NullSignal):
            pyrs.generate(lambda: 1, lambda n: (None, n)).collect()
        with pytest.raises(RuntimeError):  # StopIteration must not complete the stream (PEP 479)
            pyrs.generate(lambda: 1, lambda n: next(iter(()))).collect()

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="initial"):
            pyrs.generate(0, lambda n: None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="step"):
            pyrs.generate(int, 0)  # type: ignore[arg-type]
