"""The edge between streams and event loops. asyncio is imported when somebody comes here, not by ``import pyrs``.

loops         which loop runs a coroutine: the one that is running, or one of our own in the background
waking        how a task waits for other threads: on asyncio, and on trio
iteration     a Publisher as an asynchronous iterator; the endings that can be awaited
sources       an asynchronous iterable as a Publisher
subscribers   a Subscriber whose methods are coroutines
tasks         a coroutine function that runs as a task, for a stream
"""

from __future__ import annotations

from pyrs.aio.loops import background_loop

__all__ = ["background_loop"]
