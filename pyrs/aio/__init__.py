"""The boundary between streams and asyncio or trio.

``import pyrs`` does not import this package. Its modules:

    loops         selects the asyncio loop that runs a coroutine: the running one or the background loop
    waking        lets a task wait for other threads, on asyncio and on trio
    iteration     a Publisher as an asynchronous iterator; the terminal operations that are awaited
    sources       an asynchronous iterable as a Publisher
    resources     a stream within an asynchronous context manager
    subscribers   a Subscriber whose methods are coroutines
    tasks         a coroutine function that runs as a task of a stream
"""

from __future__ import annotations

from pyrs.aio.loops import background_loop

__all__ = ["background_loop"]
