import asyncio

import aioreactive


async def main():
    signals, ready = [], asyncio.Event()

    async def send(number):
        await ready.wait()  # a slow observer
        signals.append(number)

    async def throw(error):
        signals.append(error)

    async def close():
        signals.append("completed")

    observer = aioreactive.AsyncAnonymousObserver(send, throw, close)
    subscription = await aioreactive.from_iterable(range(3)).subscribe_async(observer)
    await asyncio.sleep(0.1)  # send waits
    await subscription.dispose_async()
    ready.set()
    await asyncio.sleep(0.1)
    print(signals)  # signals after dispose


asyncio.run(main())
