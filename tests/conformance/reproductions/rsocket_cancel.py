import asyncio

from reactivestreams.subscriber import DefaultSubscriber
from rsocket.streams.stream_from_generator import StreamFromGenerator


async def main():
    stream = StreamFromGenerator(lambda: iter([]))
    stream.subscribe(DefaultSubscriber())
    try:
        stream.cancel()  # before the first request
    except AttributeError as error:
        print(error)


asyncio.run(main())
