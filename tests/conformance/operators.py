"""The operators of the registry, each over an iterable and over a foreign Publisher, and further calls of some."""

from __future__ import annotations

from typing import Any

import pyrs
from pyrs import schedulers
from tests.conformance.entry import Entry, failed_stream, operator, publisher
from tests.conformance.feeding import turnstile
from tests.conformance.options import ONE_ELEMENT
from tests.operator_registry import SAMPLES, Conformance
from tests.operator_registry.row import Apply

__all__ = ["OPERATORS"]


def _entries(name: str, apply: Apply, options: Conformance) -> list[Entry]:
    """Return the entries of a sample of the registry."""
    given: dict[str, Any] = options._asdict()
    hot, name, apply = given.pop("hot"), given.pop("name") or name, given.pop("apply") or apply
    if not hot:
        return operator(name, apply, **given)
    word = name.partition("(")[0]
    return [
        publisher(
            f"{name} over a hot stream",
            lambda n: turnstile(n, apply),
            failed=lambda: apply(failed_stream()),
            covers=(f"Stream.{word}",),
        )
    ]


FURTHER_CALLS = [
    *operator(
        "filter, map and take in a row",
        lambda s: s.filter(lambda n: n % 2).map(str).take(2**62),
        elements=lambda n: min(2 * n, 2**62),
        covers=("Stream.filter", "Stream.map", "Stream.take"),
        subset=True,
    ),
    *operator("flat_map of one long stream", lambda s: pyrs.just(0).flat_map(lambda _: s), covers=("Stream.flat_map",)),
    *operator("buffer(1, seconds)", lambda s: s.buffer(1, seconds=60)),
    *operator("window(1, seconds)", lambda s: s.window(1, seconds=60).concat_map(lambda window: window)),
    publisher(
        "repeat of one element",
        lambda n: pyrs.just(0).repeat(n - 1) if n else pyrs.empty(),
        failed=lambda: failed_stream().repeat(),
        covers=("Stream.repeat",),
    ),
    publisher(
        "a Single through map, zip and flat_map",
        lambda n: pyrs.just(7).map(str).zip(pyrs.just(8)).flat_map(lambda pair: pyrs.just(pair[0])),
        failed=lambda: failed_stream().single().map(str).zip(pyrs.just(8)).flat_map(pyrs.just),
        max_elements=1,
        covers=("Single",),
        skips=ONE_ELEMENT,
    ),
    publisher(
        "a Maybe through filter, map and cache",
        lambda n: pyrs.just(7).filter(lambda number: n > 0).map(str).cache(),
        failed=lambda: failed_stream().single().filter(bool).map(str).cache(),
        max_elements=1,
        covers=("Maybe",),
    ),
    *operator("publish_on inline", lambda s: s.publish_on(schedulers.inline()), covers=("Stream.publish_on",)),
]

OPERATORS: list[Entry] = [
    entry
    for name, sample in SAMPLES.items()
    if sample.conformance is not None
    for entry in _entries(name, sample.apply, sample.conformance)
]
OPERATORS += FURTHER_CALLS
