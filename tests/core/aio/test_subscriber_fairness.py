"""A Subscriber with coroutine methods lets other tasks run."""

from __future__ import annotations

import asyncio

import pyrs
from tests.waiting import DEADLINE


class NeverWaiting(pyrs.AsyncSubscriber[int]):
    """Requests elements one by one until the event is set, then cancels. No method waits."""

    def __init__(self, ran: asyncio.Event) -> None:
        self.ran = ran
        self.ended = asyncio.Event()
        self.elements = 0

    async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    async def on_next(self, element: int) -> None:
        self.elements += 1
        if self.ran.is_set():
            self.subscription.cancel()
            self.ended.set()
        self.subscription.request(1)

    async def on_error(self, error: BaseException) -> None:
        self.ended.set()

    async def on_complete(self) -> None:
        self.ended.set()


def test_other_tasks_run_although_no_method_waits() -> None:
    async def main() -> int:
        ran = asyncio.Event()
        subscriber = NeverWaiting(ran)
        pyrs.range(100_000).subscribe(subscriber)
        asyncio.get_running_loop().call_soon(ran.set)
        await asyncio.wait_for(subscriber.ended.wait(), DEADLINE)
        return subscriber.elements

    assert asyncio.run(main()) < 1_000
