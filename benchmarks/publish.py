"""The published figures: ``docs/benchmarks/latest.json``, the tables of ``docs/benchmarks.md`` and the plots."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.budgets import Verdict
from benchmarks.report import machine

_DOCS = Path(__file__).resolve().parent.parent / "docs"
LATEST = _DOCS / "benchmarks" / "latest.json"
PAGE = _DOCS / "benchmarks.md"
_BEGIN = "<!-- The figures are written by `python -m benchmarks all --publish`. -->\n"
_END = "<!-- End of the figures. -->\n"
_LIBRARIES = ("reactivex", "aioreactive", "pyspark", "py4j", "JPype1", "msgpack", "pyarrow")
_TITLES = {"core": "The core", "bridge": "The bridge", "spark": "Spark"}
_EXPLANATION = """\
Times are in microseconds per element, the median of the repetitions of one run. In the plots, a contender with a
shorter bar than pyrs is faster; the scale is logarithmic. The column *x limit* is the time of pyrs divided by the time
of [the limit](#contenders); for the core, the limit is plain iterators.
"""


def publish(tables: Mapping[str, Sequence[Verdict]], guarded: Mapping[str, float]) -> None:
    """Write the figures of a whole run, then the page and the plots."""
    document = {
        "commit": _commit(),
        "machine": machine(),
        "versions": {library: _version(library) for library in _LIBRARIES},
        "tables": {name: [asdict(verdict) for verdict in verdicts] for name, verdicts in tables.items()},
        "guarded": dict(guarded),
    }
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    for name, verdicts in tables.items():
        _plot(_TITLES[name], verdicts, LATEST.parent / f"{name}.svg")


def published() -> dict[str, Any]:
    """Read the committed figures."""
    document: dict[str, Any] = json.loads(LATEST.read_text(encoding="utf-8"))
    return document


def render(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with its figures replaced by those of the document."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items() if number)
    lines = [f"Commit `{document['commit'][:10]}`; {document['machine']}; {versions}.", "", _EXPLANATION]
    for name, verdicts in document["tables"].items():
        lines += [f"### Figures: {_TITLES[name]}", "", f"![{_TITLES[name]}](benchmarks/{name}.svg)", ""]
        lines += ["| row | pyrs | compared with | ratio | budget | met | x limit |", "|---|---|---|---|---|---|---|"]
        lines += [_line(Verdict(**verdict)) for verdict in verdicts]
        lines.append("")
    return before + _BEGIN + "\n" + "\n".join(lines) + _END + after


def _line(verdict: Verdict) -> str:
    met = "yes" if verdict.passed else "**no**"
    limit = "" if verdict.of_limit is None else f"{verdict.of_limit:.2f}"
    cells = (f"`{verdict.row}`", verdict.ours, verdict.rival, verdict.ratio, verdict.budget, met, limit)
    return f"| {' | '.join(cells)} |"


def _plot(title: str, verdicts: Sequence[Verdict], path: Path) -> None:
    """Draw a bar for each contender of each row."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Text stays text, the background is transparent and the grey is legible on light and dark pages.
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pyrs", "text.color": "#808080"})
    rows = {verdict.row: verdict.times for verdict in verdicts if verdict.times}
    bars = [(row, name, time) for row, times in rows.items() for name, time in times.items()]
    groups = [group for group, times in enumerate(rows.values()) for _ in times]
    places = [bar + 0.7 * group for bar, group in enumerate(groups)]
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.22 * places[-1]))
    labels = [f"{row}  pyrs" if name == "ours" else name for row, name, _ in bars]
    colors = ["#00897b" if name == "ours" else "#9e9e9e" for _, name, _ in bars]
    drawn = axes.barh(places, [time for _, _, time in bars], color=colors)
    figures = [f"{time:,.0f}" if time > 100 else f"{time:.3g}" for _, _, time in bars]
    axes.bar_label(drawn, figures, padding=3, fontsize=7)
    axes.set(xscale="log", xlabel="microseconds per element, logarithmic", title=title)
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.tick_params(colors="#808080")
    axes.xaxis.label.set_color("#808080")
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
    pyplot.close(figure)


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, cwd=_DOCS)
    return done.stdout.strip()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
