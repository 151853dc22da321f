"""Describe the operators of a stream, as text and as SVG: ``Stream.explain``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from pyrs._core.display import LazyText, clipped
from pyrs._core.iterating import IterablePublisher
from pyrs._core.sites import Site
from pyrs.stream.traits import ExplainedStep, Trait, short_site, trait_of

_ROW = 46
_BOX = 34
_INDENT = 24
_CHARACTER = 7.3
_LEFT = 12
_THREADS = ("#e0f2f1", "#fff3e0", "#e8eaf6", "#fce4ec", "#f1f8e9")
"""The colours of the boxes. Each change of thread selects the next colour."""


def draw_svg(steps: Sequence[ExplainedStep]) -> str:
    """Draw the steps as one SVG element without scripts or external files."""
    deepest = max((len(step.branch) for step in steps), default=0)
    width_of_box = max((len(step.call) for step in steps), default=10) * _CHARACTER + 20
    right = _LEFT + deepest * _INDENT + width_of_box + 24
    notes = [(f"demand {step.demand}", f"buffers {step.holds}", short_site(step.site)) for step in steps]
    longest = max((max(len(demand) + len(holds) + 3, len(site)) for demand, holds, site in notes), default=0)
    width = right + longest * 6.4
    parts = []
    y = 10.0
    colour = 0
    colours: dict[tuple[int, ...], int] = {}
    last: dict[tuple[int, ...], tuple[float, float]] = {}  # the last box of each branch, until a line is drawn from it
    for step, (demand, holds, site) in zip(steps, notes, strict=True):
        x = _LEFT + len(step.branch) * _INDENT
        for branch in [*last]:
            if branch == step.branch or branch[:-1] == step.branch != branch:
                start_x, start_y = last.pop(branch)
                start = f"M {start_x} {start_y - _BOX / 2} " if branch != step.branch else f"M {x + 14} {start_y} "
                parts.append(f'<path d="{start}H {x + 14} V {y}" fill="none" stroke="#607d8b"/>')
        last[step.branch] = (x, y + _BOX)
        inherited = colours.get(step.branch, 0)
        if step.thread:
            colour = inherited = colour + 1
            parts.append(
                f'<line x1="{_LEFT}" x2="{width:.0f}" y1="{y + _BOX + 6}" y2="{y + _BOX + 6}" stroke="#ef6c00" '
                'stroke-dasharray="4 3"/>'
                f'<text x="{right:.0f}" y="{y + _BOX + 3}" font-size="10" fill="#ef6c00">'
                f"thread: {escape(step.thread)}</text>"
            )
        colours[step.branch] = inherited
        fill = _THREADS[inherited % len(_THREADS)]
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width_of_box:.0f}" height="{_BOX}" rx="5" fill="{fill}" '
            f'stroke="{"#00695c" if step.bounded else "#90a4ae"}" stroke-width="{2 if step.bounded else 1}"/>'
        )
        if step.buffers:
            parts.append(f'<rect x="{x}" y="{y}" width="6" height="{_BOX}" rx="3" fill="#ef6c00"/>')
        parts.append(
            f'<text x="{x + 12}" y="{y + 21}" font-family="monospace" font-size="12">{escape(step.call)}</text>'
            f'<text x="{right:.0f}" y="{y + 13}" font-size="11">{escape(demand)} · {escape(holds)}</text>'
            f'<text x="{right:.0f}" y="{y + 26}" font-size="10" fill="#607d8b">{escape(site)}</text>'
        )
        y += _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" font-family="sans-serif">{"".join(parts)}</svg>'
    )


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
        """Return the lines about bounded demand, buffers and changes of the thread."""
        bounds = [f"{_name(step)} ({step.demand})" for step in self.steps if step.bounded]
        buffers = [f"{_name(step)} ({step.holds})" for step in self.steps if step.buffers]
        threads = [f"{_name(step)} ({step.thread})" for step in self.steps if step.thread]
        return [
            f"demand is bounded by  {', '.join(bounds) or 'the Subscriber only'}",
            f"elements wait in      {', '.join(buffers) or 'no buffer'}",
            f"the thread changes at {', '.join(threads) or 'no operator'}",
        ]

    def prefix(self, place: int) -> str:
        """Return the text before a step: the lines of its branch, and an operator's dot."""
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
        return draw_svg(self.steps)

    _repr_html_ = svg


def explain(publisher: Any) -> Explanation:
    """Describe the sources and operators of a Publisher, without subscribing to it."""
    return Explanation(tuple(_steps(publisher, ())))


def _steps(publisher: Any, branch: tuple[int, ...]) -> Iterator[ExplainedStep]:
    while getattr(type(publisher), "wraps_source", False) is True:
        publisher = publisher.source
    if type(publisher).__module__.partition(".")[0] != "pyrs":
        # The attributes of a third-party Publisher may have the names that this module reads, and other meanings.
        yield ExplainedStep(clipped(repr(publisher), _MAX_CALL), None, *Trait(), branch)
        return
    stages = getattr(publisher, "stages", ())
    if isinstance(publisher, IterablePublisher):
        yield _step(publisher, str(publisher.name), publisher.site, branch)
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
    call = str(call) if isinstance(call, str | LazyText) else repr(publisher)
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
    """Return the Publishers of an operator, except its source and inner streams."""
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
