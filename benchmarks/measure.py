"""Alternating measurements of contenders, and their medians."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Contender:
    """A technique whose processing of elements is timed.

    Attributes:
        name: "ours", or the name in a budget.
        elements: the number of elements of one repetition: enough for at least a tenth of a second.
        run: processes a number of elements, verifies that all arrived and returns the seconds.
    """

    name: str
    elements: int
    run: Callable[[int], float]


@dataclass(frozen=True)
class Measurement:
    """The repetitions of one contender, in microseconds per element."""

    repetitions: tuple[float, ...]

    @property
    def time(self) -> float:
        """Return the median."""
        return median(self.repetitions)

    @property
    def rate(self) -> float:
        """Return elements per second at the median."""
        return 1e6 / self.time

    @property
    def spread(self) -> float:
        """Return the ratio of the slowest repetition to the fastest."""
        return max(self.repetitions) / min(self.repetitions)


def take_turns(contenders: Sequence[Contender], repetitions: int, scale: float) -> dict[str, Measurement]:
    """Time the contenders in rounds, in each of which every contender runs once.

    Two untimed rounds come first, because the JVM compiles code that runs often.
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
