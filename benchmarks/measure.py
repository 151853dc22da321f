"""Contenders that take turns, and the medians they get."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Contender:
    """Something that moves elements and can be timed.

    Attributes:
        name: "ours", or what the budget calls the rival.
        elements: How many elements one repetition moves: enough for a tenth of a second or more.
        run: Moves so many elements, checks that all of them came and returns the seconds it took.
    """

    name: str
    elements: int
    run: Callable[[int], float]


@dataclass(frozen=True)
class Measurement:
    """The repetitions of one contender, in microseconds an element."""

    repetitions: tuple[float, ...]

    @property
    def time(self) -> float:
        """The median."""
        return median(self.repetitions)

    @property
    def rate(self) -> float:
        """Elements a second at the median."""
        return 1e6 / self.time

    @property
    def spread(self) -> float:
        """The slowest repetition over the fastest."""
        return max(self.repetitions) / min(self.repetitions)


def take_turns(contenders: Sequence[Contender], repetitions: int, scale: float) -> dict[str, Measurement]:
    """Times every contender so many times, one after the other in each round.

    Two untimed rounds come first, for both sides' sake: the JVM compiles what runs often, so a cold rival would be
    flattered no less than a cold bridge.
    """
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for round_number in range(-2, repetitions):
        for contender in contenders:
            elements = max(1, int(contender.elements * scale))
            gc.collect()
            seconds = contender.run(elements)
            if round_number >= 0:
                times[contender.name].append(seconds * 1e6 / elements)
    return {name: Measurement(tuple(values)) for name, values in times.items()}
