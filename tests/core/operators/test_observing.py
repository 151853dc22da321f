"""do_on_*, finally_do, checkpoint, log, progress: what they see, when, and that they change nothing."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.operators import progress
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import eventually

Wrap = Callable[[Any], pyrs.Stream[Any]]


@pytest.fixture(params=["fused", "pushed", "elsewhere"])
def wrap(request: pytest.FixtureRequest, hidden: Wrap, elsewhere: Wrap) -> Wrap:
    ways: dict[str, Wrap] = {"fused": lambda stream: stream, "pushed": hidden, "elsewhere": elsewhere}
    return ways[request.param]


def watched(stream: pyrs.Stream[Any], story: list[Any]) -> pyrs.Stream[Any]:
    """Return the stream with every operator that looks on behind it."""
    return (
        stream.do_on_subscribe(lambda: story.append("subscribe"))
        .do_on_request(lambda n: story.append(f"request {n}"))
        .do_on_next(story.append)
        .do_on_complete(lambda: story.append("complete"))
        .do_on_error(lambda error: story.append(error))
        .do_on_terminate(lambda: story.append("terminate"))
        .do_on_cancel(lambda: story.append("cancel"))
        .finally_do(lambda: story.append("finally"))
    )


def error_of(stream: pyrs.Stream[Any]) -> BaseException:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    stream.subscribe(subscriber)
    return subscriber.await_error()


def notes_of(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))


class TestDo:
    def test_a_stream_that_completes(self, wrap: Wrap) -> None:
        story: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        over = threading.Event()
        watched(wrap(pyrs.from_iterable(n for n in (1, 2))).finally_do(over.set), story).subscribe(subscriber)
        subscriber.await_subscription()
        subscriber.request(2)
        subscriber.await_count(2)
        subscriber.request(1)
        assert subscriber.await_complete() == [1, 2]
        assert over.wait(30)
        assert story == ["subscribe", "request 2", 1, 2, "request 1", "complete", "terminate", "finally"]

    def test_a_stream_that_fails(self) -> None:
        story: list[Any] = []
        failure = OSError("down")
        assert error_of(watched(pyrs.just(1).concat(pyrs.error(failure)), story)) is failure
        assert story == ["subscribe", f"request {pyrs.UNBOUNDED}", 1, failure, "terminate", "finally"]

    def test_a_stream_that_is_cancelled(self) -> None:
        story: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        watched(pyrs.range(9), story).subscribe(subscriber)
        subscriber.cancel()
        subscriber.cancel()
        assert story == ["subscribe", "request 1", 0, "cancel", "finally"]

    def test_an_operator_behind_that_ends_the_stream_is_a_cancel(self) -> None:
        story: list[Any] = []
        assert watched(pyrs.range(9), story).take(1).map(str).collect() == ["0"]
        assert story == ["subscribe", "request 1", 0, "cancel", "finally"]

    def test_a_cancel_reaches_upstream_between_do_on_cancel_and_finally_do(self) -> None:
        story: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        (
            source.stream()
            .do_on_cancel(lambda: story.append(f"cancel {source.cancel_count}"))
            .finally_do(lambda: story.append(f"finally {source.cancel_count}"))
            .subscribe(subscriber)
        )
        subscriber.cancel()
        assert story == ["cancel 0", "finally 1"]

    def test_a_cancel_after_upstream_has_ended(self) -> None:
        """The end is held back by an operator in between: those behind it have not seen it."""
        before: list[str] = []
        behind: list[str] = []
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        (
            source.stream()
            .do_on_cancel(lambda: before.append("cancel"))
            .finally_do(lambda: before.append("finally"))
            .default_if_empty(0)
            .do_on_cancel(lambda: behind.append("cancel"))
            .finally_do(lambda: behind.append("finally"))
            .subscribe(subscriber)
        )
        source.complete()
        subscriber.assert_live()
        subscriber.cancel()
        assert (before, behind) == (["finally"], ["cancel", "finally"])

    def test_neither_demand_nor_elements_change(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        watched(source.stream(), []).log().checkpoint().progress(file=io.StringIO()).metrics(
            pyrs.Metrics("numbers")
        ).subscribe(subscriber)
        subscriber.request(3)
        assert source.requests == [2, 3]
        source.emit(1, 2, 3)
        assert subscriber.await_complete() == [1, 2, 3]

    def test_illegal_requests_pass(self) -> None:
        story: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        watched(pyrs.range(3), story).subscribe(subscriber)
        subscriber.request(0)
        error = subscriber.assert_error(pyrs.NonPositiveRequest)
        assert story == ["subscribe", "request 0", error, "terminate", "finally"]

    def test_do_on_next_stays_in_the_iterator_chain(self) -> None:
        story: list[int] = []
        assert list(pyrs.range(3).do_on_next(story.append).map(str).to_iterable()) == ["0", "1", "2"]
        assert story == [0, 1, 2]

    @given(size=st.integers(0, 5), requests=st.lists(st.integers(1, 4), max_size=8), cancel=st.booleans())
    def test_finally_is_told_once_whatever_comes(self, size: int, requests: list[int], cancel: bool) -> None:
        story: list[Any] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        watched(pyrs.range(size), story).subscribe(subscriber)
        for n in requests:
            subscriber.request(n)
        ended = subscriber.completed
        assert ended == (sum(requests) >= size)
        if cancel:
            subscriber.cancel()
        assert story.count("finally") == (ended or cancel)
        assert story.count("cancel") == (cancel and not ended)
        assert story.count("complete") == story.count("terminate") == ended
        assert [each for each in story if isinstance(each, int)] == subscriber.elements


class TestActionsThatRaise:
    def raising(self, *_: object) -> None:
        raise KeyError("mine")

    def test_on_next(self, wrap: Wrap) -> None:
        error = error_of(wrap(pyrs.range(3)).do_on_next(self.raising))
        assert isinstance(error, KeyError)
        assert any("in do_on_next(" in note and __file__ in note for note in notes_of(error))

    def test_on_complete_and_on_terminate(self, wrap: Wrap) -> None:
        assert isinstance(error_of(wrap(pyrs.range(3)).do_on_complete(self.raising)), KeyError)
        assert isinstance(error_of(wrap(pyrs.range(3)).do_on_terminate(self.raising)), KeyError)

    def test_on_subscribe_fails_the_stream_before_anything_is_requested(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        story: list[str] = []
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        (
            source.stream()
            .do_on_cancel(lambda: story.append("cancel"))
            .do_on_subscribe(self.raising)
            .finally_do(lambda: story.append("finally"))
            .subscribe(subscriber)
        )
        error = subscriber.assert_error(KeyError)
        assert any("in do_on_subscribe(" in note for note in notes_of(error))
        source.assert_cancelled(1).assert_was_not_requested()
        assert story == ["cancel", "finally"]

    def test_on_error_does_not_take_the_place_of_the_error(self, dropped: Any) -> None:
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

    def test_on_request_and_on_cancel_and_finally_go_to_the_hook(self, dropped: Any) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        stream = source.stream().do_on_request(self.raising).do_on_cancel(self.raising).finally_do(self.raising)
        stream.subscribe(subscriber)
        source.next(1)
        subscriber.cancel()
        subscriber.assert_elements(1).assert_live()
        source.assert_cancelled(1)
        assert [type(error) for error in dropped.take()] == [KeyError] * 3

    def test_an_interrupt_travels_on_and_upstream_is_cancelled(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        source.stream().do_on_cancel(interrupt).subscribe(subscriber)
        with pytest.raises(KeyboardInterrupt):
            subscriber.cancel()
        source.assert_cancelled(1)

    def test_finally_also_when_the_subscriber_raises(self, wrap: Wrap, dropped: Any) -> None:
        class Raises(pyrs.Subscriber[int]):
            def __init__(self, signal: str) -> None:
                self.signal = signal

            def _called(self, signal: str) -> None:
                if signal == self.signal:
                    raise KeyError("mine")

            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                subscription.request(9)
                self._called("on_subscribe")

            def on_next(self, element: int, /) -> None:
                self._called("on_next")

            def on_error(self, error: BaseException, /) -> None:
                self._called("on_error")

            def on_complete(self) -> None:
                self._called("on_complete")

        for signal in ("on_subscribe", "on_next", "on_complete", "on_error"):
            over = threading.Event()
            story: list[str] = []

            def action(story: list[str] = story, over: threading.Event = over) -> None:
                story.append("finally")
                over.set()

            source = pyrs.range(3).concat(pyrs.error(OSError())) if signal == "on_error" else pyrs.range(3)
            wrap(source).finally_do(action).subscribe(Raises(signal))
            assert over.wait(30)
            assert story == ["finally"]
        eventually(lambda: len(dropped.errors) == 4)
        assert [type(error) for error in dropped.take()] == [KeyError] * 4


@pytest.mark.parametrize("end", ["complete", "error"])
def test_finally_do_once_under_a_race_of_the_end_and_a_cancel(end: str, dropped: Any) -> None:
    rounds = 3_000
    start = threading.Barrier(2)
    source: TestPublisher[int] = TestPublisher()

    def finish() -> None:
        for _ in range(rounds):
            start.wait(30)
            source.complete() if end == "complete" else source.error(OSError())
            start.wait(30)

    thread = threading.Thread(target=finish, daemon=True)
    thread.start()
    seen = {"cancel": 0, "end": 0}
    for _ in range(rounds):
        story: list[str] = []
        source = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        (
            source.stream()
            .do_on_terminate(lambda story=story: story.append("end"))  # type: ignore[misc]
            .do_on_cancel(lambda story=story: story.append("cancel"))  # type: ignore[misc]
            .finally_do(lambda story=story: story.append("finally"))  # type: ignore[misc]
            .subscribe(subscriber)
        )
        start.wait(30)
        subscriber.cancel()
        start.wait(30)
        assert story.count("finally") == 1
        assert story.count("cancel") + story.count("end") in (1, 2)  # each stage saw one; both if they crossed between
        subscriber.assert_rules()
        seen["cancel"] += "cancel" in story
        seen["end"] += "end" in story
    thread.join(30)
    assert not thread.is_alive()
    dropped.take()  # an error that came after the cancel
    assert seen["end"] + seen["cancel"] >= rounds


def test_finally_do_once_where_its_action_cancels() -> None:
    story: list[str] = []
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber()

    def action() -> None:
        story.append("finally")
        subscriber.cancel()

    source.stream().finally_do(action).default_if_empty(0).subscribe(subscriber)
    source.complete()
    assert story == ["finally"]


class TestLog:
    def lines(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "pyrs.stream"]

    def test_each_signal_is_a_record(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "pyrs.stream")
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        pyrs.just("a").log("letters").subscribe(subscriber)
        assert self.lines(caplog) == [
            "letters: on_subscribe()",
            "letters: request(unbounded)",
            "letters: on_next('a')",
            "letters: on_complete()",
        ]

    def test_errors_cancels_and_long_elements(self, caplog: pytest.LogCaptureFixture) -> None:
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
        ] or lines[3:] == [
            "long: cancel()",
            "error(ValueError('no')): on_subscribe()",
            "error(ValueError('no')): on_error(ValueError('no'))",
        ]
        assert max(map(len, lines)) < 100

    def test_logger_and_level(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "mine")
        pyrs.just(1).log("a", logger=logging.getLogger("mine"), level=logging.DEBUG).collect()
        assert {(record.name, record.levelname) for record in caplog.records} == {("mine", "DEBUG")}
        caplog.clear()
        pyrs.just(1).log("a", level=logging.DEBUG).collect()
        assert self.lines(caplog) == []

    def test_an_element_that_cannot_be_shown(self, caplog: pytest.LogCaptureFixture) -> None:
        class Sulky:
            def __repr__(self) -> str:
                raise KeyError("no")

        caplog.set_level(logging.INFO, "pyrs.stream")
        assert len(pyrs.just(Sulky()).log().collect()) == 1


class TestProgress:
    def test_tqdm_where_it_is_installed(self) -> None:
        pytest.importorskip("tqdm")
        file = io.StringIO()
        assert pyrs.range(3).progress(3, "numbers", file=file).collect() == [0, 1, 2]
        assert "numbers: 100%" in file.getvalue()
        assert "3/3" in file.getvalue()

    def test_plain_lines_where_it_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
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
    def test_closes_however_it_ends(self, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        file = io.StringIO()
        monkeypatch.setattr(sys, "stderr", file)
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        source.stream().progress().subscribe(subscriber)
        source.next(1, 2)
        {"complete": source.complete, "fail": lambda: source.error(OSError()), "cancel": subscriber.cancel}[way]()
        assert file.getvalue().startswith("2 elements, ")

    def test_what_cannot_be_shown_does_not_end_the_stream(self, dropped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class Gone(io.StringIO):
            def write(self, text: str, /) -> int:
                raise BrokenPipeError("gone")

        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        ticks = iter(range(100))
        monkeypatch.setattr(progress, "monotonic", lambda: float(next(ticks)))
        assert pyrs.range(9).progress(file=Gone()).collect() == list(range(9))
        assert [type(error) for error in dropped.take()] == [BrokenPipeError]


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
def test_an_action_is_checked_and_shown(name: str) -> None:
    with pytest.raises(TypeError, match="action must be callable, not int"):
        getattr(pyrs.never(), name)(3)
    assert repr(getattr(pyrs.never(), name)(print)) == f"never().{name}(print)"


class LogsOnly:
    """Cannot say whether it is enabled for a level."""

    def log(self, level: int, message: str, *arguments: object) -> None:
        raise AssertionError(message)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: pyrs.never().log(3), TypeError, "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(logger="x"), TypeError, "logger must be a logging.Logger, not str"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(logger=LogsOnly()), TypeError, "logger must be a logging.Logger, not LogsOnly"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(logger=logging.Logger), TypeError, "logger must be a logging.Logger, not type"),  # type: ignore[arg-type]
        (lambda: pyrs.never().log(level="x"), TypeError, "level must be an integer"),  # type: ignore[arg-type]
        (lambda: pyrs.never().checkpoint(3), TypeError, "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress("3"), TypeError, "total must be an integer"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress(-1), ValueError, "total must be at least 0"),
        (lambda: pyrs.never().progress(description=3), TypeError, "description must be a string"),  # type: ignore[arg-type]
        (lambda: pyrs.never().progress(file=3), TypeError, "file must have write"),  # type: ignore[arg-type]
        (lambda: pyrs.never().metrics("x"), TypeError, "metrics must be a Metrics, not str"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused_where_they_enter(
    wrong: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_shown_as_written() -> None:
    never = pyrs.never()
    assert repr(never.log().log("a")) == "never().log().log('a')"
    assert repr(never.checkpoint().checkpoint("a")) == "never().checkpoint().checkpoint('a')"
    assert repr(never.progress().progress(3, "a")) == "never().progress().progress(total=3, description='a')"
    assert repr(never.metrics(pyrs.Metrics("a"))) == "never().metrics('a')"
