"""Conversion between rsocket-py and streams, over a real connection and without one."""

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
from tests.waiting import DEADLINE, eventually_on_loop


def payload(value: object) -> Payload:
    return Payload(str(value).encode())


def number(received: Payload) -> int:
    assert received.data is not None
    return int(received.data)


class Handler(BaseRequestHandler):
    """Answers each request with a stream of the test, and records requests and cancels."""

    def __init__(self, answer: Callable[[Payload], pyrs.Publisher[Any]]) -> None:
        super().__init__()
        self.answer = answer
        self.requested: list[int] = []
        self.cancelled = asyncio.Event()

    async def request_stream(self, request: Payload) -> Any:
        return to_rsocket(self.observe(self.answer(request)))

    async def request_channel(self, request: Payload) -> Any:
        receiver = Receiver()
        return to_rsocket(self.observe(receiver.stream.map(lambda p: payload(number(p) * 10)))), receiver

    def observe(self, stream: pyrs.Publisher[Any]) -> pyrs.Stream[Any]:
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


class TestRequestStream:
    def test_elements_and_completion_are_delivered(self) -> None:
        async def main() -> None:
            async with connected(Handler(lambda request: pyrs.range(number(request)).map(payload))) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(500)))
                assert await stream.map(number).to_list() == list(range(500))
                assert await stream.map(number).count() == 500  # a second request

        run(main)

    def test_demand_over_the_connection_is_exact(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.range(100).map(payload))
            async with connected(handler) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber()
                from_rsocket(lambda: client.request_stream(payload(0))).map(number).subscribe(subscriber)
                for _ in range(5):
                    await asyncio.sleep(0)
                assert handler.requested == []
                subscriber.request(2)
                await eventually_on_loop(lambda: len(subscriber.elements) == 2)
                subscriber.request(3)
                await eventually_on_loop(lambda: len(subscriber.elements) == 5)
                assert handler.requested == [2, 3]
                subscriber.assert_elements(0, 1, 2, 3, 4).assert_live()
                subscriber.cancel()
                await handler.cancelled.wait()

        run(main)

    def test_infinite_stream_with_unbounded_demand_does_not_block_the_loop(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.generate(lambda: 0, lambda n: (payload(n), n + 1)))
            async with connected(handler) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0))).map(number)
                assert await stream.take(1_000).to_list() == list(range(1_000))
                await handler.cancelled.wait()
                handler.cancelled.clear()
                subscriber: TestSubscriber[int] = TestSubscriber(None)
                stream.subscribe(subscriber)
                await eventually_on_loop(lambda: len(subscriber.elements) > 1_000)
                subscriber.cancel()
                await handler.cancelled.wait()
                assert max(handler.requested) <= 128

        run(main)

    def test_error_is_propagated_to_the_requester(self) -> None:
        async def main() -> None:
            failing = pyrs.just(payload(1)).concat(pyrs.error(ValueError("broken")))
            async with connected(Handler(lambda request: failing)) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber(None)
                from_rsocket(client.request_stream(payload(0))).map(number).subscribe(subscriber)
                await eventually_on_loop(lambda: subscriber.ended)
                subscriber.assert_elements(1)
                assert "broken" in str(subscriber.assert_error(RuntimeError))

        run(main)

    def test_element_that_is_no_payload_fails_both_sides(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.just("text", "more"))
            async with connected(handler) as client:
                with pytest.raises(RuntimeError, match="must be a Payload, not str"):
                    await from_rsocket(lambda: client.request_stream(payload(0))).to_list()
                assert handler.cancelled.is_set()

        run(main)

    def test_signals_from_another_thread_are_sent_on_the_loop(self) -> None:
        async def main() -> None:
            threaded = pyrs.range(3_000).map(payload).publish_on(pyrs.schedulers.default())
            async with connected(Handler(lambda request: threaded)) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0)))
                assert await stream.map(number).to_list() == list(range(3_000))

        run(main)

    def test_request_and_cancel_from_another_thread_are_sent_on_the_loop(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.range(1_000).map(payload))
            async with connected(handler) as client:
                stream = from_rsocket(lambda: client.request_stream(payload(0))).map(number)
                loop = asyncio.get_running_loop()
                results = await loop.run_in_executor(None, lambda: list(stream.take(100).to_iterable(prefetch=7)))
                assert results == list(range(100))
                await handler.cancelled.wait()

        run(main)

    def test_request_accepts_one_subscriber(self) -> None:
        async def main() -> None:
            async with connected(Handler(lambda request: pyrs.range(3).map(payload))) as client:
                stream = from_rsocket(client.request_stream(payload(0))).map(number)
                assert await stream.to_list() == [0, 1, 2]
                with pytest.raises(RuntimeError, match="accepts one Subscriber"):
                    await stream.to_list()

        run(main)

    def test_lost_connection_fails_the_requester_and_cancels_the_responder(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.never())
            subscriber: TestSubscriber[Any] = TestSubscriber(1)
            async with connected(handler) as client:
                from_rsocket(lambda: client.request_stream(payload(0))).subscribe(subscriber)
                await eventually_on_loop(lambda: handler.requested)
                client._stream_control.stop_all_streams()
            await handler.cancelled.wait()
            subscriber.assert_error(RSocketProtocolError)

        run(main)


class TestRequestChannel:
    def test_channel_demand_is_exact_in_both_directions(self) -> None:
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
                await eventually_on_loop(lambda: len(subscriber.elements) == 2)
                subscriber.request(3)
                await eventually_on_loop(lambda: len(subscriber.elements) == 5)
                # The responder's answers are the mapped elements of the requester, so demand for answers reaches it.
                assert (handler.requested, sent) == ([2, 3], [2, 3])
                subscriber.request(100)
                await eventually_on_loop(lambda: subscriber.ended)
                assert subscriber.assert_complete().elements == [n * 10 for n in range(50)]

        run(main)

    def test_cancel_reaches_both_sides_of_the_channel(self) -> None:
        async def main() -> None:
            handler = Handler(lambda request: pyrs.empty())
            source: TestPublisher[Payload] = TestPublisher()
            async with connected(handler) as client:
                subscriber: TestSubscriber[Any] = TestSubscriber(5)
                from_rsocket(lambda: client.request_channel(payload(0), to_rsocket(source))).subscribe(subscriber)
                await eventually_on_loop(lambda: handler.requested)
                subscriber.cancel()
                await handler.cancelled.wait()
                await eventually_on_loop(lambda: _was_cancelled(source))

        run(main)

    def test_error_of_the_requester_reaches_the_receiver(self) -> None:
        async def main() -> None:
            ended = asyncio.Event()

            class ReceivingHandler(Handler):
                async def request_channel(self, request: Payload) -> Any:
                    receiver = Receiver()
                    receiver.stream.subscribe(on_error=lambda error: ended.set())
                    return None, receiver

            async with connected(ReceivingHandler(lambda request: pyrs.empty())) as client:
                outgoing = to_rsocket(pyrs.error(ValueError("here")))
                subscriber: TestSubscriber[Any] = TestSubscriber(1)
                from_rsocket(lambda: client.request_channel(payload(0), outgoing)).subscribe(subscriber)
                await ended.wait()
                await eventually_on_loop(lambda: subscriber.ended)

        run(main)


def _was_cancelled(source: TestPublisher[Any]) -> bool:
    try:
        source.assert_cancelled()
    except AssertionError:
        return False
    return True


class ManualPublisher(DefaultPublisher, DefaultSubscription):
    """A reactivestreams publisher that records calls and exposes its subscriber."""

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
    def test_completion_arrives_with_the_last_element(self) -> None:
        async def main() -> None:
            manual = ManualPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(2)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(1)
            manual.subscriber.on_next(2, is_complete=True)
            subscriber.assert_elements(1, 2).assert_complete()
            assert (manual.requested, manual.cancels) == ([2], 0)

        run(main)

    def test_empty_publisher_completes_without_demand(self) -> None:
        async def main() -> None:
            manual = ManualPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber()
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_complete()
            subscriber.assert_elements().assert_complete()

        run(main)

    def test_element_without_demand_signals_demand_exceeded(self) -> None:
        async def main() -> None:
            manual = ManualPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(1)
            manual.subscriber.on_next(2)
            subscriber.assert_elements(1).assert_error(DemandExceeded)
            assert manual.cancels == 1

        run(main)

    def test_unbounded_demand_is_sent_as_the_largest_number_of_a_frame(self) -> None:
        async def main() -> None:
            manual = ManualPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            from_rsocket(manual).subscribe(subscriber)
            for n in range(10):
                manual.subscriber.on_next(n)
            assert manual.requested == [0x7FFFFFFF]
            subscriber.cancel()
            assert manual.cancels == 1

        run(main)

    def test_none_element_fails_the_stream_and_a_later_error_is_dropped(self, dropped: Dropped) -> None:
        async def main() -> None:
            manual = ManualPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            from_rsocket(manual).subscribe(subscriber)
            manual.subscriber.on_next(None)
            subscriber.assert_error(pyrs.NullSignal)
            assert manual.cancels == 1
            late = ValueError("late")
            manual.subscriber.on_error(late)
            assert dropped.take() == [late]

        run(main)

    def test_factory_that_raises_fails_the_stream(self) -> None:
        async def main() -> None:
            def fail() -> Any:
                raise ValueError("no connection")

            with pytest.raises(ValueError, match="no connection") as caught:
                await from_rsocket(fail).to_list()
            assert "in from_rsocket(" in caught.value.__notes__[0]

        run(main)

    def test_error_of_a_factory_that_cancels_is_reported(self, dropped: Dropped) -> None:
        async def main() -> None:
            error = ValueError("no connection")

            def cancel_and_fail() -> Any:
                subscriber.cancel()
                raise error

            subscriber: TestSubscriber[int] = TestSubscriber(1)
            from_rsocket(cancel_and_fail).subscribe(subscriber)
            assert dropped.take() == [error]
            subscriber.assert_live()

        run(main)

    def test_subscription_exists_before_upstream_calls_on_subscribe(self) -> None:
        """rsocket-py calls ``request`` when ``subscribe`` returns, so the Subscription must exist by then."""

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

    def test_exception_in_on_next_cancels_and_is_dropped(self, dropped: Dropped) -> None:
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

    def test_illegal_request_signals_on_error(self) -> None:
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

    def test_cancel_reports_an_undelivered_error_and_discards_undelivered_elements(
        self, dropped: Dropped, discarded: list[Any]
    ) -> None:
        async def main() -> None:
            error, values = ValueError("not delivered"), [payload(1), payload(2)]
            source: TestPublisher[Payload] = TestPublisher()
            subscriber = DefaultSubscriber()
            to_rsocket(source).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(2)
            await asyncio.sleep(0)
            signals = threading.Thread(target=lambda: (source.next(*values), source.error(error)))
            signals.start()
            signals.join(DEADLINE)
            subscriber.subscription.cancel()
            assert dropped.take() == [error]
            assert [*map(id, discarded)] == [*map(id, values)]

        run(main)

    def test_element_whose_delivery_cancels_is_not_discarded(self, discarded: list[Any]) -> None:
        async def main() -> None:
            source: TestPublisher[Payload] = TestPublisher()
            cancelled = asyncio.Event()

            def cancel(value: Any, is_complete: bool) -> None:
                assert subscriber.subscription is not None
                subscriber.subscription.cancel()
                cancelled.set()

            subscriber = DefaultSubscriber(on_next=cancel)
            to_rsocket(source).subscribe(subscriber)
            assert subscriber.subscription is not None
            subscriber.subscription.request(1)
            await asyncio.sleep(0)
            signals = threading.Thread(target=lambda: source.next(payload(1)))
            signals.start()
            signals.join(DEADLINE)
            await cancelled.wait()

        run(main)
        assert discarded == []

    def test_signal_to_a_closed_loop_cancels_upstream(self) -> None:
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

    def test_request_on_a_closed_loop_signals_on_error(self) -> None:
        manual = ManualPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)

        async def main() -> None:
            from_rsocket(manual).subscribe(subscriber)

        asyncio.run(main())
        subscriber.request(1)
        subscriber.assert_error(RuntimeError)

    def test_collect_without_a_loop_raises(self) -> None:
        with pytest.raises(RuntimeError, match="loop="):
            from_rsocket(ManualPublisher()).collect(timeout=DEADLINE)

    def test_receiver_keeps_completion_for_a_late_subscriber(self) -> None:
        async def main() -> None:
            receiver = Receiver()
            receiver.on_subscribe(ManualPublisher())
            receiver.on_complete()
            assert await receiver.stream.to_list() == []

        run(main)

    def test_concurrent_requests_from_threads_lose_no_element(self) -> None:
        async def main() -> None:
            for _ in range(20):
                subscriber: TestSubscriber[int] = TestSubscriber()

                class AnsweringPublisher(ManualPublisher):
                    sent = 0

                    def request(self, n: int) -> None:
                        for _ in range(n):
                            self.sent += 1
                            self.subscriber.on_next(self.sent, is_complete=self.sent == 200)

                from_rsocket(AnsweringPublisher()).subscribe(subscriber)
                threads = [
                    threading.Thread(target=lambda s=subscriber: [s.request(1) for _ in range(50)]) for _ in range(4)
                ]
                for thread in threads:
                    thread.start()
                await eventually_on_loop(lambda s=subscriber: s.ended)  # type: ignore[misc]
                assert subscriber.assert_complete().elements == list(range(1, 201))
                for thread in threads:
                    thread.join(DEADLINE)

        run(main)

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="publisher must be a Publisher"):
            from_rsocket([1])
        with pytest.raises(TypeError, match="stream must be a Publisher"):
            to_rsocket([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="loop must be"):
            from_rsocket(print, loop=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a Publisher"):
            asyncio.run(_collect(from_rsocket(lambda: 3)))
        assert repr(from_rsocket(print)) == "from_rsocket(print)"
        assert repr(to_rsocket(pyrs.range(3))) == "to_rsocket(range(0, 3))"


async def _collect(stream: pyrs.Stream[Any]) -> list[Any]:
    return await stream.to_list()
