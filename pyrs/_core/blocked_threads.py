"""Track the event loops whose threads are blocked on a stream.

No work of the stream may be scheduled on such a loop, which is stalled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import local
from typing import Any

from pyrs.api import R


class _ThreadState(local):
    stalled: Any = None  # the loop that was running when this thread began to block


_this_thread = _ThreadState()


def running_loop() -> Any:
    """Return this thread's running asyncio loop if it can run callbacks, else None."""
    loop = _present_loop()
    return None if loop is _this_thread.stalled else loop


def is_blocked() -> bool:
    """Return whether the running loop is stalled: its thread blocks on a stream.

    A loop that a function of that stream runs, such as the loop of ``asyncio.run``, is not stalled.
    """
    loop = _present_loop()
    return loop is not None and loop is _this_thread.stalled


def blocked_error(loop: Any) -> RuntimeError | None:
    """Return the error of a stream that needs the loop that it stalls, or None.

    ``loop`` is the loop that the stream needs; None if it needs none.
    """
    if loop is not _this_thread.stalled or not is_blocked():
        return None
    return RuntimeError(
        "this call would block the event loop that the stream needs: await the stream instead, for example "
        "await stream.to_list()"
    )


def check_not_blocked(loop: Any) -> None:
    """Reject a loop whose thread blocks on the stream that needs the loop."""
    error = blocked_error(loop)
    if error is not None:
        raise error


def while_blocked(function: Callable[..., R], *arguments: Any) -> R:
    """Call a function that starts or drives a stream on which this thread blocks."""
    before, _this_thread.stalled = _this_thread.stalled, _present_loop()
    try:
        return function(*arguments)
    finally:
        _this_thread.stalled = before


def _present_loop() -> Any:
    # Without asyncio no loop runs. The function is missing while another thread imports asyncio.
    get = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if get is None else get()
