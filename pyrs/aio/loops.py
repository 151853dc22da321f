"""Which asyncio loop runs a coroutine."""

from __future__ import annotations

import asyncio
import os
from contextvars import Context
from threading import Event, RLock, Thread
from typing import Any

from pyrs._core import hooks
from pyrs._core.blocking import is_blocked

__all__ = ["background_loop", "call_on", "check_turning", "is_here", "loop_for", "run_on"]

_lock = RLock()  # a finalizer, run by the collector while it is held, may want the loop
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop that runs coroutines where no other does: on a daemon thread, one a process, made on first use.

    Examples:
        >>> background_loop().is_running()
        True
    """
    global _loop
    with _lock:
        if _loop is not None and not _loop.is_closed():
            return _loop
        loop, ready = asyncio.new_event_loop(), Event()
        loop.call_soon(ready.set)
        _loop = loop
    # Not under the lock: the thread may run a finalizer that wants the loop, which takes calls before it runs.
    Thread(target=_run, args=(loop,), name="pyrs-asyncio", daemon=True).start()
    if not ready.wait(30):
        raise RuntimeError("the background loop did not start within 30 seconds")
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is closed: one SystemExit of a coroutine must not leave all the others without a loop."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException as error:
            hooks.on_error_dropped(error, "on the background loop")


def loop_for(given: asyncio.AbstractEventLoop | None = None) -> asyncio.AbstractEventLoop:
    """Return the loop that is given, else the one that runs on this thread, else the one in the background.

    A loop on this thread does not run while the thread waits for the stream, as ``collect`` does: then it is the one in
    the background.

    Raises:
        TypeError: what is given is no loop.
        RuntimeError: the stream needs the loop that waits for it.
    """
    if given is not None and not isinstance(given, asyncio.AbstractEventLoop):
        raise TypeError(f"loop must be an asyncio event loop, not {type(given).__name__}")
    here = asyncio._get_running_loop()
    if here is None or not is_blocked():
        return given or here or background_loop()
    chosen = given or background_loop()
    check_turning(chosen)
    return chosen


def check_turning(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse a loop that waits for the stream which it would have to run.

    Raises:
        RuntimeError: it does.
    """
    if is_blocked() and is_here(loop):
        raise RuntimeError("this would wait for the loop that it blocks: await the stream there, such as its to_list()")


def is_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the calling thread is the one on which the loop runs."""
    return asyncio._get_running_loop() is loop


def call_on(loop: asyncio.AbstractEventLoop, context: Context | None, function: Any, *arguments: Any) -> None:
    """Have the loop call the function, in a copy of the context.

    Raises:
        RuntimeError: the loop is closed.
    """
    inside = Context() if context is None else context.copy()
    if is_here(loop):
        loop.call_soon(function, *arguments, context=inside)
    else:
        loop.call_soon_threadsafe(function, *arguments, context=inside)


def run_on(loop: asyncio.AbstractEventLoop, context: Context | None, function: Any, *arguments: Any) -> None:
    """Call the function at once where the loop runs here, else have the loop call it; in a copy of the context.

    What is started so is known to the loop at once: ``asyncio.run`` cancels it, also if it ends in this very turn.

    Raises:
        RuntimeError: the loop is closed.
    """
    if is_here(loop):
        (Context() if context is None else context.copy()).run(function, *arguments)
    else:
        call_on(loop, context, function, *arguments)


def _after_fork() -> None:
    global _loop, _lock
    _loop, _lock = None, RLock()  # the thread stayed with the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
