"""on_error_resume, on_error_return, on_error_map and repeat: results, demand, errors and reprs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.operators.recovering import Kind
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import error_of, notes_of

Wrap = Callable[[Any], pyrs.Stream[Any]]


def failing(*elements: Any, error: BaseException | None = None) -> pyrs.Stream[Any]:
    return pyrs.from_iterable(elements).concat(pyrs.error(error or OSError("down")))


@pytest.fixture
def broken(any_way: Wrap) -> Callable[..., pyrs.Stream[Any]]:
    """Return a function that creates a stream of the given elements, which then fails with a ValueError."""
    return lambda *texts: any_way(pyrs.just(*texts, "x").map(int))


class TestOnErrorResume:
    def test_resume_continues_with_the_fallback(self, broken: Callable[..., pyrs.Stream[Any]]) -> None:
        assert broken("1", "2").on_error_resume(pyrs.just(8, 9)).collect() == [1, 2, 8, 9]
        assert broken("1").on_error_resume(lambda error: pyrs.just(str(error)[:7])).collect() == [1, "invalid"]

    def test_resume_without_an_error_emits_the_source_unchanged(self) -> None:
        assert pyrs.range(3).on_error_resume(pyrs.just(9)).collect() == [0, 1, 2]

    def test_resume_requests_the_outstanding_demand_from_the_fallback(self) -> None:
        first: TestPublisher[int] = TestPublisher()
        second: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        first.stream().on_error_resume(second).subscribe(subscriber)
        first.next(1, 2).error(OSError())
        assert second.requests == [3]
        subscriber.request(4)
        assert second.requests == [3, 4]
        second.emit(3)
        assert subscriber.await_complete() == [1, 2, 3]

    def test_resume_requests_unbounded_demand_from_the_fallback(self) -> None:
        second: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        failing(1, 2).on_error_resume(second).subscribe(subscriber)
        assert second.requests == [pyrs.UNBOUNDED]
        subscriber.cancel()
        second.assert_cancelled(1)

    def test_kind_selects_the_errors(self) -> None:
        kinds: list[Kind] = [OSError, (KeyError, OSError), lambda error: isinstance(error, OSError)]
        for kind in kinds:
            assert failing(1).on_error_resume(pyrs.just(2), kind).collect() == [1, 2]
        others: list[Kind] = [KeyError, (KeyError, ValueError), (), lambda error: False]
        for kind in others:
            assert isinstance(error_of(failing(1).on_error_resume(pyrs.just(2), kind)), OSError)

    def test_error_of_the_fallback_is_not_resumed(self) -> None:
        calls: list[BaseException] = []

        def choose(error: BaseException) -> pyrs.Stream[int]:
            calls.append(error)
            return pyrs.error(KeyError("second"))

        assert isinstance(error_of(failing().on_error_resume(choose)), KeyError)
        assert len(calls) == 1

    def test_exception_of_the_function_replaces_the_error(self) -> None:
        def choose(error: BaseException) -> pyrs.Stream[int]:
            raise KeyError("mine")

        error = error_of(failing().on_error_resume(choose))
        assert isinstance(error, KeyError)
        assert isinstance(error.__context__, OSError)
        assert any(note.startswith("in on_error_resume(choose), assembled at") for note in notes_of(error))

    def test_exception_of_the_function_may_be_frozen(self) -> None:
        @dataclass(frozen=True)
        class Refused(Exception):
            code: int

        error = error_of(failing().on_error_map(lambda error: Refused(7)))
        assert error == Refused(7)
        assert isinstance(error.__context__, OSError)

    def test_function_that_raises_the_same_error_adds_no_note(self) -> None:
        def choose(error: BaseException) -> pyrs.Stream[int]:
            raise error

        error = error_of(failing().on_error_resume(choose))
        assert isinstance(error, OSError)
        assert notes_of(error) == []

    def test_function_that_returns_no_publisher_signals_type_error(self) -> None:
        error = error_of(failing().on_error_resume(lambda error: [1]))  # type: ignore[arg-type, return-value]
        assert isinstance(error, TypeError)
        assert "the result of fallback must be a Publisher: list has no subscribe()" in str(error)

    def test_cancel_reaches_the_current_source(self) -> None:
        first: TestPublisher[int] = TestPublisher()
        second: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        first.stream().on_error_resume(second).subscribe(subscriber)
        first.error(OSError())
        subscriber.cancel()
        first.assert_not_cancelled()
        second.assert_cancelled(1)


class TestOnErrorReturn:
    def test_return_accepts_a_value_or_a_function(self, broken: Callable[..., pyrs.Stream[Any]]) -> None:
        assert broken("1").on_error_return(0).collect() == [1, 0]
        assert broken("1").on_error_return(lambda error: type(error).__name__).collect() == [1, "ValueError"]

    def test_returned_value_waits_for_demand(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        failing(1).on_error_return(0).subscribe(subscriber)
        subscriber.assert_elements(1).assert_live()
        subscriber.request(1)
        assert subscriber.await_complete() == [1, 0]

    def test_none_as_value_is_rejected(self) -> None:
        with pytest.raises(pyrs.NullSignal):
            pyrs.just(1).on_error_return(None)
        error = error_of(failing().on_error_return(lambda error: None))
        assert isinstance(error, pyrs.NullSignal)

    def test_return_propagates_errors_of_other_kinds(self) -> None:
        assert isinstance(error_of(failing().on_error_return(0, KeyError)), OSError)


class TestOnErrorMap:
    def test_mapped_error_has_the_original_as_cause(self) -> None:
        error = error_of(failing(1).on_error_map(lambda error: KeyError(str(error))))
        assert isinstance(error, KeyError)
        assert isinstance(error.__cause__, OSError)

    def test_map_propagates_other_errors_and_the_same_error(self) -> None:
        assert isinstance(error_of(failing().on_error_map(lambda error: KeyError(), ValueError)), OSError)
        error = error_of(failing().on_error_map(lambda error: error))
        assert error.__cause__ is None
        assert notes_of(error) == []

    def test_function_that_raises_or_does_not_return_an_exception_fails_the_stream(self) -> None:
        def function(error: BaseException) -> BaseException:
            raise KeyError("mine")

        error = error_of(failing().on_error_map(function))
        assert isinstance(error, KeyError)
        assert isinstance(error.__context__, OSError)
        error = error_of(failing().on_error_map(lambda error: "no"))  # type: ignore[arg-type, return-value]
        assert "must return an exception, not str" in str(error)


class TestRepeat:
    def test_repeat_resubscribes_the_given_number_of_times(self) -> None:
        assert pyrs.range(2).repeat(2).collect() == [0, 1] * 3
        assert pyrs.range(2).repeat(0).collect() == [0, 1]
        assert pyrs.range(2).repeat().take(5).collect() == [0, 1, 0, 1, 0]

    def test_repeat_until_the_predicate_is_true(self) -> None:
        answers = [False, False, True]
        assert pyrs.just(1).repeat(until=lambda: answers.pop(0)).collect() == [1, 1, 1]

    def test_exception_of_until_names_repeat(self) -> None:
        def until() -> bool:
            raise KeyError("mine")

        error = error_of(pyrs.just(1).repeat(until=until))
        assert notes_of(error)[0].startswith("in repeat(until=until), assembled at")

    def test_repeat_propagates_an_error(self) -> None:
        assert isinstance(error_of(failing(1).repeat(3)), OSError)

    def test_repeat_keeps_demand_exact(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(2).repeat().subscribe(subscriber)
        for count in range(1, 8):
            subscriber.request(1)
            assert len(subscriber.elements) == count
        subscriber.cancel()
        subscriber.assert_rules()

    def test_repeat_of_an_empty_source_uses_constant_stack_depth(self) -> None:
        assert pyrs.empty().repeat(100_000).collect() == []

    @given(size=st.integers(0, 4), times=st.integers(0, 4), requests=st.lists(st.integers(1, 5), max_size=12))
    def test_repeat_matches_the_list_model(self, size: int, times: int, requests: list[int]) -> None:
        model = list(range(size)) * (times + 1)
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(size).repeat(times).subscribe(subscriber)
        demanded = 0
        for n in requests:
            subscriber.request(n)
            demanded += n
            assert subscriber.elements == model[:demanded]
        if demanded >= len(model):
            subscriber.assert_complete()
        else:
            subscriber.assert_live()


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3)])
def test_interrupts_and_exits_are_never_recovered(error: BaseException) -> None:
    stream = pyrs.error(error)
    recovering: list[pyrs.Stream[Any]] = [
        stream.on_error_resume(pyrs.just(1), BaseException),
        stream.on_error_return(1, lambda error: True),
        stream.on_error_map(lambda error: OSError(), BaseException),
        stream.retry(3, when=BaseException),
        stream.retry_when(lambda errors: errors),
    ]
    for each in recovering:
        assert error_of(each) is error


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: pyrs.never().on_error_resume(3), TypeError, "fallback must be a Publisher or callable, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().on_error_resume(pyrs.never(), str), TypeError, "kind must be exception types or a pred"),
        (lambda: pyrs.never().on_error_return(1, (OSError, 3)), TypeError, "kind must be exception types or a pred"),  # type: ignore[arg-type]
        (lambda: pyrs.never().on_error_map(3), TypeError, "function must be callable, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().repeat(-1), ValueError, "times must be at least 0, not -1"),
        (lambda: pyrs.never().repeat(until=3), TypeError, "until must be callable"),  # type: ignore[arg-type]
        (lambda: pyrs.never().retry("3"), TypeError, "times must be an integer"),  # type: ignore[arg-type]
        (lambda: pyrs.never().retry(-1), ValueError, "times must be at least 0"),
        (lambda: pyrs.never().retry(when=3), TypeError, "when must be exception types or a predicate"),  # type: ignore[arg-type]
        (lambda: pyrs.never().retry(backoff=0.1), TypeError, "backoff must be a Backoff, not float"),  # type: ignore[arg-type]
        (lambda: pyrs.never().retry(scheduler=3), TypeError, "scheduler must be a Scheduler, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().retry_when(3), TypeError, "function must be callable, not int"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_repr_shows_the_call() -> None:
    def resume(error: BaseException) -> pyrs.Stream[int]:
        return pyrs.just(0)

    never = pyrs.never()
    assert repr(never.on_error_resume(pyrs.just(1))) == "never().on_error_resume(just(1))"
    assert repr(never.on_error_resume(resume, OSError)) == "never().on_error_resume(resume, kind=OSError)"
    assert repr(never.on_error_return(0, (OSError, KeyError))) == (
        "never().on_error_return(0, kind=(OSError, KeyError))"
    )
    assert repr(never.on_error_map(OSError)) == "never().on_error_map(OSError)"
    assert repr(never.repeat()) == "never().repeat()"
    assert repr(never.repeat(3, until=bool)) == "never().repeat(3, until=bool)"
    assert repr(never.retry()) == "never().retry()"
    assert repr(never.retry(2, when=OSError, backoff=pyrs.Backoff(jitter=0))) == (
        "never().retry(2, when=OSError, backoff=Backoff(first=0.1, factor=2.0, most=10.0, jitter=0.0))"
    )
    assert repr(never.retry_when(bool)) == "never().retry_when(bool)"  # type: ignore[arg-type]
