"""Adapters between rsocket-py and streams, which forward demand both ways.

rsocket-py runs on one asyncio loop and is not thread-safe: this module calls it on that loop only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import reactivestreams.publisher
import reactivestreams.subscriber
import reactivestreams.subscription
from rsocket.payload import Payload

from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED, non_positive
from pyrs._core.display import name_of, short
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_element, checked_publisher
from pyrs.aio.loops import is_here, loop_for, run_on
from pyrs.aio.subscribers import QueueingSubscriber
from pyrs.api import Publisher, Subscriber
from pyrs.errors import DemandExceeded
from pyrs.stream.stream import Stream

__all__ = ["Receiver", "from_rsocket", "to_rsocket"]

T = TypeVar("T")

_MAX_DEMAND = 0x7FFFFFFF
"""The largest demand of one frame; RSocket treats it as unbounded."""

_TURN = 128
"""The maximum number of elements requested from a stream at a time."""


def from_rsocket(publisher: Any | Callable[[], Any], *, loop: asyncio.AbstractEventLoop | None = None) -> Stream[Any]:
    """Return a stream of the elements of an rsocket-py publisher.

        from_rsocket(lambda: client.request_stream(payload))
        request(2) -> REQUEST_STREAM n=2     ---a---b---
        request(1) -> REQUEST_N n=1          ---c|

    Demand is exact: the first demand sends the request (``initial_request_n``), later demand is sent as REQUEST_N.
    Buffers nothing. Elements are emitted on the loop. A cancel sends a CANCEL frame. A peer that sends more than was
    requested fails the stream with ``DemandExceeded``.

    Args:
        publisher: a publisher, or a function that returns one. The function is called on the loop for each Subscriber,
            so that each sends its own request. A publisher of ``request_stream`` or ``request_channel`` accepts one
            Subscriber.
        loop: the loop of the connection; None for the loop that runs during this call or, if none does,
            during ``subscribe``.

    Raises:
        TypeError: ``publisher`` is neither a publisher nor callable, or ``loop`` is not an event loop.

    Rules: 1.1, 1.4, 1.5, 2.8, 3.9. An element that is None fails the stream with ``NullSignal``.
    """
    if not callable(publisher):
        checked_publisher(publisher, "publisher")
    name = name_of(publisher) if callable(publisher) else short(publisher)
    if loop is not None:
        loop_for(loop)
    return Stream(_Incoming(publisher, f"from_rsocket({name})", loop or asyncio._get_running_loop()))


def to_rsocket(stream: Publisher[Any]) -> Any:
    """Return an rsocket-py publisher of the elements of a stream.

    The elements must be Payloads. Return the publisher from ``request_stream`` or ``request_channel`` of a handler, or
    pass it to a client's ``request_channel``.

    Forwards the peer's demand in steps of at most 128 elements, so that an always-ready stream does not block the loop.
    Buffers only the elements that other threads emit before the loop runs, at most one step. rsocket-py buffers frames
    for the network, and **grows** if the peer requests unbounded demand. A CANCEL frame or a lost connection cancels
    the Subscription.

    Args:
        stream: any Publisher. It may emit on any thread.

    Raises:
        TypeError: ``stream`` is not a Publisher.
    """
    return _Outgoing(checked_publisher(stream, "stream"))


class Receiver(reactivestreams.subscriber.Subscriber, reactivestreams.publisher.Publisher):  # type: ignore[misc]
    """An rsocket-py subscriber with a stream of the payloads that it receives.

    Return it from ``RequestHandler.request_channel``, after the publisher of the responses:

        async def request_channel(self, payload):
            receiver = Receiver()
            return to_rsocket(receiver.stream.map(answer)), receiver

    Attributes:
        stream: the stream, for one Subscriber. The peer receives no request before this stream has demand.
    """

    def __init__(self) -> None:
        self.stream: Stream[Any] = from_rsocket(self)
        self._subscription: Any = None
        self._subscriber: Any = None
        self._end: Callable[[Any], object] | None = None  # a terminal signal received before there is a Subscriber

    def subscribe(self, subscriber: Any) -> None:
        """Connect the stream's Subscriber. The stream calls this on the loop."""
        if self._subscriber is not None:
            raise RuntimeError("the stream of a Receiver accepts one Subscriber; use publish() to share it")
        self._subscriber = subscriber
        if self._subscription is not None:
            subscriber.on_subscribe(self._subscription)
        if self._end is not None:
            self._end(subscriber)

    def on_subscribe(self, subscription: Any) -> None:
        """Receive the Subscription from rsocket-py."""
        self._subscription = subscription
        if self._subscriber is not None:
            self._subscriber.on_subscribe(subscription)

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        """Receive a payload from rsocket-py, requested by the stream's Subscriber."""
        if self._subscriber is None:
            hooks.on_next_dropped(1, "Receiver: the peer sent an element without a request")
        else:
            self._subscriber.on_next(value, is_complete)

    def on_error(self, exception: Exception) -> None:
        """Receive the error from rsocket-py."""
        self._end_with(lambda subscriber: subscriber.on_error(exception))

    def on_complete(self) -> None:
        """Receive the completion from rsocket-py."""
        self._end_with(lambda subscriber: subscriber.on_complete())

    def _end_with(self, end: Callable[[Any], object]) -> None:
        if self._subscriber is None:
            self._end = end
        else:
            end(self._subscriber)


# From rsocket-py


class _Request(Coordinator[Any]):
    """One Subscriber's request, and the subscriber that rsocket-py calls on its loop."""

    def __init__(self, subscriber: Subscriber[Any], operator: _Incoming) -> None:
        super().__init__(in_context(subscriber), operator)
        self._incoming = operator
        self._loop: asyncio.AbstractEventLoop | None = None
        # The attributes below are used on the loop only.
        self._connected = False
        self._subscription: Any = None
        self._sent_demand = 0
        self._received = 0
        self._ended = False

    def _begin(self) -> None:
        loop = self._incoming.loop or asyncio._get_running_loop()
        if loop is None:
            raise RuntimeError("no asyncio loop is running here: pass the connection's loop, from_rsocket(..., loop=)")
        self._loop = loop_for(loop)
        run_on(loop, self._context, self._update)

    def _requested_more(self, n: int) -> None:
        if self._loop is not None:  # otherwise _begin reads the demand
            try:
                run_on(self._loop, self._context, self._update)
            except RuntimeError as error:  # the loop is closed
                self.post_end(self._fail, error)

    def _release(self) -> None:
        if self._loop is not None:
            try:
                run_on(self._loop, None, self._stop)
            except RuntimeError:  # the loop and its connection are closed
                pass

    def _deliver_payload(self, element: Any) -> None:
        try:
            element = checked_element(element, "the publisher")
        except TypeError as error:
            self._raised(error)
        else:
            self._emit(element)

    # The methods below run on the loop.

    def _update(self) -> None:
        if not self._live or self._ended:
            return
        if self._connected:
            self._forward_demand()
            return
        publisher = self._incoming.publisher
        # A request frame carries the first demand, so it is sent only when there is demand.
        if self._requested or not (callable(publisher) or hasattr(publisher, "initial_request_n")):
            try:
                self._connect(publisher() if callable(publisher) else publisher)
            except BaseException as error:
                self._ended = True
                self.post_end(self._raised, error)

    def _connect(self, publisher: Any) -> None:
        checked_publisher(publisher, "the result of publisher")
        begin = getattr(publisher, "initial_request_n", None)
        if begin is not None:
            if self._incoming.used and publisher is self._incoming.publisher:
                raise RuntimeError("a request accepts one Subscriber: pass a function that returns a new publisher")
            self._incoming.used = True
            self._sent_demand = min(self._requested, _MAX_DEMAND)
            begin(self._sent_demand)
        publisher.subscribe(self)
        self._connected = True  # set after subscribe, so that the request frame precedes REQUEST_N
        self._forward_demand()

    def _forward_demand(self) -> None:
        outstanding = self._sent_demand - self._received
        more = min(self._requested - self._sent_demand, _MAX_DEMAND - outstanding)
        # Unbounded demand exceeds the maximum of one frame: request more when half of the maximum has arrived.
        if more > 0 and outstanding <= _MAX_DEMAND >> 1 and self._subscription is not None:
            self._sent_demand += more
            self._subscription.request(more)

    def _stop(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self._ended:
            try:
                subscription.cancel()
            except Exception as error:
                hooks.on_error_dropped(error, f"{self._operator.call}: raised by cancel()")
        self._ended = True

    def on_subscribe(self, subscription: Any) -> None:
        if self._subscription is not None or self._ended or not self._live:
            subscription.cancel()  # a second or late Subscription (§2.5)
            return
        self._subscription = subscription
        if self._connected:
            self._forward_demand()

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        if self._ended or not self._live:
            return  # a late signal (§2.8)
        self._received += 1
        if self._received > self._sent_demand:
            self._stop()
            message = f"{self._operator.call}: the peer sent more than the {self._sent_demand} requested elements"
            self.post_end(self._fail, DemandExceeded(message))
            return
        self.post(self._deliver_payload, value)
        if is_complete:
            self.on_complete()
        elif not self._ended:
            self._forward_demand()

    def on_error(self, exception: BaseException) -> None:
        if not self._ended:
            self._ended = True
            self.post_end(self._fail, exception)
        else:
            hooks.on_error_dropped(exception, f"{self._operator.call}: the stream was cancelled or has terminated")

    def on_complete(self) -> None:
        if not self._ended:
            self._ended = True
            self.post(self._end_with)


class _Incoming(Operator[Any]):
    run_type = _Request

    def __init__(self, publisher: Any, call: str, loop: asyncio.AbstractEventLoop | None) -> None:
        super().__init__(None, call)
        self.publisher = publisher
        self.loop = loop
        self.used = False


reactivestreams.subscriber.Subscriber.register(_Request)


# To rsocket-py


class _Outgoing(reactivestreams.publisher.Publisher):  # type: ignore[misc]
    def __init__(self, stream: Publisher[Any]) -> None:
        self._stream = stream

    def subscribe(self, subscriber: Any) -> None:
        sending = _Sending(subscriber, asyncio.get_running_loop())
        subscriber.on_subscribe(sending)  # first, because rsocket-py requests when this method returns
        try:
            self._stream.subscribe(sending)
        except Exception as error:
            sending.on_error(error)
        sending.subscribed = True

    def __repr__(self) -> str:
        return f"to_rsocket({self._stream!r})"


class _Sending(QueueingSubscriber):
    """Forwards the signals of a stream to an rsocket-py subscriber, on its loop.

    Rules: 2.1, 2.2, 2.7, and those of ``QueueingSubscriber``.
    """

    def __init__(self, subscriber: Any, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(subscriber)
        self._loop = loop
        self._scheduled = False  # whether the loop will deliver the queued signals
        # Signals that the stream emits during subscribe wait for the loop's next iteration, so that the frame that
        # opens a channel is sent first.
        self.subscribed = False
        # The attributes below are used on the loop only.
        self._wanted = 0  # the peer's demand that is not yet requested from the stream
        self._outstanding = 0
        self._pumping = False
        self._delivers = False  # a queued signal is being delivered, and no later signal may overtake the others

    # The Subscription, which rsocket-py calls on the loop

    def request(self, n: int, /) -> None:
        if n <= 0:
            self.cancel()
            self._end_with(non_positive(n))  # (§3.9)
            return
        self._wanted += n if n < _MAX_DEMAND else UNBOUNDED
        self._pump_soon()

    def cancel(self) -> None:
        self._cancel()

    # The Subscriber, which the stream calls on any thread

    def _begin(self) -> None:
        if is_here(self._loop):
            self._pump_soon()
        else:
            self._call(self._pump_soon)

    def _put(self, name: str, argument: Any = None) -> None:
        if self._ended:
            self._discard_signal(name, argument)
            return
        if self.subscribed and not self._signals and is_here(self._loop) and not self._delivers:
            self._deliver(name, argument)
            return
        self._signals.append((name, argument))
        if self._ended:  # a cancel may have emptied the queue before the append
            self._discard_signals()  # type: ignore[unreachable]
        if not self._scheduled:
            self._scheduled = True
            self._call(self._deliver_all)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # the loop is closed, so no signal will be consumed
            self.cancel()

    # The methods below run on the loop.

    def _pump_soon(self) -> None:
        """Request more in the loop's next iteration: never inside a signal (§3.3)."""
        if not self._pumping and self._wanted and not self._ended:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        upstream = self._subscription
        step = min(self._wanted, _TURN - self._outstanding)
        if upstream is not None and step > 0:
            self._wanted -= step
            self._outstanding += step
            upstream.request(step)

    def _deliver_all(self) -> None:
        self._scheduled = False  # reset first: a signal that arrives from now on schedules another delivery
        self._delivers = True
        try:
            while not self._ended:
                try:
                    name, argument = self._signals.popleft()
                except IndexError:  # a cancel may empty the queue at any time
                    return
                self._deliver(name, argument)
        finally:
            self._delivers = False

    def _deliver(self, name: str, argument: Any) -> None:
        try:
            if name == "on_next":
                self._deliver_element(argument)
            elif name == "on_error":
                self._end_with(argument)
            else:
                self._ended = True
                self._subscription = None  # (§2.4)
                self._subscriber.on_complete()
        except BaseException as error:
            self.cancel()
            hooks.report(error, f"raised by {name} of {type(self._subscriber).__name__}")

    def _deliver_element(self, element: Any) -> None:
        self._outstanding -= 1
        if not isinstance(element, Payload):
            self.cancel()
            self._end_with(TypeError(f"to_rsocket: an element must be a Payload, not {type(element).__name__}"))
            return
        self._subscriber.on_next(element)
        if self._outstanding <= _TURN >> 2:
            self._pump_soon()

    def _end_with(self, error: BaseException) -> None:
        self._ended = True
        self._subscription = None  # (§2.4)
        self._subscriber.on_error(error)


reactivestreams.subscription.Subscription.register(_Sending)
