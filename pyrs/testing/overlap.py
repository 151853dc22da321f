"""Make two signals overlap reliably, to violate §1.3.

The first signal waits inside ``on_next`` until the second one has been emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, local

_local = local()  # .overlap: the _Overlap whose first signal this thread emits


class _Overlap:
    def __init__(self, seconds: float) -> None:
        self.inside = Event()  # set when the first signal waits in hold(), or has ended
        self.waited = False
        self.release = Event()
        self.seconds = seconds


def hold() -> None:
    """Wait here if this thread emits the first of two overlapping signals.

    ``TestSubscriber`` and ``StepVerifier`` call this in ``on_next``.
    """
    overlap: _Overlap | None = getattr(_local, "overlap", None)
    if overlap is not None and not overlap.waited:
        overlap.waited = True
        overlap.inside.set()
        overlap.release.wait(overlap.seconds)


def overlapping(first: Callable[[], None], second: Callable[[], None], seconds: float = 10.0) -> bool:
    """Run ``second`` on this thread while ``first`` waits in ``hold`` on a new thread.

    Each wait for the other thread ends after ``seconds``.

    Returns:
        True if the two overlapped; False if ``first`` did not call ``hold``.
    """
    overlap = _Overlap(seconds)
    raised: list[BaseException] = []

    def run() -> None:
        _local.overlap = overlap
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
    return overlap.waited
