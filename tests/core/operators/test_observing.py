"""do_on_*, finally_do, checkpoint, log and progress: which signals they observe, and that they change none."""

from __future__ import annotations

import io
import logging
import sys
import threading
from asyncio import CancelledError
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.errors import NullSignal
from pyrs.operators import progress
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import RecordingSubscription, error_of, notes_of
from tests.rounds import rounds
from tests.waiting import eventually

Wrap = Callable[[Any], pyrs.Stream[Any]]


def observe(stream: pyrs.Stream[Any], events: list[Any]) -> pyrs.Stream[Any]:
    """Return the stream with every observing operator applied."""
    return (
        stream.do_on_subscribe(lambda: events.append("subscribe"))
        .do_on_request(lambda n: events.append(f"request {n}"))
        .do_on_next(events.append)
        .do_on_complete(lambda: events.append("complete"))
        .do_on_error(lambda error: events.append(error))
        .do_on_terminate(lambda: events.append("terminate"))
        .do_on_cancel(lambda: events.append("cancel"))
        .finally_do(lambda: events.append("finally"))
    )


class TestDoOperators:
    def test_actions_run_in_order_for_a_completed_stream(self, any_way: Wrap) -> None:
        events: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        finished = threading.Event()
        observe(any_way(pyrs.from_iterable(n for n in (1, 2))).finally_do(finished.set), events).subscribe(subscriber)
        subscriber.await_subscription()
        subscriber.request(2)
        subscriber.await_count(2)
        subscriber.request(1)
        assert subscriber.await_complete() == [1, 2]
        assert finished.wait(30)
        assert events == ["subscribe", "request 2", 1, 2, "request 1", "complete", "terminate", "finally"]

    def test_actions_run_in_order_for_a_failed_stream(self) -> None:
        events: list[Any] = []
        failure = OSError("down")
        assert error_of(observe(pyrs.just(1).concat(pyrs.error(failure)), events)) is failure
        assert events == ["subscribe", f"request {pyrs.UNBOUNDED}", 1, failure, "terminate", "finally"]

    def test_actions_run_in_order_for_a_cancelled_stream(self) -> None:
        events: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        observe(pyrs.range(9), events).subscribe(subscriber)
        subscriber.cancel()
        subscriber.cancel()
        assert events == ["subscribe", "request 1", 0, "cancel", "finally"]

    def test_downstream_take_is_observed_as_a_cancel(self) -> None:
        events: list[Any] = []
        assert observe(pyrs.range(9), events).take(1).map(str).collect() == ["0"]
        assert events == ["subscribe", "request 1", 0, "cancel", "finally"]

    def test_cancel_runs_do_on_cancel_then_upstream_then_finally_do(self) -> None:
        events: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        (
            source.stream()
            .do_on_cancel(lambda: events.append(f"cancel {source.cancel_count}"))
            .finally_do(lambda: events.append(f"finally {source.cancel_count}"))
            .subscribe(subscriber)
        )
        subscriber.cancel()
        assert events == ["cancel 0", "finally 1"]

    def test_cancel_after_upstream_completed_is_observed_downstream_only(self) -> None:
        """An operator in between delays on_complete, so downstream observers see a cancel instead."""
        upstream: list[str] = []
        downstream: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        (
            source.stream()
            .do_on_cancel(lambda: upstream.append("cancel"))
            .finally_do(lambda: upstream.append("finally"))
            .default_if_empty(0)
            .do_on_cancel(lambda: downstream.append("cancel"))
            .finally_do(lambda: downstream.append("finally"))
            .subscribe(subscriber)
        )
        source.complete()
        subscriber.assert_live()
        subscriber.cancel()
        assert (upstream, downstream) == (["finally"], ["cancel", "finally"])

    def test_demand_and_elements_are_unchanged(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        observe(source.stream(), []).log().checkpoint().progress(file=io.StringIO()).metrics(
            pyrs.Metrics("numbers")
        ).subscribe(subscriber)
        subscriber.request(3)
        assert source.requests == [2, 3]
        source.emit(1, 2, 3)
        assert subscriber.await_complete() == [1, 2, 3]

    def test_illegal_request_is_observed_and_forwarded(self) -> None:
        events: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        observe(pyrs.range(3), events).subscribe(subscriber)
        subscriber.request(0)
        error = subscriber.assert_error(pyrs.NonPositiveRequest)
        assert events == ["subscribe", "request 0", error, "terminate", "finally"]

    def test_do_on_next_stays_in_the_fused_chain(self) -> None:
        events: list[int] = []
        assert list(pyrs.range(3).do_on_next(events.append).map(str).to_iterable()) == ["0", "1", "2"]
        assert events == [0, 1, 2]

    @given(size=st.integers(0, 5), requests=st.lists(st.integers(1, 4), max_size=8), cancel=st.booleans())
    def test_finally_do_runs_once_under_any_requests_and_cancel(
        self, size: int, requests: list[int], cancel: bool
    ) -> None:
        events: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        observe(pyrs.range(size), events).subscribe(subscriber)
        for n in requests:
            subscriber.request(n)
        ended = subscriber.completed
        assert ended == (sum(requests) >= size)
        if cancel:
            subscriber.cancel()
        assert events.count("finally") == (ended or cancel)
        assert events.count("cancel") == (cancel and not ended)
        assert events.count("complete") == events.count("terminate") == ended
        assert [each for each in events if isinstance(each, int)] == subscriber.elements


class TestActionsThatRaise:
    def raising(self, *_: object) -> None:
        raise KeyError("mine")

    def test_exception_of_do_on_next_signals_on_error(self, any_way: Wrap) -> None:
        error = error_of(any_way(pyrs.range(3)).do_on_next(self.raising))
        assert isinstance(error, KeyError)
        assert any("in do_on_next(" in note and __file__ in note for note in notes_of(error))

    def test_exception_of_do_on_complete_or_do_on_terminate_signals_on_error(self, any_way: Wrap) -> None:
        assert isinstance(error_of(any_way(pyrs.range(3)).do_on_complete(self.raising)), KeyError)
        assert isinstance(error_of(any_way(pyrs.range(3)).do_on_terminate(self.raising)), KeyError)

    def test_exception_of_do_on_subscribe_fails_the_stream_before_a_request(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        events: list[str] = []
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        (
            source.stream()
            .do_on_cancel(lambda: events.append("cancel"))
            .do_on_subscribe(self.raising)
            .finally_do(lambda: events.append("finally"))
            .subscribe(subscriber)
        )
        error = subscriber.assert_error(KeyError)
        assert any("in do_on_subscribe(" in note for note in notes_of(error))
        source.assert_cancelled(1).assert_was_not_requested()
        assert events == ["cancel", "finally"]

    def test_actions_after_a_do_on_subscribe_that_raises_observe_on_subscribe_and_the_error(self, dropped: Any) -> None:
        events: list[Any] = []
        metrics = pyrs.Metrics("numbers", clock=lambda: 3.0)
        stream = observe(pyrs.range(3).do_on_subscribe(self.raising), events).metrics(metrics)
        error = error_of(stream)
        assert isinstance(error, KeyError)
        assert events == ["subscribe", f"request {pyrs.UNBOUNDED}", error, "terminate", "finally"]
        assert (metrics.subscribed, metrics.failed, metrics.active) == (1, 1, 0)
        last = error_of(stream.do_on_subscribe(self.raising))  # only the last error is emitted
        (first,) = dropped.take()
        assert first is not last

    @pytest.mark.parametrize("subscription", [None, RecordingSubscription()])
    def test_actions_observe_the_error_of_a_publisher_that_raises_in_subscribe(
        self, subscription: pyrs.Subscription | None
    ) -> None:
        class Raising(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                if subscription is not None:
                    subscriber.on_subscribe(subscription)
                raise failure

        failure = OSError("down")
        events: list[Any] = []
        inner = observe(pyrs.Stream(Raising()), events)
        assert error_of(pyrs.just(1).concat_map(lambda _: inner)) is failure
        assert events == ["subscribe", f"request {pyrs.UNBOUNDED}", failure, "terminate", "finally"]

    def test_an_error_of_request_passes_through_the_stages_before_log_and_split_lines(self) -> None:
        """These stages may raise in their own ``request``. No note names them for an error of the source's."""

        class Raising(RecordingSubscription):
            def request(self, n: int, /) -> None:
                raise failure

        class Source(pyrs.Publisher[str]):
            def subscribe(self, subscriber: pyrs.Subscriber[str], /) -> None:
                subscriber.on_subscribe(Raising())

        failure = OSError("down")
        for operator in ("log", "split_lines"):
            events: list[Any] = []
            assert error_of(getattr(observe(pyrs.Stream(Source()), events), operator)()) is failure
            assert events[-3:] == [failure, "terminate", "finally"]
        assert notes_of(failure) == []

    def test_exception_of_do_on_error_does_not_replace_the_error(self, dropped: Any) -> None:
        failure = OSError("down")
        for stream in (
            pyrs.error(failure).do_on_error(self.raising),
            pyrs.error(failure).do_on_terminate(self.raising),
        ):
            assert error_of(stream) is failure
            assert isinstance(dropped.take()[0], KeyError)
        assert [note.partition("(")[0] + note.rpartition(")")[2] for note in notes_of(failure)] == [
            "do_on_error raised KeyError: 'mine'",
            "do_on_terminate raised KeyError: 'mine'",
        ]

    def test_exceptions_of_do_on_request_do_on_cancel_and_finally_do_go_to_the_error_hook(self, dropped: Any) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        stream = source.stream().do_on_request(self.raising).do_on_cancel(self.raising).finally_do(self.raising)
        stream.subscribe(subscriber)
        source.next(1)
        subscriber.cancel()
        subscriber.assert_elements(1).assert_live()
        source.assert_cancelled(1)
        assert [type(error) for error in dropped.take()] == [KeyError] * 3

    def test_interrupt_propagates_and_upstream_is_cancelled(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        source.stream().do_on_cancel(interrupt).subscribe(subscriber)
        with pytest.raises(KeyboardInterrupt):
            subscriber.cancel()
        source.assert_cancelled(1)

    @pytest.mark.parametrize("kind", [NullSignal, TypeError])
    def test_downstream_stages_receive_the_error_of_an_invalid_element(self, kind: type[Exception]) -> None:
        async def coroutine() -> None: ...

        calls: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        mapped: pyrs.Stream[Any] = source.stream().map(lambda n: None if kind is NullSignal else coroutine())
        mapped.do_on_error(lambda error: calls.append(type(error).__name__)).finally_do(
            lambda: calls.append("end")
        ).subscribe(subscriber)
        source.next(1)
        assert [note.partition("(")[0] for note in notes_of(subscriber.assert_error(kind))] == ["in map"]
        assert calls == [kind.__name__, "end"]
        source.assert_cancelled(1)

    def test_note_of_an_interrupt_names_do_on_request_and_earlier_stages_are_cancelled(self) -> None:
        def interrupt(n: int) -> None:
            raise KeyboardInterrupt

        calls: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(0)
        source.stream().finally_do(lambda: calls.append("end")).do_on_request(interrupt).subscribe(subscriber)
        with pytest.raises(KeyboardInterrupt) as raised:
            subscriber.request(1)
        subscriber.assert_error(KeyboardInterrupt)
        source.assert_cancelled(1)
        assert calls == ["end"]
        assert [note.partition("(")[0] for note in notes_of(raised.value)] == ["in do_on_request"]

    def test_note_of_an_interrupt_on_cancel_names_finally_do(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        source.stream().finally_do(interrupt).first().subscribe(subscriber)
        with pytest.raises(KeyboardInterrupt) as raised:
            source.next(1)
        source.assert_cancelled(1)
        assert [note.partition("(")[0] for note in notes_of(raised.value)] == ["in finally_do"]

    def test_finally_do_runs_if_the_subscriber_raises(self, any_way: Wrap, dropped: Any) -> None:
        class RaisingSubscriber(pyrs.Subscriber[int]):
            def __init__(self, signal: str) -> None:
                self.signal = signal

            def _raise_in(self, signal: str) -> None:
                if signal == self.signal:
                    raise KeyError("mine")

            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                subscription.request(9)
                self._raise_in("on_subscribe")

            def on_next(self, element: int, /) -> None:
                self._raise_in("on_next")

            def on_error(self, error: BaseException, /) -> None:
                self._raise_in("on_error")

            def on_complete(self) -> None:
                self._raise_in("on_complete")

        for signal in ("on_subscribe", "on_next", "on_complete", "on_error"):
            finished = threading.Event()
            events: list[str] = []

            def action(events: list[str] = events, finished: threading.Event = finished) -> None:
                events.append("finally")
                finished.set()

            source = pyrs.range(3).concat(pyrs.error(OSError())) if signal == "on_error" else pyrs.range(3)
            any_way(source).finally_do(action).subscribe(RaisingSubscriber(signal))
            assert finished.wait(30)
            assert events == ["finally"]
        eventually(lambda: len(dropped.errors) == 4)
        assert [type(error) for error in dropped.take()] == [KeyError] * 4


@pytest.mark.parametrize("end", ["complete", "error"])
def test_finally_do_runs_once_if_cancel_and_termination_race(end: str, dropped: Any) -> None:
    number = rounds(3_000)
    start = threading.Barrier(2)
    source: TestPublisher[int] = TestPublisher()

    def finish() -> None:
        for _ in range(number):
            start.wait(30)
            source.complete() if end == "complete" else source.error(OSError())
            start.wait(30)

    thread = threading.Thread(target=finish, daemon=True)
    thread.start()
    for _ in range(number):
        events: list[str] = []
        source = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        (
            source.stream()
            .do_on_terminate(lambda events=events: events.append("end"))  # type: ignore[misc]
            .do_on_cancel(lambda events=events: events.append("cancel"))  # type: ignore[misc]
            .finally_do(lambda events=events: events.append("finally"))  # type: ignore[misc]
            .subscribe(subscriber)
        )
        start.wait(30)
        subscriber.cancel()
        start.wait(30)
        assert events.count("finally") == 1
        # Both are observed if the cancel and the terminal signal pass each other between two stages.
        assert events.count("cancel") + events.count("end") in (1, 2)
        subscriber.assert_rules()
    thread.join(30)
    assert not thread.is_alive()
    dropped.take()  # errors that arrived after the cancel


def test_finally_do_runs_once_if_its_action_cancels() -> None:
    events: list[str] = []
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber()

    def action() -> None:
        events.append("finally")
        subscriber.cancel()

    source.stream().finally_do(action).default_if_empty(0).subscribe(subscriber)
    source.complete()
    assert events == ["finally"]


class TestLog:
    def lines(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "pyrs.stream"]

    def test_log_writes_a_record_for_each_signal(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "pyrs.stream")
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        pyrs.just("a").log("letters").subscribe(subscriber)
        assert self.lines(caplog) == [
            "letters: on_subscribe()",
            "letters: request(unbounded)",
            "letters: on_next('a')",
            "letters: on_complete()",
        ]

    def test_log_records_errors_and_cancels_and_abbreviates_elements(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "pyrs.stream")
        subscriber: TestSubscriber[Any] = TestSubscriber(1)
        pyrs.just("x" * 10_000, 2).log("long").subscribe(subscriber)
        subscriber.cancel()
        error_of(pyrs.error(ValueError("no")).log())
        lines = self.lines(caplog)
        assert lines[3:] == [
            "long: cancel()",
            "error(ValueError('no')): on_subscribe()",
            "error(ValueError('no')): request(unbounded)",
            "error(ValueError('no')): on_error(ValueError('no'))",
        ]
        assert max(map(len, lines)) < 100

    def test_log_uses_the_given_logger_and_level(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "mine")
        pyrs.just(1).log("a", logger=logging.getLogger("mine"), level=logging.DEBUG).collect()
        assert {(record.name, record.levelname) for record in caplog.records} == {("mine", "DEBUG")}
        caplog.clear()
        pyrs.just(1).log("a", level=logging.DEBUG).collect()
        assert self.lines(caplog) == []

    def test_log_ignores_an_exception_of_repr(self, caplog: pytest.LogCaptureFixture) -> None:
        class RaisingRepr:
            def __repr__(self) -> str:
                raise KeyError("no")

        caplog.set_level(logging.INFO, "pyrs.stream")
        assert len(pyrs.just(RaisingRepr()).log().collect()) == 1


class TestProgress:
    def test_progress_uses_tqdm_if_installed(self) -> None:
        pytest.importorskip("tqdm")
        file = io.StringIO()
        assert pyrs.range(3).progress(3, "numbers", file=file).collect() == [0, 1, 2]
        assert "numbers: 100%" in file.getvalue()
        assert "3/3" in file.getvalue()

    def test_progress_writes_to_a_file_that_is_false(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Lines(list[str]):
            write = list.append

        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        file: Any = Lines()
        pyrs.range(3).progress(file=file).collect()
        assert "".join(file).startswith("3 elements, ")

    def test_progress_prints_lines_without_tqdm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        clock = iter([0.0, 0.1, 0.2, 0.7, 0.8, 1.2, 2.0])
        monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
        file = io.StringIO()
        pyrs.range(5).progress(5, "numbers", file=file).collect()
        assert file.getvalue().splitlines() == [
            "numbers: 3 of 5 elements, 4 a second",
            "numbers: 5 of 5 elements, 4 a second",
            "numbers: 5 of 5 elements, 2 a second",
        ]

    @pytest.mark.parametrize("way", ["complete", "fail", "cancel"])
    def test_progress_prints_its_last_line_on_every_termination(
        self, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        file = io.StringIO()
        monkeypatch.setattr(sys, "stderr", file)
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        source.stream().progress().subscribe(subscriber)
        source.next(1, 2)
        {"complete": source.complete, "fail": lambda: source.error(OSError()), "cancel": subscriber.cancel}[way]()
        assert file.getvalue().startswith("2 elements, ")

    @pytest.mark.parametrize("raised", [BrokenPipeError, CancelledError, RecursionError])
    def test_exception_of_the_progress_file_does_not_fail_the_stream(
        self, raised: type[BaseException], dropped: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class BrokenFile(io.StringIO):
            def write(self, text: str, /) -> int:
                raise raised("gone")

        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        ticks = iter(range(100))
        monkeypatch.setattr(progress, "monotonic", lambda: float(next(ticks)))
        assert pyrs.range(9).progress(file=BrokenFile()).collect() == list(range(9))
        assert [type(error) for error in dropped.take()] == [raised]


def test_exception_of_a_logger_does_not_replace_the_error_of_the_stream(dropped: Any) -> None:
    def refuse(record: logging.LogRecord) -> bool:
        if "on_error" in record.getMessage():
            raise OSError("disk full")
        return True

    logger = logging.Logger("refusing")
    logger.addFilter(refuse)
    failing = pyrs.error(KeyError("name")).log("numbers", logger=logger)
    assert isinstance(error_of(failing), KeyError)
    assert [type(error) for error in dropped.take()] == [OSError]


@pytest.mark.parametrize(
    "name",
    [
        "do_on_next",
        "do_on_subscribe",
        "do_on_request",
        "do_on_complete",
        "do_on_error",
        "do_on_terminate",
        "do_on_cancel",
        "finally_do",
    ],
)
def test_action_is_validated_and_shown_in_repr(name: str) -> None:
    with pytest.raises(TypeError, match="action must be callable, not int"):
        getattr(pyrs.never(), name)(3)
    assert repr(getattr(pyrs.never(), name)(print)) == f"never().{name}(print)"


class IncompleteLogger:
    """A logger without isEnabledFor."""

    def log(self, level: int, message: str, *arguments: object) -> None:
        raise AssertionError(message)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: pyrs.never().log(3), TypeError, "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(logger="x"), TypeError, "logger must be a logging.Logger, not str"),  # type: ignore[arg-type]
        (
            lambda: pyrs.never().log(logger=IncompleteLogger()),
            TypeError,
            "logger must be a logging.Logger, not IncompleteLogger",
        ),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(logger=logging.Logger), TypeError, "logger must be a logging.Logger, not type"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(level="x"), TypeError, "level must be an integer"),  # type: ignore[arg-type]
        (lambda: pyrs.never().checkpoint(3), TypeError, "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress("3"), TypeError, "total must be an integer"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress(-1), ValueError, "total must be at least 0"),
        (lambda: pyrs.never().progress(description=3), TypeError, "description must be a string"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress(file=3), TypeError, "file must be an object with write"),  # type: ignore[arg-type]
        (lambda: pyrs.never().metrics("x"), TypeError, "metrics must be a Metrics, not str"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_repr_shows_the_call() -> None:
    never = pyrs.never()
    assert repr(never.log().log("a")) == "never().log().log('a')"
    assert repr(never.checkpoint().checkpoint("a")) == "never().checkpoint().checkpoint('a')"
    assert repr(never.progress().progress(3, "a")) == "never().progress().progress(total=3, description='a')"
    assert repr(never.metrics(pyrs.Metrics("a"))) == "never().metrics('a')"
