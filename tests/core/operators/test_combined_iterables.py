"""merge, concat and zip take iterables of elements where they take Publishers, except str and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from tests.core.support import subscribe

CALLS: dict[str, tuple[Callable[..., pyrs.Stream[Any]], list[Any]]] = {
    "merge": (lambda s, *others: s.merge(*others), [1, 2, 3, 4, 5]),
    "concat": (lambda s, *others: s.concat(*others), [1, 2, 3, 4, 5]),
    "zip": (lambda s, *others: s.zip(*others), [(1, 3, 5)]),
    "pyrs.merge": (pyrs.merge, [1, 2, 3, 4, 5]),
    "pyrs.concat": (pyrs.concat, [1, 2, 3, 4, 5]),
    "pyrs.zip": (pyrs.zip, [(1, 3, 5)]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [list, tuple, dict.fromkeys, lambda elements: range(elements[0], elements[-1] + 1)])
def test_iterables_are_read_as_streams_of_elements(name: str, kind: Callable[[list[int]], Any]) -> None:
    call, expected = CALLS[name]
    stream = call(pyrs.just(1, 2), kind([3, 4]), kind([5]))
    for _ in range(2):
        assert sorted(stream.collect()) == expected


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("text", ["ab", b"ab"])
def test_text_is_rejected_with_advice(name: str, text: Any) -> None:
    message = rf"\[\d\] must be a Publisher or an iterable of elements, not {type(text).__name__}; use pyrs.just"
    with pytest.raises(TypeError, match=message):
        CALLS[name][0](pyrs.just(1, 2), text)


@pytest.mark.parametrize("name", CALLS)
def test_other_objects_are_rejected(name: str) -> None:
    for wrong in (3, list, pyrs.Stream):
        with pytest.raises(TypeError, match="must be a Publisher"):
            CALLS[name][0](pyrs.just(1, 2), wrong)


def test_infinite_iterator_is_pulled_on_demand() -> None:
    numbers = iter(range(1_000_000_000))
    subscriber = subscribe(pyrs.just(1).concat(numbers), 3)
    assert subscriber.elements == [1, 0, 1]
    subscriber.cancel()
    assert next(numbers) == 2


def test_error_of_an_iterable_fails_the_stream() -> None:
    def broken() -> Any:
        yield 2
        raise ValueError("planned")

    with pytest.raises(ValueError, match="planned"):
        pyrs.just(1).concat(broken()).collect()


def test_single_zipped_with_an_iterable_is_a_maybe() -> None:
    zipped = pyrs.just(1).zip([2])
    assert type(zipped) is pyrs.Maybe
    assert zipped.block() == (1, 2)
