"""progress: show the number of elements with tqdm, or as plain lines without it."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any, Protocol

from pyrs._core import hooks
from pyrs._core.stage import PushedStage
from pyrs._core.validation import checked_natural, checked_string
from pyrs.operators.observing import ObservingRun


class _Writes(Protocol):
    def write(self, text: str, /) -> object: ...


class _Bar(Protocol):
    def update(self, n: int, /) -> object: ...
    def close(self) -> object: ...


class _ProgressRun(ObservingRun):
    sees_elements = True

    def __init__(self, stage: Progress) -> None:
        super().__init__()
        self._stage = stage
        self._bar: _Bar | None = None

    def on_subscribe(self) -> None:
        try:
            self._bar = self._stage.bar()
        except BaseException as error:
            self._give_up(error)

    def on_next(self, element: Any) -> None:
        bar = self._bar
        if bar is not None:
            try:
                bar.update(1)
            except BaseException as error:
                self._give_up(error)
        self.emit(element)

    def ended(self, how: str, error: BaseException | None) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            try:
                bar.close()
            except BaseException as error:
                self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """Report an error of the output and stop showing; it must not fail the stream."""
        self._bar = None
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        hooks.on_error_dropped(error, f"showing {self._stage!r}")


class Progress(PushedStage):
    """``progress(total, description)``: a progress bar for each subscription."""

    run_type = _ProgressRun

    def __init__(self, total: int | None, description: str | None, file: _Writes | None) -> None:
        self.total = total if total is None else checked_natural(total, "total")
        self.description = description if description is None else checked_string(description, "description")
        if file is not None and not callable(getattr(file, "write", None)):
            raise TypeError(f"file must be an object with write(), not {type(file).__name__}")
        self.file = file
        given = {"total": total, "description": description}
        shown = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        self.call = f"progress({', '.join(shown)})"

    def bar(self) -> _Bar:
        """Return the progress bar of one subscription."""
        try:
            from tqdm.auto import tqdm  # optional; shows a widget in a notebook
        except ImportError:
            return PlainLines(self.total, self.description, sys.stderr if self.file is None else self.file)
        bar: _Bar = tqdm(total=self.total, desc=self.description, file=self.file, unit=" elements")
        return bar


class PlainLines:
    """Writes a line at most every half second, and one at the end."""

    def __init__(self, total: int | None, description: str | None, file: _Writes) -> None:
        self._end = "" if total is None else f" of {total}"
        self._name = "" if description is None else f"{description}: "
        self._file = file
        self._count = 0
        self._began = self._shown = monotonic()

    def update(self, n: int, /) -> None:
        """Count ``n`` more elements."""
        self._count += n
        now = monotonic()
        if now - self._shown >= 0.5:
            self._show(now)

    def close(self) -> None:
        """Write the last line."""
        self._show(monotonic())

    def _show(self, now: float) -> None:
        self._shown = now
        rate = self._count / (now - self._began) if now > self._began else 0.0
        self._file.write(f"{self._name}{self._count}{self._end} elements, {rate:.0f} a second\n")
