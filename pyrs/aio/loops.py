"""Select the asyncio loop that runs a coroutine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextvars import Context
from threading import Event, RLock, Thread
from typing import Any

from pyrs._core import hooks
from pyrs._core.blocked_threads import check_not_blocked, is_blocked

_lock = RLock()  # reentrant: a finalizer may need the loop while the lock is held
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the background asyncio loop, for threads without a running loop.

    There is one per process. It runs on a daemon thread and is created on first use.

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
    # Started without the lock, because the thread may run a finalizer that needs it. The loop accepts calls before it
    # runs.
    thread = Thread(target=_run, args=(loop,), name="pyrs-asyncio", daemon=True)
    try:
        thread.start()
    except BaseException:
        if thread.ident is None:  # the system has no more threads: the next call must not return a loop that never runs
            with _lock:
                _loop = None
            loop.close()
        raise
    if not ready.wait(30):
        raise RuntimeError("the background loop did not start within 30 seconds")
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is closed, even if a coroutine raises SystemExit."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException as error:
            hooks.on_error_dropped(error, "on the background loop")


def loop_for(given: asyncio.AbstractEventLoop | None = None) -> asyncio.AbstractEventLoop:
    """Return the given loop, else the running loop, else the background loop.

    While this thread blocks on a stream, as in ``collect``, its loop is stalled: the background loop is used instead.

    Raises:
        TypeError: ``given`` is not an event loop.
        RuntimeError: the given loop, or else the background loop, is the stalled loop.
    """
    if given is not None and not isinstance(given, asyncio.AbstractEventLoop):
        raise TypeError(f"loop must be an asyncio event loop, not {type(given).__name__}")
    here = asyncio._get_running_loop()
    if here is None or not is_blocked():
        return given or here or background_loop()
    chosen = given or background_loop()
    check_not_blocked(chosen)
    return chosen


def is_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the loop runs on the calling thread."""
    return asyncio._get_running_loop() is loop


def call_on(loop: asyncio.AbstractEventLoop, context: Context | None, function: Any, *arguments: Any) -> None:
    """Schedule a call on the loop, in a copy of the context or an empty one.

    Raises:
        RuntimeError: the loop is closed.
    """
    inside = Context() if context is None else context.copy()
    if is_here(loop):
        loop.call_soon(function, *arguments, context=inside)
    else:
        loop.call_soon_threadsafe(function, *arguments, context=inside)


def run_on(loop: asyncio.AbstractEventLoop, context: Context | None, function: Any, *arguments: Any) -> None:
    """Call the function on the loop, in a copy of the context or an empty one.

    On the loop's own thread, the function has returned when ``run_on`` returns. A task that the function creates then
    exists, so ``asyncio.run`` cancels the task even if its main coroutine returns in this iteration of the loop.

    Raises:
        RuntimeError: the loop is closed.
    """
    if is_here(loop):
        (Context() if context is None else context.copy()).run(function, *arguments)
    else:
        call_on(loop, context, function, *arguments)


def create_task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
    """Return a new task of the loop, or a future with the task factory's error.

    Called on the loop's thread, where an exception would reach the handler of the loop instead of the stream.
    """
    try:
        return loop.create_task(coroutine)
    except Exception as error:
        coroutine.close()
        failed: asyncio.Future[Any] = loop.create_future()
        failed.set_exception(error)
        return failed


def _after_fork() -> None:
    global _loop, _lock
    _loop, _lock = None, RLock()  # the loop's thread exists only in the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
