"""Coroutine functions of streams whose elements arrive on several threads."""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import Any

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber


def on_another_thread(function: Any, *arguments: Any) -> None:
    """Call the function on a thread and wait, while the loop of this thread is stalled."""
    thread = Thread(target=function, args=arguments)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_calls_begin_in_the_order_of_their_elements() -> None:
    begun: list[int] = []

    async def begin(n: int) -> int:
        begun.append(n)
        return n

    async def main() -> None:
        source: TestPublisher[int] = TestPublisher()
        ended = asyncio.ensure_future(pyrs.Stream(source).for_each(begin, concurrency=3))
        await asyncio.sleep(0)
        on_another_thread(source.next, 0)
        source.next(1)
        on_another_thread(source.next, 2)
        source.complete()
        await ended

    asyncio.run(main())
    assert begun == [0, 1, 2]


def test_element_for_a_closed_loop_is_discarded_without_a_report_after_a_cancel(monkeypatch: Any, dropped: Any) -> None:
    discarded: list[int] = []

    async def same(n: int) -> int:
        return n

    async def main() -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.Stream(source).map(same, concurrency=2).do_on_discard(discarded.append).subscribe(subscriber)

        def closed(*arguments: Any, **options: Any) -> None:
            subscriber.cancel()
            raise RuntimeError("Event loop is closed")

        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "call_soon_threadsafe", closed)
            on_another_thread(source.next, 1)

    asyncio.run(main())
    assert discarded == [1]
    assert dropped.errors == []
