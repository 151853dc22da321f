"""The adapters of ``pyrs.adapters``: their Publishers and Subscribers.

The factories import the libraries, so this module can be imported without them.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

from pyrs import schedulers
from pyrs.adapters.futures import FutureSubscriber
from pyrs.adapters.queues import from_queue
from pyrs.aio import background_loop
from pyrs.operators.terminal import _Queue
from tests.conformance.entry import Entry, blackbox, numbers, publisher
from tests.conformance.options import EMPTY, MULTICAST
from tests.conformance.sources import ONE_SUBSCRIBER

__all__ = ["ADAPTERS"]

PUSHED_AT_ONCE = 1_000  # elements of a source without back pressure are buffered, so their number is limited
SHARED = {MULTICAST: "several Subscribers share the elements of the queue"}


class _Filled(queue.SimpleQueue):  # type: ignore[type-arg]
    """A queue whose ``get`` returns the given number of integers, which are not stored, and then None."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._numbers = islice(count(), elements)

    def get(self, block: bool = True, timeout: float | None = None) -> int | None:
        return next(self._numbers, None)


class _FilledOnLoop(asyncio.Queue):  # type: ignore[type-arg]
    """The asyncio variant of ``_Filled``."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._numbers = islice(count(), elements)

    async def get(self) -> int | None:
        await asyncio.sleep(0)
        return next(self._numbers, None)


def _from_asyncio_queue(elements: int) -> Any:
    return from_queue(_FilledOnLoop(elements), end=None, scheduler=schedulers.asyncio(background_loop()))


def _observed(elements: int) -> Any:
    import reactivex

    from pyrs.adapters.reactivex import from_observable

    return from_observable(reactivex.from_iterable(range(elements)))


def _observed_failure() -> Any:
    import reactivex

    from pyrs.adapters.reactivex import from_observable

    return from_observable(reactivex.throw(ValueError("failed from the start")))


def _round_trip(elements: int) -> Any:
    from pyrs.adapters.reactivex import from_observable, to_observable

    return from_observable(to_observable(numbers(elements)))


def _observing(request: int) -> Callable[[], Any]:
    def make() -> Any:
        from reactivex import Observer

        from pyrs.adapters.reactivex import _Observing

        return _Observing(Observer(_nothing, _nothing, _nothing), request)

    return make


def _nothing(*arguments: object) -> None:
    pass


def _payload(number: int) -> Any:
    from rsocket.payload import Payload

    return Payload(b"%d" % number)


def _from_generator(elements: int) -> Any:
    from rsocket.streams.stream_from_generator import StreamFromGenerator

    from pyrs.adapters.rsocket import from_rsocket

    def payloads() -> Iterator[tuple[Any, bool]]:
        for number in islice(count(1), elements):
            yield _payload(number), number == elements

    return from_rsocket(lambda: StreamFromGenerator(payloads), loop=background_loop())


def _through_rsocket(elements: int) -> Any:
    """Return a stream that passes through rsocket-py's interfaces without a network."""
    from pyrs.adapters.rsocket import from_rsocket, to_rsocket

    return from_rsocket(lambda: to_rsocket(numbers(elements).map(_payload)), loop=background_loop())


def _received(elements: int) -> Any:
    """Return the stream of a Receiver, after a call of ``subscribe`` as rsocket-py makes it."""
    from pyrs.adapters.rsocket import Receiver, to_rsocket

    async def begin() -> Any:
        receiver = Receiver()
        to_rsocket(numbers(elements).map(_payload)).subscribe(receiver)
        return receiver.stream

    return asyncio.run_coroutine_threadsafe(begin(), background_loop()).result(10)


class _Peer:
    """A subscriber of rsocket-py that ignores its signals."""

    def on_subscribe(self, subscription: Any) -> None:
        pass

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        pass

    def on_error(self, exception: BaseException) -> None:
        pass

    def on_complete(self) -> None:
        pass


def _sending() -> Any:
    from pyrs.adapters.rsocket import _Sending

    sending = _Sending(_Peer(), background_loop())
    sending.subscribed = True
    return sending


def _peer_requests(sending: Any) -> None:
    background_loop().call_soon_threadsafe(sending.request, 1)


ADAPTERS: list[Entry] = [
    publisher(
        "adapters.queues.from_queue",
        lambda n: from_queue(_Filled(n), end=None),
        failed=None,
        covers=("adapters.queues.from_queue",),
        skips=SHARED,
        subset=True,
    ),
    publisher(
        "adapters.queues.from_queue of asyncio",
        _from_asyncio_queue,
        failed=None,
        covers=("adapters.queues.from_queue",),
        skips=SHARED,
    ),
    blackbox(
        "adapters.queues.to_queue",
        lambda: _Queue(1),
        trigger=lambda arriving: arriving.taken(),
        covers=("adapters.queues.to_queue",),
    ),
    blackbox(
        "adapters.futures.to_future",
        lambda: FutureSubscriber("to_future()"),
        covers=("adapters.futures.to_future",),
    ),
    publisher(
        "adapters.reactivex.from_observable",
        _observed,
        failed=_observed_failure,
        max_elements=PUSHED_AT_ONCE,
        covers=("adapters.reactivex.from_observable",),
    ),
    publisher(
        "adapters.reactivex, to an Observable and back",
        _round_trip,
        failed=_observed_failure,
        max_elements=PUSHED_AT_ONCE,
        covers=("adapters.reactivex.to_observable", "adapters.reactivex.from_observable"),
    ),
    blackbox("adapters.reactivex.to_observable", _observing(2**63 - 1), covers=("adapters.reactivex.to_observable",)),
    blackbox(
        "adapters.reactivex.to_observable(request=3)", _observing(3), covers=("adapters.reactivex.to_observable",)
    ),
    publisher(
        "adapters.rsocket.from_rsocket of a generator",
        _from_generator,
        failed=None,
        covers=("adapters.rsocket.from_rsocket",),
        skips={EMPTY: "rsocket-py sends an empty Payload for an empty generator"},
    ),
    publisher(
        "adapters.rsocket, to rsocket-py and back",
        _through_rsocket,
        failed=None,
        covers=("adapters.rsocket.from_rsocket", "adapters.rsocket.to_rsocket"),
    ),
    publisher(
        "adapters.rsocket.Receiver",
        _received,
        failed=None,
        covers=("adapters.rsocket.Receiver",),
        skips=ONE_SUBSCRIBER,
    ),
    blackbox(
        "adapters.rsocket.to_rsocket",
        _sending,
        trigger=_peer_requests,
        covers=("adapters.rsocket.to_rsocket",),
        subset=True,
    ),
]
