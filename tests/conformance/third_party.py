"""Third-party libraries verified by the Python port, each with a minimal adapter to the four interfaces.

None of them claims to implement the specification, so a failure is not a defect. The rows show that the port tests
the specification, not pyrs, and how far each library is from the specification.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from pyrs import from_async_iterable
from pyrs.aio import background_loop
from pyrs.api import Publisher, Subscriber, Subscription
from tests.conformance.entry import Entry, publisher

__all__ = ["REPRODUCTIONS", "THIRD_PARTY", "Reproduction", "ThirdParty"]

FOLDER = Path(__file__).parent / "reproductions"

_DEADLINE = 10.0


class ThirdParty(NamedTuple):
    """A third-party implementation.

    Attributes:
        entry: its row.
        package: its name on PyPI.
        why: the reasons for its failures.
        conforms: whether all tests pass with its adapter.
    """

    entry: Entry
    package: str
    why: str
    conforms: bool = False

    @property
    def version(self) -> str:
        try:
            return version(self.package)
        except PackageNotFoundError:  # `make conformance` installs the libraries
            return "not installed"


class Reproduction(NamedTuple):
    """A program that shows a failure without pyrs.

    Attributes:
        package: the library that it needs.
        file: its name.
        rule: the rule that it shows.
        prints: its output.
    """

    package: str
    file: str
    rule: str
    prints: str

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def language(self) -> str:
        return "java" if self.path.suffix == ".java" else "python"


REPRODUCTIONS = [
    Reproduction("reactivex", "reactivex_demand.py", "1.1: elements without a request", "[0, 1, 2]"),
    Reproduction("reactivex", "reactivex_dispose.py", "3.12: a cancel is too late", "[0, 1, 2]"),
    Reproduction(
        "rsocket",
        "rsocket_cancel.py",
        "3.15: a cancel before the first request raises",
        "'StreamFromGenerator' object has no attribute '_generator'",
    ),
    Reproduction(
        "aioreactive",
        "aioreactive_dispose.py",
        "3.12: elements and completion after dispose",
        "[0, 1, 2, 'completed']",
    ),
    Reproduction(
        "reactive-streams-examples",
        "AsyncIterablePublisherDemand.java",
        "1.1: one element more than requested",
        "1026 of 1025",
    ),
]


# RxPY.


class _Disposing(Subscription):
    """Ignores requests, because RxPY has no demand."""

    def __init__(self) -> None:
        from reactivex.disposable import SingleAssignmentDisposable

        self.disposable = SingleAssignmentDisposable()

    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        self.disposable.dispose()


class _OfRxPY(Publisher[Any]):
    def __init__(self, observable: Any, scheduler: Any = None) -> None:
        self._observable = observable
        self._scheduler = scheduler

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscription = _Disposing()
        subscriber.on_subscribe(subscription)
        subscription.disposable.disposable = self._observable.subscribe(
            subscriber.on_next, subscriber.on_error, subscriber.on_complete, scheduler=self._scheduler
        )


def _rx_range(elements: int) -> Any:
    import reactivex
    from reactivex.scheduler import NewThreadScheduler

    return _OfRxPY(reactivex.range(elements), NewThreadScheduler())


def _rx_inline(elements: int) -> Any:
    import reactivex

    return _OfRxPY(reactivex.from_iterable(range(elements)))


def _rx_failed() -> Any:
    import reactivex

    return _OfRxPY(reactivex.throw(ValueError("failed from the start")))


# Calls run on the event loop of their object; the caller waits, so that it receives the exceptions.


async def _awaited(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if isinstance(result, Awaitable) else result


def _on_loop(call: Callable[[], Any]) -> Any:
    loop = background_loop()
    if asyncio._get_running_loop() is loop:
        result = call()
        return loop.create_task(result) if asyncio.iscoroutine(result) else result
    return asyncio.run_coroutine_threadsafe(_awaited(call), loop).result(_DEADLINE)


# rsocket-py.


class _OnLoop(Subscription):
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    def request(self, n: int, /) -> None:
        _on_loop(lambda: self._subscription.request(n))

    def cancel(self) -> None:
        _on_loop(lambda: self._subscription.cancel())


class _RSocketSubscriber:
    """Separates on_complete from the last element."""

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete

    def on_subscribe(self, subscription: Any) -> None:
        self._subscriber.on_subscribe(_OnLoop(subscription))

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        self._subscriber.on_next(value)
        if is_complete:
            self._subscriber.on_complete()


class _OfRSocket(Publisher[Any]):
    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = _on_loop(make)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        _on_loop(lambda: self._made.subscribe(_RSocketSubscriber(subscriber)))


def _rsocket_generator(elements: int) -> Any:
    from rsocket.payload import Payload
    from rsocket.streams.stream_from_generator import StreamFromGenerator

    def payloads() -> Iterator[tuple[Any, bool]]:
        for number in islice(count(1), elements):
            yield Payload(b"%d" % number), number == elements

    return _OfRSocket(lambda: StreamFromGenerator(payloads))


def _rsocket_failed() -> Any:
    from rsocket.streams.error_stream import ErrorStream

    return _OfRSocket(lambda: ErrorStream(ValueError("failed from the start")))


# aioreactive.


class _OfAioreactive(Publisher[Any]):
    """Uses an observer that waits for demand, because aioreactive awaits its observers."""

    def __init__(self, observable: Any) -> None:
        self._observable = observable

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        from aioreactive import AsyncAnonymousObserver

        subscription = _on_loop(_Awaited)

        async def send(element: Any) -> None:
            if await subscription.demanded():
                subscriber.on_next(element)

        async def throw(error: Exception) -> None:
            subscriber.on_error(error)

        async def close() -> None:
            subscriber.on_complete()

        subscriber.on_subscribe(subscription)
        subscription.disposable = _on_loop(
            lambda: self._observable.subscribe_async(AsyncAnonymousObserver(send, throw, close))
        )
        if subscription.cancelled:
            subscription.cancel()


class _Awaited(Subscription):
    def __init__(self) -> None:
        self.disposable: Any = None
        self.cancelled = False
        self._demand = 0
        self._changed = asyncio.Event()

    async def demanded(self) -> bool:
        while self._demand <= 0 and not self.cancelled:
            self._changed.clear()
            await self._changed.wait()
        self._demand -= 1
        return not self.cancelled

    def request(self, n: int, /) -> None:
        background_loop().call_soon_threadsafe(self._add, n)

    def _add(self, n: int) -> None:
        self._demand += max(0, n)
        self._changed.set()

    def cancel(self) -> None:
        self.cancelled = True
        background_loop().call_soon_threadsafe(self._changed.set)
        if self.disposable is not None:
            _on_loop(lambda: self.disposable.dispose_async())


def _aio_iterable(elements: int) -> Any:
    import aioreactive

    return _OfAioreactive(aioreactive.from_iterable(range(elements)))


def _aio_async_iterable(elements: int) -> Any:
    import aioreactive

    async def numbers() -> Any:
        for number in islice(count(), elements):
            yield number

    return _OfAioreactive(aioreactive.from_async_iterable(numbers()))


def _aio_failed() -> Any:
    from aioreactive.create import fail

    return _OfAioreactive(fail(ValueError("failed from the start")))


# aiostream.


class _AiostreamNumbers:
    """Starts a stream for each iteration, because a stream can be iterated once at a time."""

    def __init__(self, elements: int) -> None:
        self._elements = elements

    async def __aiter__(self) -> Any:
        from aiostream import stream

        async with stream.map(stream.count(), lambda n: n)[: self._elements].stream() as streamer:
            async for number in streamer:
                yield number


def _aiostream(elements: int) -> Any:
    return from_async_iterable(_AiostreamNumbers(elements))


NO_DEMAND = (
    "It has no back pressure, by design. Requests are ignored, so it emits elements that were not requested (1.1); "
    "requests after the last element have no effect (3.8), and a non-positive request does not signal on_error "
    "(3.9)."
)

NO_AWAITING = (
    "It has no demand: it awaits its observers, and the adapter's observer waits for demand. "
    "A non-positive request does not signal on_error (3.9), and it completes after dispose (3.6, 3.7, in most runs "
    "3.12)."
)

THIRD_PARTY: list[ThirdParty] = [
    ThirdParty(
        publisher("reactivex.range on a NewThreadScheduler", _rx_range, failed=_rx_failed, max_elements=1_000_000),
        "reactivex",
        f"{NO_DEMAND} The outcome of tests that cancel before a request depends on the speed of the new thread.",
    ),
    ThirdParty(
        publisher(
            "reactivex.from_iterable on the thread that subscribes", _rx_inline, failed=_rx_failed, max_elements=1_000
        ),
        "reactivex",
        f"{NO_DEMAND} It emits all elements before `subscribe` returns the disposable, so a cancel is too late "
        "(3.6, 3.12).",
    ),
    ThirdParty(
        publisher("rsocket StreamFromGenerator", _rsocket_generator, failed=_rsocket_failed),
        "rsocket",
        "It has demand. Its only intended Subscriber is a connection, which keeps a reference to the stream, always "
        "requests before it cancels, and checks requested numbers when it decodes a frame. Therefore a cancel before "
        "the first request raises, because that request creates the generator (3.5, 3.15), a non-positive request "
        "does not signal on_error (3.9), the Subscriber is not released (3.13), and `ErrorStream` fails on the first "
        "request instead of before (1.9).",
    ),
    ThirdParty(
        publisher("aioreactive.from_iterable", _aio_iterable, failed=_aio_failed, max_elements=1_000),
        "aioreactive",
        NO_AWAITING,
    ),
    ThirdParty(
        publisher("aioreactive.from_async_iterable", _aio_async_iterable, failed=_aio_failed, max_elements=100_000),
        "aioreactive",
        f"{NO_AWAITING} An asynchronous generator can be iterated once, so a second Subscriber receives no elements "
        "(1.11).",
    ),
    ThirdParty(
        publisher("aiostream through from_async_iterable", _aiostream, failed=None),
        "aiostream",
        "An asynchronous iterator is a source with demand; the row verifies it together with pyrs' adapter.",
        conforms=True,
    ),
]
