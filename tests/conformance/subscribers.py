"""The Subscribers of pyrs, and operators as Processors."""

from __future__ import annotations

from threading import Lock, get_ident
from typing import Any

import pyrs
from pyrs._core.callbacks import CallbackSubscriber
from pyrs.aio.iteration import _Inbox
from pyrs.aio.subscribers import CoroutineSubscriber
from pyrs.aio.waking import AsyncioWaker
from pyrs.api import Processor, Subscriber, Subscription
from pyrs.operators.terminal import _ForEach, _Queue
from pyrs.tck import WhiteboxProbe
from pyrs.testing import TestSubscriber
from tests.conformance.entry import Entry, blackbox, processor, whitebox
from tests.conformance.options import SLOWEST
from tests.tck.right import Inert, Puppet

__all__ = ["ONE_INPUT", "PROCESSORS", "SUBSCRIBERS", "Through"]


def _nothing(*arguments: object) -> None:
    pass


class _Probed(TestSubscriber[Any]):
    """Reports its signals to the probe."""

    def __init__(self, probe: WhiteboxProbe[Any]) -> None:
        super().__init__()
        self._probe = probe

    def on_subscribe(self, subscription: Subscription, /) -> None:
        first = self.subscription is None
        super().on_subscribe(subscription)
        if first:
            self._probe.register_on_subscribe(Puppet(subscription))

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self._probe.register_on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self._probe.register_on_error(error)

    def on_complete(self) -> None:
        super().on_complete()
        self._probe.register_on_complete()


class _Reporting(Subscriber[Any]):
    """Reports its signals to the probe and checks no rule; the code that signals it must check the rules."""

    def __init__(self, probe: WhiteboxProbe[Any]) -> None:
        self._probe = probe

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._probe.register_on_subscribe(Puppet(subscription))

    def on_next(self, element: Any, /) -> None:
        self._probe.register_on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._probe.register_on_error(error)

    def on_complete(self) -> None:
        self._probe.register_on_complete()


class _Awaiting:
    """A Subscriber whose methods are coroutines."""

    def __init__(self, probe: WhiteboxProbe[Any] | None = None, request: int = 1) -> None:
        self._to = None if probe is None else _Reporting(probe)
        self._request = request
        self.subscription: Any = None

    async def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        if self._to is not None:
            self._to.on_subscribe(subscription)
        else:
            subscription.request(self._request)

    async def on_next(self, element: Any) -> None:
        if self._to is not None:
            self._to.on_next(element)
        else:
            self.subscription.request(1)

    async def on_error(self, error: BaseException) -> None:
        if self._to is not None:
            self._to.on_error(error)

    async def on_complete(self) -> None:
        if self._to is not None:
            self._to.on_complete()


def _inbox(prefetch: int) -> Any:
    from pyrs.aio import background_loop

    return _Inbox(AsyncioWaker(background_loop()), prefetch)


def _take_one(inbox: Any) -> None:
    inbox.taken()


SUBSCRIBERS: list[Entry] = [
    whitebox("TestSubscriber", _Probed, covers=("testing.TestSubscriber",), subset=True, all_routes=True),
    blackbox(
        "TestSubscriber, blackbox",
        TestSubscriber,
        trigger=lambda subscriber: subscriber.request(1),
        covers=("testing.TestSubscriber",),
    ),
    blackbox(
        "subscribe(on_next=...)",
        lambda: CallbackSubscriber(_nothing, _nothing, _nothing, None),
        covers=("Stream.subscribe",),
        subset=True,
    ),
    blackbox(
        "subscribe(on_next=..., request=3)",
        lambda: CallbackSubscriber(_nothing, _nothing, _nothing, 3),
        covers=("Stream.subscribe",),
    ),
    blackbox("for_each and collect", lambda: _ForEach(_nothing), covers=("Stream.for_each", "Stream.collect")),
    blackbox(
        "to_iterable",
        lambda: _Queue(8),
        trigger=lambda queue: queue.taken(),
        covers=("Stream.to_iterable",),
    ),
    blackbox("async for", lambda: _inbox(1), trigger=_take_one, covers=("Stream.iterate",), subset=True),
    blackbox("iterate(prefetch=8)", lambda: _inbox(8), trigger=_take_one, covers=("Stream.iterate",)),
    whitebox(
        "a Subscriber of coroutines",
        lambda probe: CoroutineSubscriber(_Awaiting(probe)),
        covers=("Stream.subscribe", "AsyncSubscriber"),
        subset=True,
    ),
    blackbox("a Subscriber of coroutines, blackbox", lambda: CoroutineSubscriber(_Awaiting())),
    whitebox(
        "strict in front of a Subscriber without checks",
        lambda probe: pyrs.strict(_Reporting(probe)),
        covers=("strict",),
        subset=True,
    ),
]


class Inlet(Processor[Any, Any], Subscription):
    """Connects one input to one output: the adapter between a Processor's input and an operator.

    No request and no terminal signal is forwarded before the output's on_subscribe has returned (§1.3). The calls on
    the input's Subscription are serial (§2.7), although the TCK races the calls on the output's Subscription.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._input: Subscription | None = None
        self._output: Subscriber[Any] | None = None
        self._open = False
        self._terminated = False
        self._demand = 0
        self._cancels = False
        self._calling = 0  # the thread that calls the input's Subscription
        self._end: tuple[BaseException | None] | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if self._output is not None:
            subscriber.on_subscribe(Inert())
            subscriber.on_error(RuntimeError("one Subscriber at a time"))
            return
        self._output = subscriber
        subscriber.on_subscribe(self)
        with self._lock:
            self._open = True
        self._finish()
        self._call()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._lock:
            self._input = subscription
        self._call()

    def on_next(self, element: Any, /) -> None:
        output = self._output
        if output is not None:
            output.on_next(element)
        if self._cancels and self._calling == get_ident():
            self._cancel_input()  # inside a request that emits (§3.10)

    def on_error(self, error: BaseException, /) -> None:
        with self._lock:
            self._end = (error,)
        self._finish()

    def on_complete(self) -> None:
        with self._lock:
            self._end = (None,)
        self._finish()

    def request(self, n: int, /) -> None:
        with self._lock:
            self._demand = min(2**63 - 1, self._demand + n)
        self._call()

    def cancel(self) -> None:
        with self._lock:
            self._cancels = self._cancels or not self._terminated
            self._terminated, self._output = True, None
        self._call()

    def _finish(self) -> None:
        """Forward the terminal signal once the output is connected."""
        with self._lock:
            end, output = self._end, self._output
            if end is None or output is None or not self._open:
                return
            self._terminated, self._output = True, None
        output.on_complete() if end[0] is None else output.on_error(end[0])

    def _call(self) -> None:
        """Forward demand and cancel, on one thread at a time."""
        with self._lock:
            if self._calling:
                return
            self._calling = get_ident()
        while True:
            with self._lock:
                subscription = self._input
                ready = self._open and not self._terminated and self._end is None and subscription is not None
                demand, self._demand = (self._demand, 0) if ready else (0, self._demand)
                if subscription is None or not (demand or self._cancels):
                    self._calling = 0
                    return
            if self._cancels:
                self._cancel_input()
            elif demand:
                subscription.request(demand)

    def _cancel_input(self) -> None:
        with self._lock:
            subscription = self._input if self._cancels and self._end is None else None
            self._cancels = False
        if subscription is not None:
            subscription.cancel()


class Through(Processor[Any, Any]):
    """An operator as a Processor: its input is the Processor's input, and its stream the Processor's output."""

    def __init__(self, apply: Any) -> None:
        self._input: Any = pyrs.strict(Inlet())
        self._output = apply(pyrs.Stream(self._input))

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._input.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        self._input.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._input.on_error(error)

    def on_complete(self) -> None:
        self._input.on_complete()

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self._output.subscribe(subscriber)


ONE_INPUT = {"optional_spec111": "its input goes to one Subscriber; others receive on_error"}


def _through(name: str, apply: Any, **options: Any) -> Entry:
    covers = (f"Stream.{name}",)
    if options.get("subscribers") == 1:
        options["skips"] = ONE_INPUT

    def failed() -> Any:
        through = Through(apply)
        through.on_subscribe(Inert())
        through.on_error(ValueError("failed from the start"))
        return through

    return processor(f"{name} as a Processor", lambda: Through(apply), failed=failed, covers=covers, **options)


PROCESSORS: list[Entry] = [
    _through("map", lambda s: s.map(lambda n: n), subscribers=1, subset=True, all_routes=True),
    _through("publish", lambda s: s.publish(16).ref_count(), coordinates=True, skips=SLOWEST, subset=True),
    _through("prefetch", lambda s: s.prefetch(16), subscribers=1),
    _through("publish_on", lambda s: s.publish_on(pyrs.schedulers.default(), 16), subscribers=1),
    _through("on_backpressure_buffer", lambda s: s.on_backpressure_buffer(1_000), subscribers=1),
    _through("flat_map", lambda s: s.flat_map(pyrs.just), subscribers=1),
    _through("concat_map", lambda s: s.concat_map(pyrs.just), subscribers=1),
]
