"""Two signals at the same time, for certain: the first stays inside ``on_next`` until the second was there (1.3)."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, local

__all__ = ["hold", "overlapping"]

_mine = local()  # .overlap: what the thread has to hold for


class _Overlap:
    def __init__(self, seconds: float) -> None:
        self.inside = Event()  # the first signal is where it holds, or is through
        self.held = False
        self.release = Event()
        self.seconds = seconds


def hold() -> None:
    """Stay here if this thread brings the first of two signals that are to overlap; otherwise return at once.

    ``TestSubscriber`` and ``StepVerifier`` call this in ``on_next``.
    """
    overlap: _Overlap | None = getattr(_mine, "overlap", None)
    if overlap is not None and not overlap.held:
        overlap.held = True
        overlap.inside.set()
        overlap.release.wait(overlap.seconds)


def overlapping(first: Callable[[], None], second: Callable[[], None], seconds: float = 10.0) -> bool:
    """Run the first on a thread of its own, and the second on this one while the first is where it holds.

    Returns:
        Whether the two overlapped: False if the first came to no place where it could hold.
    """
    overlap = _Overlap(seconds)
    raised: list[BaseException] = []

    def run() -> None:
        _mine.overlap = overlap
        try:
            first()
        except BaseException as error:
            raised.append(error)
        finally:
            overlap.inside.set()

    thread = Thread(target=run, name="pyrs-test-overlap", daemon=True)
    thread.start()
    overlap.inside.wait(seconds)
    try:
        second()
    finally:
        overlap.release.set()
        thread.join(seconds)
    if raised:
        raise raised[0]
    return overlap.held
