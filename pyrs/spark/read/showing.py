"""The display of a DataFrame's stream: its progress, and a table in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any, Protocol

from pyrs._core import hooks

__all__ = ["Bar", "Shown", "table_of"]

_SECONDS = 0.5


class _Screen(Protocol):
    def show(self, rows: int, done: int, count: int | None) -> object: ...
    def close(self) -> object: ...


class Shown:
    """The arguments of ``progress``.

    Args:
        description: the beginning of the line.
        file: the file to write to; None for stderr.

    Raises:
        TypeError: the description is not a string, or the file has no ``write``.
    """

    def __init__(self, description: str | None, file: Any) -> None:
        if not isinstance(description, (str, type(None))):
            raise TypeError(f"description must be a string, not {type(description).__name__}")
        if file is not None and not callable(getattr(file, "write", None)):
            raise TypeError(f"file must have write(), not {type(file).__name__}")
        self.description = description
        self.file = file

    def bar(self) -> Bar:
        """Return the bar of one subscription."""
        return Bar(self._screen)

    def _screen(self) -> _Screen:
        try:
            from tqdm.auto import tqdm  # optional; it has a bar for notebooks
        except ImportError:
            return _PlainLines(self.description, self.file or sys.stderr)
        return _Tqdm(tqdm(desc=self.description, file=self.file, unit=" partitions"))


class Bar:
    """Counts the rows and partitions of one subscription. An error of the display does not end the stream.

    One thread calls it at a time.
    """

    def __init__(self, make: Callable[[], _Screen]) -> None:
        self._rows = 0
        self._done = 0
        self._count: int | None = None
        self._shown = 0.0
        self._screen: _Screen | None = None
        self._try(lambda: setattr(self, "_screen", make()))

    def rows(self, n: int) -> None:
        """Add n rows that were signalled."""
        self._rows += n
        self._show(monotonic() - self._shown >= _SECONDS)

    def partitions(self, done: int, count: int) -> None:
        """Set the number of partitions that were read, and of all."""
        at_once = self._count is None
        self._done, self._count = done, count
        self._show(at_once or monotonic() - self._shown >= _SECONDS)

    def close(self) -> None:
        """Show the final numbers, and release the display."""
        self._show(True)
        screen, self._screen = self._screen, None
        if screen is not None:
            self._try(screen.close)

    def _show(self, now: bool) -> None:
        screen = self._screen
        if now and screen is not None:
            self._shown = monotonic()
            self._try(lambda: screen.show(self._rows, self._done, self._count))

    def _try(self, show: Callable[[], object]) -> None:
        try:
            show()
        except Exception as error:
            self._screen = None
            hooks.on_error_dropped(error, "showing the progress of from_dataframe")


class _Tqdm:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, rows: int, done: int, count: int | None) -> None:
        bar = self._bar
        if count is not None and bar.total is None:
            bar.reset(total=count)
        bar.set_postfix_str(f"{rows:,} rows", refresh=False)
        bar.update(done - bar.n)
        bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _PlainLines:
    def __init__(self, description: str | None, file: Any) -> None:
        self._name = "" if description is None else f"{description}: "
        self._file = file
        self._began = monotonic()

    def show(self, rows: int, done: int, count: int | None) -> None:
        if count is not None:
            seconds = monotonic() - self._began
            rate = rows / seconds if seconds else 0.0
            self._file.write(f"{self._name}{done} of {count} partitions, {rows} rows, {rate:.0f} a second\n")

    def close(self) -> None:
        """Do nothing: the last line was written."""


def table_of(title: str, text: str, columns: list[tuple[str, str]]) -> str:
    """Return the HTML of columns and their types, below a title and a line of text."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(kind)}</td></tr>" for name, kind in columns)
    return (
        f"<div><b><code>{escape(title)}</code></b><br>{escape(text)} Nothing runs before a Subscriber requests."
        f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
