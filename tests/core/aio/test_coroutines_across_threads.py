"""Coroutine functions of streams whose elements arrive on several threads."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pyrs
from pyrs.aio.subscribers import QueueingSubscriber
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import run_on_threads


def test_calls_begin_in_the_order_of_their_elements() -> None:
    begun: list[int] = []

    async def begin(n: int) -> int:
        begun.append(n)
        return n

    async def main() -> None:
        source: TestPublisher[int] = TestPublisher()
        ended = asyncio.ensure_future(pyrs.Stream(source).for_each(begin, concurrency=3))
        await asyncio.sleep(0)
        run_on_threads(partial(source.next, 0))
        source.next(1)
        run_on_threads(partial(source.next, 2))
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
            run_on_threads(partial(source.next, 1))

    asyncio.run(main())
    assert discarded == [1]
    assert dropped.errors == []


def test_cancel_while_a_subscription_arrives_cancels_it() -> None:
    class Racing(QueueingSubscriber):
        """Cancels just before the Subscription is stored, as another thread may."""

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "_subscription" and value is not None:
                self.cancel()
            super().__setattr__(name, value)

        def cancel(self) -> None:
            self._cancel()

        def request(self, n: int, /) -> None:
            raise AssertionError("cancelled")

        def _begin(self) -> None:
            """Request nothing."""

        def _put(self, name: str, argument: Any = None) -> None:
            raise AssertionError("no signal was sent")

    source: TestPublisher[int] = TestPublisher()
    source.subscribe(Racing(None))
    source.assert_cancelled()
