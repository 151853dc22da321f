"""Iterate over a Publisher of the JVM with async for.

Run it: python examples/asyncio_consumer.py
"""

from __future__ import annotations

import asyncio

import jpype

from pyrs import jvm


async def main() -> None:
    with jvm.launch() as bridge:
        publisher = jpype.JClass("java.util.concurrent.SubmissionPublisher")()

        async def produce() -> None:
            while publisher.getNumberOfSubscribers() == 0:
                await asyncio.sleep(0.01)
            for word in ("demand", "crosses", "the", "loop", "too"):
                publisher.submit(jpype.JString(word))
                await asyncio.sleep(0)
            publisher.close()

        producer = asyncio.create_task(produce())
        async for word in bridge.from_jvm(publisher):  # one request for each step
            print(word)
        await producer

        # A CompletionStage is awaitable.
        future = jpype.JClass("java.util.concurrent.CompletableFuture").completedFuture(jpype.JInt(42))
        print("the answer is", await bridge.from_jvm(future))


asyncio.run(main())
