"""Errors for habits from other libraries name the call to write instead."""

from __future__ import annotations

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
    ],
)
def test_missing_method_names_the_one_of_pyrs(mistake: Callable[[Any], object], advice: str) -> None:
    with pytest.raises(AttributeError) as raised:
        mistake(pyrs.just(1))
    assert advice in str(raised.value)


def test_unknown_method_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"'Stream' object has no attribute 'frobnicate'$"):
        pyrs.just(1).frobnicate  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(pyrs.just(1), "_repr_markdown_")


def test_subscribe_with_a_function_names_the_parameter() -> None:
    with pytest.raises(TypeError, match=r"subscribe\(on_next=print\)"):
        pyrs.just(1).subscribe(print)  # type: ignore[call-overload]


def test_zip_with_a_list_names_from_iterable() -> None:
    with pytest.raises(TypeError, match=r"pyrs\.from_iterable makes a stream of an iterable"):
        pyrs.just(1).zip([1, 2])  # type: ignore[call-overload]


def test_emitter_names_its_methods() -> None:
    def emit(emitter: Any) -> None:
        emitter.on_next(1)

    with pytest.raises(AttributeError, match=r"use next\(\)"):
        pyrs.create(emit).collect(timeout=DEADLINE)


def test_interval_without_demand_names_the_strategies() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    pyrs.interval(0.001).subscribe(subscriber)
    error = subscriber.await_error(pyrs.PyrsError, DEADLINE)
    assert "overflow='drop' skips such ticks" in str(error)
