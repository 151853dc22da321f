"""The publishers and subscribers of rsocket-py, with the demand of both sides.

rsocket-py belongs to one asyncio loop and knows no threads. So whatever is handed to it here is called on that loop
alone, whichever threads a stream signals on.
"""

from __future__ import annotations

import asyncio
from collections import deque
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
from pyrs.aio.loops import call_on, is_here, loop_for
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import DemandExceeded, NullSignal
from pyrs.stream.stream import Stream

__all__ = ["Receiver", "from_rsocket", "to_rsocket"]

T = TypeVar("T")

_MOST = 0x7FFFFFFF
"""The most that a frame can request; RSocket takes it for everything there is."""

_TURN = 128
"""So many elements are requested of a stream at a time, so that one that is always ready does not hold the loop."""


def from_rsocket(publisher: Any | Callable[[], Any], *, loop: asyncio.AbstractEventLoop | None = None) -> Stream[Any]:
    """Return a stream of what a publisher of rsocket-py gives.

        from_rsocket(lambda: client.request_stream(payload))
        request(2) -> REQUEST_STREAM n=2     ---a---b---
        request(1) -> REQUEST_N n=1          ---c|

    Exact demand: the request goes out with the first demand (``initial_request_n``), and further demand as REQUEST_N.
    Nothing is held. Signals come on the loop. A cancel becomes a CANCEL frame. A peer that sends more than was
    requested fails the stream with ``DemandExceeded``.

    Args:
        publisher: a function that returns one, called for each Subscriber, on the loop: then each makes a request of
            its own. Or a publisher; what ``request_stream`` and ``request_channel`` return can be subscribed to once.
        loop: that of the connection; None for the one that runs where this is called, else where somebody subscribes.

    Raises:
        TypeError: it is neither, or the loop is no loop.

    Rules: 1.1, 1.4, 1.5, 2.8, 3.9; an element that is None fails the stream with ``NullSignal``.
    """
    if not callable(publisher):
        checked_publisher(publisher, "publisher")
    name = name_of(publisher) if callable(publisher) else short(publisher)
    if loop is not None:
        loop_for(loop)
    return Stream(_Incoming(publisher, f"from_rsocket({name})", loop or asyncio._get_running_loop()))


def to_rsocket(stream: Publisher[Any]) -> Any:
    """Return a publisher for rsocket-py that gives the elements of a stream, which have to be Payloads.

    For ``RequestHandler.request_stream`` and ``request_channel``, and as the publisher of ``client.request_channel``.

    Demand: what the peer requested, asked of the stream in steps of 128 elements at most, so that a stream that is
    always ready does not keep the loop from others. Nothing is held but what other threads signal until the loop comes
    to it, which is bounded by that. Frames that wait for the network are held by rsocket-py, without a bound where the
    peer requests without one. A CANCEL frame and a lost connection cancel the stream.

    Args:
        stream: any Publisher. It may signal on any thread.

    Raises:
        TypeError: it is no Publisher.
    """
    return _Outgoing(checked_publisher(stream, "stream"))


class Receiver(reactivestreams.subscriber.Subscriber, reactivestreams.publisher.Publisher):  # type: ignore[misc]
    """A subscriber of rsocket-py's whose elements are a stream: what the requester of a channel sends.

    Return it from ``RequestHandler.request_channel``, beside the publisher of the answers:

        async def request_channel(self, payload):
            receiver = Receiver()
            return to_rsocket(receiver.stream.map(answer)), receiver

    Attributes:
        stream: for one Subscriber. Nothing is requested of the peer before that demands something.
    """

    def __init__(self) -> None:
        self.stream: Stream[Any] = from_rsocket(self)
        self._subscription: Any = None
        self._subscriber: Any = None
        self._end: Callable[[Any], object] | None = None  # how it ended before there was a Subscriber

    def subscribe(self, subscriber: Any) -> None:
        """Called by the stream, on the loop."""
        if self._subscriber is not None:
            raise RuntimeError("what a Receiver receives can be subscribed to once")
        self._subscriber = subscriber
        if self._subscription is not None:
            subscriber.on_subscribe(self._subscription)
        if self._end is not None:
            self._end(subscriber)

    def on_subscribe(self, subscription: Any) -> None:
        """Called by rsocket-py."""
        self._subscription = subscription
        if self._subscriber is not None:
            self._subscriber.on_subscribe(subscription)

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        """Called by rsocket-py, which has requests from the stream's Subscriber alone."""
        if self._subscriber is None:
            hooks.on_next_dropped(1, "Receiver: nothing was requested of this peer")
        else:
            self._subscriber.on_next(value, is_complete)

    def on_error(self, exception: Exception) -> None:
        """Called by rsocket-py."""
        self._end_with(lambda subscriber: subscriber.on_error(exception))

    def on_complete(self) -> None:
        """Called by rsocket-py."""
        self._end_with(lambda subscriber: subscriber.on_complete())

    def _end_with(self, end: Callable[[Any], object]) -> None:
        if self._subscriber is None:
            self._end = end
        else:
            end(self._subscriber)


# What comes in.


class _Incoming(Operator[Any]):
    def __init__(self, publisher: Any, call: str, loop: asyncio.AbstractEventLoop | None) -> None:
        super().__init__(None, call)
        self.publisher = publisher
        self.loop = loop
        self.used = False

    def run(self, subscriber: Subscriber[Any]) -> _Request:
        return _Request(in_context(subscriber), self)


class _Request(Coordinator[Any]):
    """One Subscriber's request: for rsocket-py, which calls it on its loop, a subscriber."""

    def __init__(self, subscriber: Subscriber[Any], operator: _Incoming) -> None:
        super().__init__(subscriber, operator)
        self._made = operator
        self._loop: asyncio.AbstractEventLoop | None = None
        # The rest belongs to the loop.
        self._connected = False
        self._subscription: Any = None
        self._asked = 0
        self._received = 0
        self._over = False

    def _begin(self) -> None:
        loop = self._made.loop or asyncio._get_running_loop()
        if loop is None:
            raise RuntimeError("no asyncio loop runs here: give from_rsocket(..., loop=) that of the connection")
        self._loop = loop_for(loop)
        self._on_loop(self._look)

    def _requested_more(self, n: int) -> None:
        if self._loop is not None:  # before that, it is looked at when it begins
            try:
                self._on_loop(self._look)
            except RuntimeError as error:  # the loop was closed
                self.post(self._fail, error)

    def _release(self) -> None:
        if self._loop is not None:
            try:
                self._on_loop(self._stop)
            except RuntimeError:  # the loop was closed, and the connection with it
                pass

    def _on_loop(self, function: Callable[[], None]) -> None:
        assert self._loop is not None
        if is_here(self._loop):
            function()
        else:
            call_on(self._loop, None, function)

    def _took(self, element: Any) -> None:
        try:
            element = checked_element(element, "the publisher")
        except TypeError as error:
            self._raised(error)
        else:
            self._emit(element)

    def _end_well(self, _: object) -> None:
        self._complete()

    # On the loop.

    def _look(self) -> None:
        if not self._live or self._over:
            return
        if self._connected:
            self._ask()
            return
        publisher = self._made.publisher
        # A request carries the first demand with it, so there is none without.
        if self._requested or not (callable(publisher) or hasattr(publisher, "initial_request_n")):
            try:
                self._connect(publisher() if callable(publisher) else publisher)
            except BaseException as error:
                self._over = True
                self.post(self._raised, error)

    def _connect(self, publisher: Any) -> None:
        checked_publisher(publisher, "the result of publisher")
        begin = getattr(publisher, "initial_request_n", None)
        if begin is not None:
            if self._made.used and publisher is self._made.publisher:
                raise RuntimeError("a request can be subscribed to once: give from_rsocket a function that makes one")
            self._made.used = True
            self._asked = min(self._requested, _MOST)
            begin(self._asked)
        publisher.subscribe(self)
        self._connected = True  # only now: a REQUEST_N must not go out before the request does
        self._ask()

    def _ask(self) -> None:
        outstanding = self._asked - self._received
        more = min(self._requested - self._asked, _MOST - outstanding)
        # Of everything there is, a new part is requested when half was received.
        if more > 0 and outstanding <= _MOST >> 1 and self._subscription is not None:
            self._asked += more
            self._subscription.request(more)

    def _stop(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self._over:
            try:
                subscription.cancel()
            except Exception as error:
                hooks.on_error_dropped(error, f"{self._operator.call}: raised by cancel()")
        self._over = True

    def on_subscribe(self, subscription: Any) -> None:
        if self._subscription is not None or self._over or not self._live:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        if self._connected:
            self._ask()

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        if self._over or not self._live:
            return  # 2.8
        self._received += 1
        if self._received > self._asked:
            self._stop()
            self.post(self._fail, DemandExceeded(f"{self._operator.call}: {self._asked} elements were requested"))
            return
        self.post(self._took, value)
        if is_complete:
            self.on_complete()
        elif not self._over:
            self._ask()

    def on_error(self, exception: BaseException) -> None:
        if not self._over:
            self._over = True
            self.post(self._fail, exception)
        else:
            hooks.on_error_dropped(exception, f"{self._operator.call}: the stream was over")

    def on_complete(self) -> None:
        if not self._over:
            self._over = True
            self.post(self._end_well)


reactivestreams.subscriber.Subscriber.register(_Request)


# What goes out.


class _Outgoing(reactivestreams.publisher.Publisher):  # type: ignore[misc]
    def __init__(self, stream: Publisher[Any]) -> None:
        self._stream = stream

    def subscribe(self, subscriber: Any) -> None:
        sending = _Sending(subscriber, asyncio.get_running_loop())
        subscriber.on_subscribe(sending)  # at once: rsocket-py requests as soon as this returns
        try:
            self._stream.subscribe(sending)
        except Exception as error:
            sending.on_error(error)
        sending.subscribed = True

    def __repr__(self) -> str:
        return f"to_rsocket({self._stream!r})"


class _Sending(Subscriber[Any], Subscription):
    """Hands what a stream signals, on any thread, to a subscriber of rsocket-py, on its loop.

    Rules: 2.1, 2.2, 2.4, 2.5, 2.6, 2.7, 2.8, 2.13.
    """

    def __init__(self, subscriber: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._subscriber = subscriber
        self._loop = loop
        self._upstream: Subscription | None = None
        self._signals: deque[tuple[str, Any]] = deque()
        self._coming = False  # whether the loop will come to look at the signals
        self._over = False
        # What is signalled before that waits for the loop's next turn: the frame that opens a channel goes out first.
        self.subscribed = False
        # The rest belongs to the loop.
        self._wanted = 0  # by the peer, and not yet requested
        self._outstanding = 0
        self._pumping = False

    # What rsocket-py calls, on the loop.

    def request(self, n: int, /) -> None:
        if n <= 0:
            self.cancel()
            self._end_with(non_positive(n))  # 3.9
            return
        self._wanted += n if n < _MOST else UNBOUNDED
        self._pump_soon()

    def cancel(self) -> None:
        self._over = True
        self._signals.clear()
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            try:
                upstream.cancel()
            except Exception as error:
                hooks.on_error_dropped(error, f"raised by cancel() of {type(upstream).__name__}")

    # What the stream calls, on any thread.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        if self._upstream is not None:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        if self._over:  # the peer cancelled before, or just now
            self.cancel()
        elif is_here(self._loop):
            self._pump_soon()
        else:
            self._call(self._pump_soon)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        self._put("on_next", element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._put("on_error", error)

    def on_complete(self) -> None:
        self._put("on_complete", None)

    def _put(self, name: str, argument: Any) -> None:
        if self._over:
            return
        if self.subscribed and not self._signals and is_here(self._loop):
            self._deliver(name, argument)
            return
        self._signals.append((name, argument))
        if not self._coming:
            self._coming = True
            self._call(self._deliver_all)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # the loop was closed: nobody will ever take a signal
            self.cancel()

    # On the loop.

    def _pump_soon(self) -> None:
        """Request more in the loop's next turn: never from inside a signal (3.3), and others have theirs."""
        if not self._pumping and self._wanted and not self._over:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        upstream = self._upstream
        step = min(self._wanted, _TURN - self._outstanding)
        if upstream is not None and step > 0:
            self._wanted -= step
            self._outstanding += step
            upstream.request(step)

    def _deliver_all(self) -> None:
        self._coming = False  # before the look: what comes later has the loop come again
        while self._signals and not self._over:
            name, argument = self._signals[0]
            self._deliver(name, argument)
            if self._signals:  # a cancel clears them; until here the place in the line keeps others from overtaking
                self._signals.popleft()

    def _deliver(self, name: str, argument: Any) -> None:
        try:
            if name == "on_next":
                self._deliver_element(argument)
            elif name == "on_error":
                self._end_with(argument)
            else:
                self._over = True
                self._upstream = None  # 2.4
                self._subscriber.on_complete()
        except BaseException as error:
            self.cancel()
            if hooks.is_exit(error):
                raise
            hooks.on_error_dropped(error, f"raised by {name} of {type(self._subscriber).__name__}")

    def _deliver_element(self, element: Any) -> None:
        self._outstanding -= 1
        if not isinstance(element, Payload):
            self.cancel()
            self._end_with(TypeError(f"an element for rsocket must be a Payload, not {type(element).__name__}"))
            return
        self._subscriber.on_next(element)
        if self._outstanding <= _TURN >> 2:
            self._pump_soon()

    def _end_with(self, error: BaseException) -> None:
        self._over = True
        self._upstream = None  # 2.4
        self._subscriber.on_error(error)


reactivestreams.subscription.Subscription.register(_Sending)
