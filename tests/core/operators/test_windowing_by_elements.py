"""window_until, window_while and window_until_changed: models, buffering, errors and cancellation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, WAYS, Counting, agrees, quick
from tests.core.operators.test_buffering_by_elements import MODELS, is_third
from tests.core.support import notes_of, subscribe

Apply = Callable[..., pyrs.Stream[Any]]
WINDOWS: dict[str, Apply] = {
    "buffer_until": lambda s, **options: s.window_until(is_third, **options),
    "buffer_until(cut_before)": lambda s, **options: s.window_until(is_third, cut_before=True, **options),
    "buffer_while": lambda s, **options: s.window_while(is_third, **options),
    "buffer_until_changed": lambda s, **options: s.window_until_changed(**options),
    "buffer_until_changed(key)": lambda s, **options: s.window_until_changed(is_third, **options),
}
"""The window operators, by the names of the buffer operators whose list models they share."""


@pytest.mark.parametrize("name", WINDOWS)
@quick
@given(numbers=NUMBERS, demands=DEMANDS, prefetch=st.integers(1, 4))
def test_windows_match_the_list_model(name: str, numbers: list[int], demands: list[int], prefetch: int) -> None:
    expected = MODELS[name][1](numbers)
    flat = [n for each in expected for n in each]
    agrees(lambda s: WINDOWS[name](s, prefetch=prefetch).concat_map(lambda window: window), numbers, flat, demands)
    for source in WAYS.values():
        read: list[TestSubscriber[int]] = []
        windows: TestSubscriber[Any] = TestSubscriber(
            pyrs.UNBOUNDED, on_element=lambda _, window, read=read: read.append(subscribe(window))
        )
        WINDOWS[name](source(numbers), prefetch=prefetch).subscribe(windows)
        windows.await_complete()
        assert [each.await_complete() for each in read] == expected
        windows.assert_rules()


def test_unread_windows_buffer_prefetch_elements_together() -> None:
    counting = Counting(range(1, 50))
    windows: TestSubscriber[Any] = TestSubscriber(1)
    counting.stream().window_until(lambda n: n % 2 == 0, prefetch=8).subscribe(windows)
    assert counting.requests == [8]
    first = subscribe(windows.elements[0])
    assert first.await_complete() == [1, 2]
    windows.request(pyrs.UNBOUNDED)
    assert [subscribe(window).elements for window in windows.elements[1:4]] == [[3, 4], [5, 6], [7, 8]]
    assert counting.requested > 8
    windows.cancel()


def test_element_reaches_the_reader_of_an_open_window_at_once() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    source.stream().window_until(is_third).subscribe(windows)
    source.next(1)
    window = subscribe(windows.elements[0])
    source.next(2)
    assert window.elements == [1, 2]
    source.next(3)
    assert window.await_complete() == [1, 2, 3]
    assert len(windows.elements) == 1
    source.next(4)
    assert len(windows.elements) == 2
    windows.cancel()


def test_cancelled_window_drops_its_elements_and_does_not_block_the_next() -> None:
    counting = Counting(range(1, 10))
    read: list[TestSubscriber[int]] = []
    windows: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    counting.stream().window_until(is_third, prefetch=2).subscribe(windows)
    read.append(subscribe(windows.elements[0], 1))
    read[0].cancel()
    read.append(subscribe(windows.elements[1]))
    assert read[1].await_complete() == [4, 5, 6]
    subscribe(windows.elements[2]).await_complete()
    windows.await_complete()


def test_upstream_is_cancelled_after_the_last_open_window() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    source.stream().window_until(is_third).subscribe(windows)
    source.next(1)
    window = subscribe(windows.elements[0])
    windows.cancel()
    source.next(2)
    assert window.elements == [1, 2]
    source.assert_not_cancelled()
    window.cancel()
    source.assert_cancelled(1)


def test_error_fails_the_open_window_and_the_stream() -> None:
    def reciprocal(n: int) -> bool:
        return 1 / n < 0

    for end in (lambda source: source.next(0), lambda source: source.error(ZeroDivisionError())):
        source: TestPublisher[int] = TestPublisher()
        windows: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
        source.stream().window_until(reciprocal).subscribe(windows)
        source.next(1)
        window = subscribe(windows.elements[0])
        end(source)
        assert isinstance(window.await_error(), ZeroDivisionError)
        assert isinstance(windows.await_error(), ZeroDivisionError)
        assert window.elements == [1]


def test_exception_of_the_predicate_names_the_operator() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        pyrs.just(0).window_while(lambda n: 1 // n).collect()
    assert "in window_while(" in notes_of(raised.value)[0]


def test_repr_shows_the_call() -> None:
    never = pyrs.never()
    assert repr(never.window_until(bool, cut_before=True)) == "never().window_until(bool, cut_before=True)"
    assert repr(never.window_while(bool)) == "never().window_while(bool)"
    assert repr(never.window_until_changed(abs)) == "never().window_until_changed(abs)"


def test_wrong_arguments_raise() -> None:
    never = pyrs.never()
    with pytest.raises(TypeError, match="predicate must be callable"):
        never.window_until(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefetch must be at least 1"):
        never.window_while(bool, prefetch=0)
