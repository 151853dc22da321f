"""The display of a DataFrame's stream: its progress, and a table in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any

from pyrs._core import hooks
from pyrs.operators.progress import Progress

_SECONDS = 0.5


class Bar:
    """Shows the progress of one subscription.

    An error of the display does not end the stream. One thread at a time calls the methods.
    """

    def __init__(self, progress: Progress) -> None:
        self._name = "" if progress.description is None else f"{progress.description}: "
        self._file = sys.stderr if progress.file is None else progress.file
        self._rows = 0
        self._done = 0
        self._count: int | None = None
        self._began = monotonic()
        self._shown = 0.0
        self._broken = False
        self._tqdm: Any = None
        self._try(self._open, progress)

    def rows(self, n: int) -> None:
        """Add n rows that were signalled."""
        self._rows += n
        self._show()

    def partitions(self, done: int, count: int) -> None:
        """Set the number of partitions that were read, and the total number."""
        at_once = self._count is None
        self._done, self._count = done, count
        self._show(at_once)

    def close(self) -> None:
        """Show the final numbers, and release the display."""
        self._show(True)
        if self._tqdm is not None:
            self._try(self._tqdm.close)

    def _open(self, progress: Progress) -> None:
        try:
            from tqdm.auto import tqdm  # optional; it has a bar for notebooks
        except ImportError:
            return
        self._tqdm = tqdm(desc=progress.description, file=progress.file, unit=" partitions")

    def _show(self, at_once: bool = False) -> None:
        if self._count is not None and (at_once or monotonic() - self._shown >= _SECONDS):
            self._shown = monotonic()
            self._try(self._write if self._tqdm is None else self._update)

    def _try(self, function: Callable[..., object], *arguments: Any) -> None:
        try:
            if not self._broken:
                function(*arguments)
        except Exception as error:
            self._broken = True
            hooks.on_error_dropped(error, "showing the progress of from_dataframe")

    def _update(self) -> None:
        bar = self._tqdm
        if bar.total is None:
            bar.reset(total=self._count)
        bar.set_postfix_str(f"{self._rows:,} rows", refresh=False)
        bar.update(self._done - bar.n)
        bar.refresh()

    def _write(self) -> None:
        seconds = monotonic() - self._began
        rate = self._rows / seconds if seconds else 0.0
        done = f"{self._done} of {self._count} partitions, {self._rows} rows"
        self._file.write(f"{self._name}{done}, {rate:.0f} a second\n")


def table_of(title: str, text: str, columns: list[tuple[str, str]]) -> str:
    """Return the HTML of columns and their types, below a title and a line of text."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(kind)}</td></tr>" for name, kind in columns)
    return (
        f"<div><b><code>{escape(title)}</code></b><br>{escape(text)} Nothing runs before a Subscriber requests."
        f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
