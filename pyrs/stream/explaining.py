"""Describe the operators of a stream: ``Stream.explain``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyrs._core.display import clipped
from pyrs._core.iterating import IterablePublisher
from pyrs._core.sites import Site
from pyrs.stream.traits import ExplainedStep, Trait, short_site, trait_of

_MAX_CALL = 60
_STATE = re.compile(r"<(\w+\([^<>]*\)): [^<>]*>")
"""Matches the repr of a scheduler; the first group is its call, without the state."""


class Explanation:
    """The operators of a stream, from its sources to the Subscriber.

    ``str(explanation)`` returns a table, and ``svg()`` a drawing, which a notebook displays.

    Attributes:
        steps: the sources and operators; the inputs of an operator precede it.
    """

    def __init__(self, steps: tuple[ExplainedStep, ...]) -> None:
        self.steps = steps

    def __str__(self) -> str:
        rows = [("", "demand", "buffers", "assembled at")]
        for place, step in enumerate(self.steps):
            call = self.prefix(place) + step.call
            rows.append((call, step.demand, step.holds, short_site(step.site)))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = []
        for place, row in enumerate(rows):
            lines.append("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
            if place and self.steps[place - 1].thread:
                step = self.steps[place - 1]
                lines.append(f"{'│ ' * len(step.branch)}~~~ thread: {step.thread} ~~~")
        return "\n".join([*(line.rstrip() for line in lines), "", *self.summary()])

    def __repr__(self) -> str:
        return str(self)

    def summary(self) -> list[str]:
        """Return the lines about bounded demand, buffers and changes of the thread.

        Each line lists the operators that bound demand, buffer elements or change the thread.
        """
        bounds = [f"{_name(step)} ({step.demand})" for step in self.steps if step.bounded]
        buffers = [f"{_name(step)} ({step.holds})" for step in self.steps if step.buffers]
        threads = [f"{_name(step)} ({step.thread})" for step in self.steps if step.thread]
        return [
            f"demand is bounded by  {', '.join(bounds) or 'the Subscriber only'}",
            f"elements wait in      {', '.join(buffers) or 'no buffer'}",
            f"the thread changes at {', '.join(threads) or 'no operator'}",
        ]

    def prefix(self, place: int) -> str:
        """Return the box-drawing characters before a step.

        They connect a combining operator with its inputs.
        """
        step = self.steps[place]
        before = self.steps[place - 1].branch if place else ()
        if not step.branch:
            return "" if not place else "."
        marks = [
            "│ " if before[: level + 1] == step.branch[: level + 1] else "├ " if number else "┌ "
            for level, number in enumerate(step.branch)
        ]
        return "".join(marks) + ("." if marks[-1] == "│ " else "")

    def svg(self) -> str:
        """Return a drawing of the operators, the buffers and the threads.

        The drawing has a box for each operator, a bar for each buffer and a line where the thread changes.
        """
        from pyrs.stream.drawing import draw_svg

        return draw_svg(self.steps)

    def _repr_html_(self) -> str:
        return self.svg()


def explain(publisher: Any) -> Explanation:
    """Describe the sources and operators of a Publisher, without subscribing to it."""
    return Explanation(tuple(_steps(publisher, ())))


def _steps(publisher: Any, branch: tuple[int, ...]) -> Iterator[ExplainedStep]:
    while getattr(type(publisher), "wraps_source", False) is True:
        publisher = publisher.source
    stages = getattr(publisher, "stages", ())
    if isinstance(publisher, IterablePublisher):
        yield _step(publisher, publisher.name, publisher.site, branch)
    elif stages:
        yield from _steps(publisher.source, branch)
    else:
        yield from _inputs(publisher, branch)
    for stage in stages:
        yield _step(stage, repr(stage), stage.site, branch)


def _inputs(publisher: Any, branch: tuple[int, ...]) -> Iterator[ExplainedStep]:
    source = getattr(publisher, "source", None)
    others = [other for other in _others(publisher) if other is not source]
    site = getattr(publisher, "site", None)
    call = getattr(publisher, "call", None)
    if not isinstance(call, str):
        call = repr(publisher)
    if source is None or others:
        for number, other in enumerate(others if source is None else [source, *others]):
            yield from _steps(other, (*branch, number))
        if others:
            call = f"{call.partition('(')[0]}({len(others) + (source is not None)} streams)"
        yield _step(publisher, call, site, branch)
        return
    steps = [*_steps(source, branch)]
    if call:
        steps.append(_step(publisher, call, site, branch))
    else:  # share() and cache() are one call with two operators
        steps[-1] = steps[-1]._replace(site=site)
    yield from steps


def _others(publisher: Any) -> list[Any]:
    """Return the additional Publishers that an operator subscribes to.

    These are neither its source nor inner streams.
    """
    found = []
    sources = getattr(publisher, "sources", ())
    if isinstance(sources, IterablePublisher):  # merge of a fixed number of streams
        sources = sources.iterable
    if isinstance(sources, tuple | list):
        found += list(sources)
    found += [getattr(publisher, name, None) for name in ("other", "fallback", "openings")]
    return [other for other in found if hasattr(other, "subscribe")]


def _step(subject: object, call: str, site: Site | None, branch: tuple[int, ...]) -> ExplainedStep:
    trait: Trait = trait_of(subject, call.partition("(")[0])
    return ExplainedStep(clipped(_STATE.sub(r"\1", call), _MAX_CALL), site, *trait, branch)


def _name(step: ExplainedStep) -> str:
    return step.call.partition("(")[0]
