"""The cost of operators that combine hundreds of sources."""

from __future__ import annotations

import math

import pytest

import pyrs
from pyrs import sinks
from pyrs._core.demand import Prefetch


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_zip_of_many_sources_looks_at_each_source_a_few_times(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    looks = 0
    until_refill = Prefetch.until_refill.fget  # type: ignore[attr-defined]

    def counted(prefetch: Prefetch) -> int:
        nonlocal looks
        looks += 1
        return until_refill(prefetch)  # type: ignore[no-any-return]

    monkeypatch.setattr(Prefetch, "until_refill", property(counted))
    sources = [sinks.multicast() for _ in range(200)]
    rows: list[object] = []
    pyrs.zip(*(sink.stream for sink in sources)).subscribe(on_next=rows.append)
    for number in range(3):
        for sink in sources if order == "forward" else reversed(sources):
            sink.emit(number)
    assert rows == [(n,) * 200 for n in range(3)]
    assert looks <= 10 * 200  # once for each arriving element would be 600 * 200


def test_merge_comparing_of_many_sources_searches_the_next_element() -> None:
    compared = 0

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __lt__(self, other: Key) -> bool:
            nonlocal compared
            compared += 1
            return self.number < other.number

    sources = [pyrs.range(place, 1024, 256) for place in range(256)]
    assert sources[0].merge_comparing(*sources[1:], key=Key).collect() == list(range(1024))
    assert compared <= 1024 * (math.log2(256) + 2)  # a comparison with each source would be 1024 * 256
