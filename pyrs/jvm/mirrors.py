"""What stands in Python for an object of the JVM."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pyrs._core.fusion import IteratorConsumer
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.errors import CallTimeout, NullSignal
from pyrs.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyrs.jvm.gateways.base import Control, Gateway
    from pyrs.jvm.link.outbound import OutboundStream
    from pyrs.jvm.link.session import Session


class Kind(IntEnum):
    """What an object behind a handle is, as the protocol numbers it."""

    OBJECT = 0
    PUBLISHER = 1
    SUBSCRIBER = 2
    PROCESSOR = 3
    COMPLETION_STAGE = 4


HOT = 16
"""What the JVM adds to the kind of a hot Publisher."""


class LinkEnd(Protocol):
    """What a stand-in needs of its bridge."""

    @property
    def session(self) -> Session:
        """The link's state."""

    @property
    def give_back(self) -> Callable[[int], None]:
        """Take note of a handle that nobody holds any more; safe in a finalizer."""

    @property
    def gateway(self) -> Gateway:
        """The carrier of control calls."""

    @property
    def control(self) -> Control:
        """The bridge's counterpart in the JVM."""


class JavaObject:
    """A Java object by reference.

    It is only a number until it is used: passing it on to Java costs nothing, and it arrives there as the same object.
    A method call, ``str()`` or `java` goes through the gateway. Two of these are equal when they stand for the same
    Java object.

    When the last one is gone the JVM may collect its object.
    """

    __slots__ = ("__weakref__", "_java", "handle")

    # Of the subclass that each link makes: what a million of them have in common is not kept in each.
    references: ClassVar[LinkEnd]
    kind: ClassVar[int] = 0

    def __init__(self, handle: int) -> None:
        self.handle = handle

    @property
    def java(self) -> Any:
        """The gateway's own object (a Py4J JavaObject, a JPype object), fetched on first use."""
        try:
            return self._java
        except AttributeError:
            session = self.references.session
            if not session.open:
                raise session.why_over() from None
            self._java: Any = self.references.control.resolve(self.handle)
            return self._java

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return JavaMethod(self, name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JavaObject):
            return self.handle == other.handle and self.references is other.references
        return NotImplemented

    def __hash__(self) -> int:
        return hash((id(self.references), self.handle))

    def __str__(self) -> str:
        return str(self.references.control.invoke(self.java, "toString"))

    def __repr__(self) -> str:
        return f"<JavaObject {Kind(self.kind).name.lower()} {self.handle}>"


def java_object_class(link: LinkEnd, object_kind: int) -> type[JavaObject]:
    """The class of one link's stand-ins for Java objects of one kind."""
    note = link.give_back

    class BoundJavaObject(JavaObject):
        __slots__ = ()
        references = link
        kind = object_kind

        def __del__(self) -> None:
            # A finalizer does no I/O and takes no lock: the writer gives the handle back later.
            try:
                note(self.handle)
            except AttributeError:
                pass  # it was never made whole

    BoundJavaObject.__name__ = BoundJavaObject.__qualname__ = "JavaObject"
    return BoundJavaObject


class JavaMethod:
    """A method of a `JavaObject`: inherited default methods and those of non-public classes included."""

    __slots__ = ("_name", "_target")

    def __init__(self, target: JavaObject, name: str) -> None:
        self._target = target
        self._name = name

    def __call__(self, *arguments: object) -> Any:
        return self._target.references.control.invoke(
            self._target.java, self._name, [a.java if isinstance(a, JavaObject) else a for a in arguments]
        )

    def __repr__(self) -> str:
        return f"<method {self._name} of {self._target!r}>"


class JavaPublisher(Publisher[Any]):
    """A Publisher of the JVM.

    Demand: the link keeps a bounded window ahead of its Subscriber (see the protocol); with `exact` none. Where it is
    `hot`, ``subscribe`` returns when Java's has, so that nothing emitted afterwards is lost.
    """

    def __init__(
        self, java_object: JavaObject, *, exact: bool = False, convert: object = None, hot: bool = False
    ) -> None:
        self.java_object = java_object
        self.exact = exact
        self.convert = convert
        self.hot = hot

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe by way of the link.

        Raises:
            NullSignal: the Subscriber is None.
            TypeError: it is no Subscriber.

        Rules: 1.9, 1.10.
        """
        subscriber = checked_subscriber(subscriber)
        options = {} if self.convert is None else {"convert": self.convert}
        if self.exact:
            options["exact"] = True
        # The stream holds the JavaObject by way of nothing else, so a Publisher must outlive its SUBSCRIBE: it does, on
        # this frame.
        self.java_object.references.session.subscribe(
            self.java_object.handle, subscriber, exact=self.exact, options=options, confirm=self.hot
        )

    def __repr__(self) -> str:
        return f"JavaPublisher({self.java_object!r}{', exact' if self.exact else ''})"


class JavaSubscriber(IteratorConsumer[Any], Subscriber[Any]):
    """A Subscriber of the JVM, for one subscription (rules 2.5, 2.12)."""

    def __init__(self, java_object: JavaObject, *, exact: bool = False) -> None:
        self.java_object = java_object
        self._options = {"exact": True} if exact else {}
        self._once = threading.Lock()
        self._stream: OutboundStream | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Open the stream to Java. A second Subscription is cancelled."""
        if subscription is None:
            raise NullSignal("on_subscribe(None): a Subscription is needed")
        if not self._once.acquire(blocking=False):
            subscription.cancel()
            return
        stream = self.java_object.references.session.subscribe_peer(self.java_object.handle, self._options)
        self._stream = stream
        stream.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        self._opened().on_next(element)

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        """Take elements from an iterator (see `pyrs._core.fusion`)."""
        return self._opened().consume(iterator, limit)

    def on_error(self, error: BaseException, /) -> None:
        """Pass the error on."""
        self._opened().on_error(error)

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._opened().on_complete()

    def _opened(self) -> OutboundStream:
        if self._stream is None:
            raise NullSignal("a signal came before on_subscribe", rule="1.9")
        return self._stream

    def __repr__(self) -> str:
        return f"JavaSubscriber({self.java_object!r}{'' if self._stream is None else f', {self._stream!r}'})"


class JavaProcessor(JavaSubscriber, Stream[Any], Processor[Any, Any]):
    """A Processor of the JVM: a Stream to read from and a Subscriber to feed."""

    def __init__(self, java_object: JavaObject, *, exact: bool = False, convert: object = None) -> None:
        JavaSubscriber.__init__(self, java_object, exact=exact)
        Stream.__init__(self, JavaPublisher(java_object, exact=exact, convert=convert, hot=True))


class JavaFuture(Stream[Any]):
    """A CompletionStage of the JVM: ``await`` it, wait for its `result`, or use it as a stream of one.

    A stage that completes with null is an empty stream, and None when awaited.
    """

    def __init__(self, java_object: JavaObject, *, convert: object = None) -> None:
        super().__init__(JavaPublisher(java_object, convert=convert))
        self.java_object = java_object

    def result(self, timeout_seconds: float | None = None) -> Any:
        """Wait for the value.

        Raises:
            CallTimeout: it did not come in time.
            JavaError: the stage completed exceptionally.
        """
        from queue import Empty, SimpleQueue

        arrived: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        first = _First(lambda value, error: arrived.put((value, error)))
        self.source.subscribe(first)
        try:
            value, error = arrived.get(timeout=timeout_seconds)
        except Empty:
            first.cancel()
            raise CallTimeout(f"the CompletionStage did not complete within {timeout_seconds} seconds") from None
        except BaseException:
            first.cancel()
            raise
        if error is not None:
            raise error
        return value

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        first = _First(lambda value, error: loop.call_soon_threadsafe(settle, value, error))
        self.source.subscribe(first)
        future.add_done_callback(lambda done: first.cancel() if done.cancelled() else None)
        return future.__await__()


class _First(Subscriber[Any]):
    """Takes one element, or none."""

    def __init__(self, settle: Any) -> None:
        self._settle = settle
        self._value: Any = None
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        self._value = element

    def on_error(self, error: BaseException, /) -> None:
        self._settle(None, error)

    def on_complete(self) -> None:
        self._settle(self._value, None)

    def cancel(self) -> None:
        if self._subscription is not None:
            self._subscription.cancel()
