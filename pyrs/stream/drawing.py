"""Draw the steps of an ``Explanation`` as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pyrs.stream.traits import ExplainedStep, short_site

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
    width = right + max((max(len(first) + len(holds) + 3, len(site)) for first, holds, site in notes), default=0) * 6.4
    parts = []
    y = 10.0
    colour = 0
    colours: dict[tuple[int, ...], int] = {}
    last: dict[tuple[int, ...], tuple[float, float]] = {}  # the last box of each branch, until a line leads on from it
    for step, (demand, holds, site) in zip(steps, notes, strict=True):
        x = _LEFT + len(step.branch) * _INDENT
        for branch in [*last]:
            if branch == step.branch or branch[:-1] == step.branch != branch:
                start_x, start_y = last.pop(branch)
                middle = f"M {start_x} {start_y - _BOX / 2} " if branch != step.branch else f"M {x + 14} {start_y} "
                parts.append(f'<path d="{middle}H {x + 14} V {y}" fill="none" stroke="#607d8b"/>')
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
