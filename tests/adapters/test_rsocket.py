"""rsocket-py's publishers to and from streams, over a connection of the real one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from reactivestreams.publisher import DefaultPublisher
from reactivestreams.subscriber import DefaultSubscriber
from reactivestreams.subscription import DefaultSubscription
from rsocket.exceptions import RSocketProtocolError
from rsocket.helpers import single_transport_provider
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.transports.tcp import TransportTCP

import pyrs
from pyrs.adapters.rsocket import Receiver, from_rsocket, to_rsocket
from pyrs.errors import DemandExceeded
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Dropped

DEADLINE = 20.0


def payload(value: object) -> Payload:
    return Payload(str(value).encode())


def number(received: Payload) -> int:
    assert received.data is not None
    return int(received.data)


class Handler(BaseRequestHandler):
    """Answers with the stream that the test gives, and keeps what was requested of it."""

    def __init__(self, answer: Callable[[Payload], pyrs.Publisher[Any]]) -> None:
        super().__init__()
        self.answer = answer
        self.requested: list[int] = []
        self.cancelled = asyncio.Event()

    async def request_stream(self, request: Payload) -> Any:
        return to_rsocket(self.watched(self.answer(request)))

    async def request_channel(self, request: Payload) -> Any:
        receiver = Receiver()
        return to_rsocket(self.watched(receiver.stream.map(lambda p: payload(number(p) * 10)))), receiver

    def watched(self, stream: pyrs.Publisher[Any]) -> pyrs.Stream[Any]:
        return pyrs.Stream(stream).do_on_request(self.requested.append).do_on_cancel(self.cancelled.set)


@asynccontextmanager
async def connected(handler: BaseRequestHandler) -> AsyncIterator[RSocketClient]:
    servers: list[RSocketServer] = []

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        servers.append(RSocketServer(TransportTCP(reader, writer), handler_factory=lambda: handler))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with RSocketClient(single_transport_provider(TransportTCP(reader, writer))) as client:
            yield client
    finally:
        for server in servers:
            await server.close()
        listening.close()
        await listening.wait_closed()


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(main(), DEADLINE)

    asyncio.run(bounded())


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


class TestRequestStream:
    def test_every_element_and_the_end(self) -> None:
        async def main() -> None:
            async with connected(Handler(lambda request: pyrs.range(number(request)).map(payload))) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(500)))
                assert await stream.map(number).to_list() == list(range(500))
                assert await stream.map(number).count() == 500  # a request of its own

        run(main)

    def test_exact_demand_over_the_wire(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.range(100).map(payload))
            async with connected(handler) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber()
                from_rsocket(lambda: client.request_stream(payload(0))).map(number).subscribe(subscriber)
                for _ in range(5):
                    await asyncio.sleep(0)
                assert handler.requested == []
                subscriber.request(2)
                await until(lambda: len(subscriber.elements) == 2)
                subscriber.request(3)
                await until(lambda: len(subscriber.elements) == 5)
                assert handler.requested == [2, 3]
                subscriber.assert_elements(0, 1, 2, 3, 4).assert_live()
                subscriber.cancel()
                await handler.cancelled.wait()

        run(main)

    def test_an_endless_stream_and_unbounded_demand_leave_the_loop_free(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.generate(lambda: 0, lambda n: (payload(n), n + 1)))
            async with connected(handler) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0))).map(number)
                assert await stream.take(1_000).to_list() == list(range(1_000))
                await handler.cancelled.wait()
                handler.cancelled.clear()
                subscriber: TestSubscriber[int] = TestSubscriber(None)
                stream.subscribe(subscriber)
                await until(lambda: len(subscriber.elements) > 1_000)
                subscriber.cancel()
                await handler.cancelled.wait()
                assert max(handler.requested) <= 128

        run(main)

    def test_an_error_crosses(self) -> None:
        async def main() -> None:
            failing = pyrs.just(payload(1)).concat(pyrs.error(ValueError("broken")))
            async with connected(Handler(lambda request: failing)) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber(None)
                from_rsocket(client.request_stream(payload(0))).map(number).subscribe(subscriber)
                await until(lambda: subscriber.ended)
                subscriber.assert_elements(1)
                assert "broken" in str(subscriber.assert_error(RuntimeError))

        run(main)

    def test_an_element_that_is_no_payload_is_an_error_of_both_sides(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.just("text", "more"))
            async with connected(handler) as client:
                with pytest.raises(RuntimeError, match="must be a Payload, not str"):
                    await from_rsocket(lambda: client.request_stream(payload(0))).to_list()
                assert handler.cancelled.is_set()

        run(main)

    def test_signals_from_other_threads_go_out_on_the_loop(self) -> None:
        async def main() -> None:
            threaded = pyrs.range(3_000).map(payload).publish_on(pyrs.schedulers.default())
            async with connected(Handler(lambda request: threaded)) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0)))
                assert await stream.map(number).to_list() == list(range(3_000))

        run(main)

    def test_demand_and_cancel_from_other_threads_go_out_on_the_loop(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.range(1_000).map(payload))
            async with connected(handler) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0))).map(number)
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(None, lambda: list(stream.take(100).to_iterable(prefetch=7)))
                assert found == list(range(100))
                await handler.cancelled.wait()

        run(main)

    def test_a_request_can_be_subscribed_to_once(self) -> None:
        async def main() -> None:
            async with connected(Handler(lambda request: pyrs.range(3).map(payload))) as client:
                stream = from_rsocket(client.request_stream(payload(0))).map(number)
                assert await stream.to_list() == [0, 1, 2]
                with pytest.raises(RuntimeError, match="accepts one Subscriber"):
                    await stream.to_list()

        run(main)

    def test_a_lost_connection_fails_one_side_and_cancels_the_other(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.never())
            subscriber: TestSubscriber[Any] = TestSubscriber(1)
            async with connected(handler) as client:
                from_rsocket(lambda: client.request_stream(payload(0))).subscribe(subscriber)
                await until(lambda: handler.requested)
                client._stream_control.stop_all_streams()
            await handler.cancelled.wait()
            subscriber.assert_error(RSocketProtocolError)

        run(main)


class TestRequestChannel:
    def test_both_ways_with_exact_demand(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.empty())
            sent: list[int] = []
            async with connected(handler) as client:
                outgoing = pyrs.range(50).map(payload).do_on_request(sent.append)
                subscriber: TestSubscriber[int] = TestSubscriber()
                from_rsocket(lambda: client.request_channel(payload("first"), to_rsocket(outgoing))).map(
                    number
                ).subscribe(subscriber)
                subscriber.request(2)
                await until(lambda: len(subscriber.elements) == 2)
                subscriber.request(3)
                await until(lambda: len(subscriber.elements) == 5)
                assert (handler.requested, sent) == ([2, 3], [2, 3])  # the answer's demand is the question's
                subscriber.request(100)
                await until(lambda: subscriber.ended)
                assert subscriber.assert_complete().elements == [n * 10 for n in range(50)]

        run(main)

    def test_a_cancel_reaches_the_far_end_of_both(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.empty())
            source: TestPublisher[Payload] = TestPublisher()
            async with connected(handler) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber(5)
                from_rsocket(lambda: client.request_channel(payload(0), to_rsocket(source))).subscribe(subscriber)
                await until(lambda: handler.requested)
                subscriber.cancel()
                await handler.cancelled.wait()
                await until(lambda: _was_cancelled(source))

        run(main)

    def test_an_error_of_the_requester_reaches_the_receiver(self) -> None:
        async def main() -> None:
            ended = asyncio.Event()

            class Failing(Handler):
                async def request_channel(self, request: Payload) -> Any:
                    receiver = Receiver()
                    receiver.stream.subscribe(on_error=lambda error: ended.set())
                    return None, receiver

            async with connected(Failing(lambda request: pyrs.empty())) as client:
                outgoing = to_rsocket(pyrs.error(ValueError("here")))
                subscriber: TestSubscriber[Any] = TestSubscriber(1)
                from_rsocket(lambda: client.request_channel(payload(0), outgoing)).subscribe(subscriber)
                await ended.wait()
                await until(lambda: subscriber.ended)

        run(main)


def _was_cancelled(source: TestPublisher[Any]) -> bool:
    try:
        source.assert_cancelled()
    except AssertionError:
        return False
    return True


class Manual(DefaultPublisher, DefaultSubscription):
    """A publisher of reactivestreams that signals when the test says so."""

    def __init__(self) -> None:
        self.requested: list[int] = []
        self.cancels = 0

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.requested.append(n)

    def cancel(self) -> None:
        self.cancels += 1


class TestWithoutAConnection:
    def test_any_publisher_and_the_end_that_comes_with_an_element(self) -> None:
        async def main() -> None:
            manual = Manual()
            subscriber: TestSubscriber[int] = TestSubscriber(2)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(1)
            manual.subscriber.on_next(2, is_complete=True)
            subscriber.assert_elements(1, 2).assert_complete()
            assert (manual.requested, manual.cancels) == ([2], 0)

        run(main)

    def test_an_empty_one_needs_no_demand(self) -> None:
        async def main() -> None:
            manual = Manual()
            subscriber: TestSubscriber[int] = TestSubscriber()
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_complete()
            subscriber.assert_elements().assert_complete()

        run(main)

    def test_more_than_was_requested_is_a_violation(self) -> None:
        async def main() -> None:
            manual = Manual()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(1)
            manual.subscriber.on_next(2)
            subscriber.assert_elements(1).assert_error(DemandExceeded)
            assert manual.cancels == 1

        run(main)

    def test_demand_without_bound_is_sent_in_parts_that_a_frame_can_hold(self) -> None:
        async def main() -> None:
            manual = Manual()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            from_rsocket(manual).subscribe(subscriber)
            for n in range(10):
                manual.subscriber.on_next(n)
            assert manual.requested == [0x7FFFFFFF]
            subscriber.cancel()
            assert manual.cancels == 1

        run(main)

    def test_none_and_errors(self, dropped: Dropped) -> None:
        async def main() -> None:
            manual = Manual()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(None)
            subscriber.assert_error(pyrs.NullSignal)
            assert manual.cancels == 1
            late = ValueError("late")
            manual.subscriber.on_error(late)
            assert dropped.take() == [late]

            def fail() -> Any:
                raise ValueError("no connection")

            with pytest.raises(ValueError, match="no connection") as caught:
                await from_rsocket(fail).to_list()
            assert "in from_rsocket(" in caught.value.__notes__[0]

        run(main)

    def test_a_slow_upstream_of_to_rsocket_may_subscribe_later(self) -> None:
        """rsocket-py requests as soon as subscribe() returns: the Subscription must be there by then."""

        async def main() -> None:
            ended = asyncio.Event()
            seen: list[Any] = []
            subscriber = DefaultSubscriber(
                on_next=lambda value, is_complete: seen.append(number(value)), on_complete=ended.set
            )
            late = pyrs.range(3).map(payload).subscribe_on(pyrs.schedulers.default())
            to_rsocket(late).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(10)
            await ended.wait()
            assert seen == [0, 1, 2]

        run(main)

    def test_a_subscriber_that_raises_is_cancelled_and_reported(self, dropped: Dropped) -> None:
        async def main() -> None:
            wrong = ValueError("wrong")

            def fail(value: Any, is_complete: bool) -> None:
                raise wrong

            subscriber = DefaultSubscriber(on_next=fail)
            cancelled = asyncio.Event()
            to_rsocket(pyrs.range(3).map(payload).do_on_cancel(cancelled.set)).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(1)
            await cancelled.wait()
            assert dropped.take() == [wrong]

        run(main)

    def test_an_illegal_request(self) -> None:
        async def main() -> None:
            errors: list[BaseException] = []
            subscriber = DefaultSubscriber(on_error=errors.append)
            source: TestPublisher[Payload] = TestPublisher()
            to_rsocket(source).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(0)
            assert isinstance(errors[0], pyrs.NonPositiveRequest)
            source.assert_cancelled()

        run(main)

    def test_a_closed_loop_cancels_upstream(self) -> None:
        source: TestPublisher[Payload] = TestPublisher()

        async def main() -> None:
            subscriber = DefaultSubscriber()
            to_rsocket(source).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(1)
            await asyncio.sleep(0)

        asyncio.run(main())
        source.next(payload(1))
        source.assert_cancelled()

    def test_demand_when_the_loop_is_closed_is_an_error(self) -> None:
        manual = Manual()
        subscriber: TestSubscriber[int] = TestSubscriber(1)

        async def main() -> None:
            from_rsocket(manual).subscribe(subscriber)

        asyncio.run(main())
        subscriber.request(1)
        subscriber.assert_error(RuntimeError)

    def test_no_loop_at_all(self) -> None:
        with pytest.raises(RuntimeError, match="loop="):
            from_rsocket(Manual()).collect(timeout=DEADLINE)

    def test_a_receiver_keeps_the_end_for_a_subscriber_that_comes_late(self) -> None:
        async def main() -> None:
            receiver = Receiver()
            receiver.on_subscribe(Manual())
            receiver.on_complete()
            assert await receiver.stream.to_list() == []

        run(main)

    def test_races_of_demand_from_threads(self) -> None:
        async def main() -> None:
            for _ in range(20):
                subscriber: TestSubscriber[int] = TestSubscriber()

                class Answering(Manual):
                    sent = 0

                    def request(self, n: int) -> None:
                        for _ in range(n):
                            self.sent += 1
                            self.subscriber.on_next(self.sent, is_complete=self.sent == 200)

                from_rsocket(Answering()).subscribe(subscriber)
                threads = [
                    threading.Thread(target=lambda s=subscriber: [s.request(1) for _ in range(50)]) for _ in range(4)
                ]
                for thread in threads:
                    thread.start()
                await until(lambda s=subscriber: s.ended)  # type: ignore[misc]
                assert subscriber.assert_complete().elements == list(range(1, 201))
                for thread in threads:
                    thread.join(DEADLINE)

        run(main)

    def test_bad_arguments(self) -> None:
        with pytest.raises(TypeError, match="publisher must be a Publisher"):
            from_rsocket([1])
        with pytest.raises(TypeError, match="stream must be a Publisher"):
            to_rsocket([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="loop must be"):
            from_rsocket(print, loop=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a Publisher"):
            asyncio.run(_collected(from_rsocket(lambda: 3)))
        assert repr(from_rsocket(print)) == "from_rsocket(print)"
        assert repr(to_rsocket(pyrs.range(3))) == "to_rsocket(range(0, 3))"


async def _collected(stream: pyrs.Stream[Any]) -> list[Any]:
    return await stream.to_list()
