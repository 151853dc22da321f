"""Use streams in pure Python, without a JVM. Run it: python examples/core_only.py"""

from __future__ import annotations

import asyncio

import pyrs


class TwoAtATime(pyrs.Subscriber[str]):
    """Request two elements, and two more whenever both are processed."""

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        self.left = 2
        print("request 2")
        subscription.request(2)

    def on_next(self, element: str) -> None:
        print("  got", element)
        self.left -= 1
        if self.left == 0:
            self.left = 2
            print("request 2")
            self.subscription.request(2)

    def on_error(self, error: BaseException) -> None:
        print("failed:", error)

    def on_complete(self) -> None:
        print("complete")


async def main() -> None:
    # iterate() requests one element at a time, so the source may be endless.
    async with pyrs.range(1, 10**9).map(lambda n: n * n).iterate() as squares:
        async for square in squares:
            if square > 50:
                print("the first square above 50:", square)
                break


words = (
    pyrs.from_iterable(["back", "pressure", "is", "a", "conversation"])
    .filter(lambda word: len(word) > 1)
    .map(str.upper)
)
print(words.collect())
words.subscribe(TwoAtATime())  # the same cold stream, from its beginning
asyncio.run(main())
