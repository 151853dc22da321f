"""The demo's Python stages and its screen, without a JVM."""

from __future__ import annotations

import io

import pyrs
from pyrs._demo.screen import Screen
from pyrs._demo.stages import PatientSubscriber, RatingProcessor
from pyrs.testing import TestSubscriber

LINES = ["0::2::3", "1::2::1", "1::7::5", "2::2::4"]


def test_processor_keeps_good_ratings_and_adds_the_mean_so_far() -> None:
    processor, subscriber = RatingProcessor(), TestSubscriber[dict[str, object]](request=None)
    processor.subscribe(subscriber)
    pyrs.from_iterable(LINES).subscribe(processor)
    assert subscriber.elements == [
        {"user": 0, "movie": 2, "stars": 3.0, "mean": 3.0},
        {"user": 1, "movie": 7, "stars": 5.0, "mean": 5.0},
        {"user": 2, "movie": 2, "stars": 4.0, "mean": 3.5},
    ]
    assert subscriber.completed
    assert subscriber.violations == []
    assert (processor.seen.count, processor.seen.stars) == (4, 13.0)
    assert (processor.kept.count, processor.kept.stars) == (3, 12.0)


def test_processor_requests_the_demand_and_one_per_rejected_rating() -> None:
    pulled: list[str] = []
    processor, subscriber = RatingProcessor(), TestSubscriber[dict[str, object]]()
    processor.subscribe(subscriber)
    pyrs.from_iterable(LINES).map(lambda line: pulled.append(line) or line).subscribe(processor)
    assert pulled == []
    subscriber.request(1)
    assert pulled == LINES[:1]
    subscriber.request(1)
    assert pulled == LINES[:3]
    assert processor.demand == 2


def test_second_subscriber_is_rejected() -> None:
    processor, second = RatingProcessor(), TestSubscriber[dict[str, object]]()
    processor.subscribe(TestSubscriber())
    processor.subscribe(second)
    assert isinstance(second.error, RuntimeError)


def test_cancel_is_forwarded_upstream() -> None:
    processor, subscriber = RatingProcessor(), TestSubscriber[dict[str, object]]()
    processor.subscribe(subscriber)
    pyrs.from_iterable(LINES).subscribe(processor)
    subscriber.request(1)
    subscriber.cancel()
    subscriber.request(1)
    assert len(subscriber.elements) == 1
    assert processor.seen.count == 1


def test_error_is_forwarded_downstream() -> None:
    processor, subscriber = RatingProcessor(), TestSubscriber[dict[str, object]](request=None)
    processor.subscribe(subscriber)
    failure = OSError("the disk is gone")
    pyrs.error(failure).subscribe(processor)
    assert subscriber.error is failure


def test_patient_subscriber_requests_a_batch_after_each_batch() -> None:
    processor = RatingProcessor()
    subscriber = PatientSubscriber(2, lambda rating: rating["stars"], emitted=processor.kept)
    processor.subscribe(subscriber)
    pyrs.from_iterable(LINES).subscribe(processor)
    assert subscriber.ended.is_set()
    assert (subscriber.taken.count, subscriber.demand) == (3, 4)
    assert subscriber.largest_in_flight == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_overwrites_one_line_at_a_terminal_and_appends_lines_elsewhere() -> None:
    plain, terminal = io.StringIO(), Terminal()
    for out in (plain, terminal):
        screen = Screen(out)
        screen.progress(0.5, (6, 5, 4, 3, 2, 1))
        screen.progress(1.0, (1006, 5, 4, 3, 2, 1))
        screen.say("over")
    assert plain.getvalue().count("\n") == 3
    assert "1,006" in plain.getvalue().splitlines()[1]
    assert terminal.getvalue().startswith("\r")
    assert terminal.getvalue().splitlines()[-1] == "over"
    assert "\x1b" not in terminal.getvalue()
