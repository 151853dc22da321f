"""Python classes for Java objects: references, Publishers, Subscribers, futures."""

from __future__ import annotations

import keyword
import threading
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from pyrs._core import hooks
from pyrs._core.downstream import checked_subscriber
from pyrs._core.fusion import IteratorConsumer
from pyrs._core.sites import Site
from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.errors import CallTimeout, NullSignal
from pyrs.stream.advice import missing_attribute
from pyrs.stream.stream import Maybe, Single, Stream

if TYPE_CHECKING:
    from pyrs.jvm.link.outbound import OutboundStream


class ObjectKind(IntEnum):
    """The kind of the object behind a handle, with the numbers of the protocol."""

    OBJECT = 0
    PUBLISHER = 1
    SUBSCRIBER = 2
    PROCESSOR = 3
    COMPLETION_STAGE = 4
    MAYBE = 5
    SINGLE = 6


HOT = 16
"""Added to the kind of a hot Publisher by the JVM."""

STREAM_KINDS: dict[int, type[Stream[Any]]] = {
    ObjectKind.PUBLISHER: Stream,
    ObjectKind.MAYBE: Maybe,
    ObjectKind.SINGLE: Single,
}
"""The class of Stream for each kind of object that emits elements, except Processors and CompletionStages."""


class Operation(IntEnum):
    """An operation that Python requests by name, with the numbers of the Java side."""

    METHOD = 0
    STATIC_METHOD = 1
    CONSTRUCTOR = 2
    FIELD = 3
    CLASS = 4
    VALUE = 5
    THROWABLE = 6


class JavaObject:
    """A reference to a Java object.

    It holds only a number until it is used. If it is passed to Java, Java receives the same object, without a call
    through the gateway. A method call, ``str()`` or ``java`` goes through the gateway. Two references of one link are
    equal if they refer to the same Java object.

    Every attribute except ``java`` is a method of the object, including methods that it inherits from interfaces.
    Arguments are converted by the value table: None, numbers, str, bytes, lists, dicts, Java objects (of any bridge to
    this JVM), and Python Publishers and Subscribers; a JavaError of this bridge becomes its Throwable. A result is
    None, a bool, int, float, str or bytes, the Python object behind a result of ``to_jvm``, or else a ``JavaObject``.
    Append an underscore to a Java name that is a Python keyword or begins with an underscore:
    ``instant.with_(adjuster)``, ``query._kind_()``. Methods of the gateway's own objects accept a ``JavaObject``; over
    JPype, they accept it only for a parameter of type Object. Pass ``.java`` for other parameters.

    The JVM may collect the object when the last reference has been released.
    """

    __slots__ = ("__weakref__", "_handle", "_java")

    # These are attributes of the subclass that each link creates, so that a million references do not repeat them. A
    # name without an underscore is a Java method, such as ``handle`` of a Flux, except ``java``.
    _link: ClassVar[Any]  # the LinkReferences of the link, whose module imports this one
    _kind: ClassVar[int] = 0
    _hot: ClassVar[bool] = False

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @property
    def java(self) -> Any:
        """The gateway's object (Py4J's JavaObject or JPype's), fetched on first use."""
        try:
            return self._java
        except AttributeError:
            session = self._link.session
            if not session.open:
                raise session.new_end_error() from None
            self._java: Any = self._link.control.resolve(self._handle)
            return self._java

    def _get_object_id(self) -> Any:
        """Return Py4J's id of the object. Py4J calls this method for an argument."""
        return self.java._get_object_id()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not _is_java_name(name):
            raise AttributeError(name)
        return JavaMethod(self, Operation.METHOD, self, java_name(name))

    def __copy__(self) -> JavaObject:
        # A second reference would release the handle a second time. The method ``clone`` of Java remains callable.
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> JavaObject:
        return self

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(
            f"{self!r} refers to an object of the JVM of this process and cannot be pickled: use values (value_of "
            "of the bridge), and open a bridge in the other process"
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JavaObject):
            return self._handle == other._handle and self._link is other._link
        return NotImplemented

    def __hash__(self) -> int:
        return hash((id(self._link), self._handle))

    def __str__(self) -> str:
        return str(self._link.command(Operation.METHOD, self, "toString"))

    def __repr__(self) -> str:
        return f"<JavaObject {ObjectKind(self._kind).name.lower()} {self._handle}>"


def _is_java_name(name: str) -> bool:
    """Return whether a name that begins with an underscore is a Java method."""
    # Scala's Tuple2 has _1 and _2. The tools of a notebook look for attributes such as _repr_html_.
    return name[1:].isdigit() or (name.endswith("_") and not name.startswith(("__", "_repr_", "_ipython_")))


def java_name(name: str) -> str:
    """Return the Java name of an attribute.

    The underscore at the end is removed after a Python keyword, after ``java``, and if the name begins with an
    underscore: ``from_`` becomes ``from``, ``java_`` becomes ``java``, and ``_kind_`` becomes ``_kind``.
    """
    if not name.endswith("_"):
        return name
    return name[:-1] if name[0] == "_" or name == "java_" or keyword.iskeyword(name[:-1]) else name


def java_object_class(link: Any, kind: int, *, hot: bool = False) -> type[JavaObject]:
    """Create the class of one link's references to Java objects of one kind."""
    release = link.release

    class BoundJavaObject(JavaObject):
        __slots__ = ()
        _link = link
        _kind = kind
        _hot = hot

        def __del__(self) -> None:
            # A finalizer must not do I/O or take a lock: the writer thread sends the RELEASE of the handle later.
            try:
                release(self._handle)
            except AttributeError:
                pass  # __init__ did not complete

    BoundJavaObject.__name__ = BoundJavaObject.__qualname__ = "JavaObject"
    return BoundJavaObject


class JavaMethod:
    """A method of ``target``, which is a Java object or, for a static method, a class."""

    __slots__ = ("_name", "_operation", "_owner", "_target")

    def __init__(self, owner: object, operation: Operation, target: JavaObject, name: str) -> None:
        self._owner = owner
        self._operation = operation
        self._target = target
        self._name = name

    def __call__(self, *arguments: object) -> Any:
        return self._target._link.command(self._operation, self._target, self._name, arguments)

    def __repr__(self) -> str:
        return f"<method {self._name} of {self._owner!r}>"


class JavaPublisher(Publisher[Any]):
    """A Publisher of the JVM, or an object that Java can convert to one.

    An object such as a Uni is converted on ``subscribe``. The link prefetches a bounded window of elements (see the
    protocol), unless ``exact`` is set. The ``subscribe`` of a ``hot`` Publisher waits until Java's ``subscribe`` has
    returned (at most 5 seconds, and not on the thread of an asyncio loop), so that no element emitted afterwards is
    lost. Signals run in the context of ``subscribe``.
    """

    carries_context = True
    site: Site | None = None
    """The line of user code that converted the Java object."""

    def __init__(
        self,
        java_object: JavaObject,
        *,
        exact: bool = False,
        convert: object = None,
        hot: bool = False,
    ) -> None:
        self.java_object = java_object
        self.exact = exact
        self.convert = convert
        self.hot = hot

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe over the link.

        Raises:
            NullSignal: The Subscriber is None.
            TypeError: The argument is not a Subscriber.

        Rules: 1.9, 1.10.
        """
        subscriber = checked_subscriber(subscriber)
        options = {} if self.convert is None else {"convert": self.convert}
        if self.exact:
            options["exact"] = True
        # The stream does not reference the JavaObject. This variable keeps it alive until SUBSCRIBE is sent.
        reference = self.java_object
        reference._link.session.subscribe(
            reference._handle,
            subscriber,
            options=options,
            confirm=self.hot,
            site=self.site,
        )

    def __repr__(self) -> str:
        return f"JavaPublisher({self.java_object!r}{', exact' if self.exact else ''})"


class JavaSubscriber(IteratorConsumer[Any], Subscriber[Any]):
    """A Subscriber of the JVM, for one subscription (§2.5, §2.12).

    Attributes:
        java_object: The Java object. A sink that implements Subscriber, as some of Reactor and Mutiny do, has other
            methods: ``sink.java_object.next(1)``.
    """

    site: Site | None = None
    """The line of user code that converted the Java object."""

    def __init__(self, java_object: JavaObject, *, exact: bool = False) -> None:
        self.java_object = java_object
        self._options = {"exact": True} if exact else {}
        self._once = threading.Lock()
        self._stream: OutboundStream | None = None

    if not TYPE_CHECKING:  # a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            message = missing_attribute(JavaSubscriber, name, {})
            if message.endswith(repr(name)) and not name.startswith("_"):
                message += f": use java_object.{name} for a method of the Java object"
            raise AttributeError(message, name=name, obj=self)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Open the stream to Java. A second Subscription is cancelled (§2.5)."""
        if subscription is None:
            raise NullSignal("on_subscribe(None): a Subscription is needed")
        if not self._once.acquire(blocking=False):
            subscription.cancel()
            return
        reference = self.java_object
        try:
            self._stream = reference._link.session.subscribe_peer(reference._handle, self._options, self.site)
            self._stream.on_subscribe(subscription)
        except BaseException as error:
            if self._stream is not None:  # an interrupt: no later call would end the open stream
                self._stream.fail(error)
            hooks.cancel_safely(subscription)  # the Publisher may continue although on_subscribe raised
            raise

    def on_next(self, element: Any, /) -> None:
        self._opened().on_next(element)

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        return self._opened().consume(iterator, limit)

    def on_error(self, error: BaseException, /) -> None:
        self._opened().on_error(error)

    def on_complete(self) -> None:
        self._opened().on_complete()

    def _opened(self) -> OutboundStream:
        if self._stream is None:
            raise NullSignal("a signal arrived before on_subscribe", rule="1.9")
        return self._stream

    def __repr__(self) -> str:
        return f"JavaSubscriber({self.java_object!r}{'' if self._stream is None else f', {self._stream!r}'})"


class JavaProcessor(JavaSubscriber, Stream[Any], Processor[Any, Any]):
    """A Processor of the JVM: a Stream and a Subscriber."""

    if not TYPE_CHECKING:
        __getattr__ = Stream.__getattr__

    def __init__(self, java_object: JavaObject, *, exact: bool = False, convert: object = None) -> None:
        JavaSubscriber.__init__(self, java_object, exact=exact)
        Stream.__init__(self, JavaPublisher(java_object, exact=exact, convert=convert, hot=True))


class JavaFuture(Maybe[Any]):
    """A CompletionStage of the JVM: an awaitable, and a stream of one element.

    A stage that completes with null is an empty stream, and None when awaited.
    """

    def __init__(self, java_object: JavaObject, *, convert: object = None) -> None:
        super().__init__(JavaPublisher(java_object, convert=convert))
        self.java_object = java_object

    def result(self, timeout_seconds: float | None = None) -> Any:
        """Wait for the value.

        Raises:
            CallTimeout: The stage did not complete in time.
            JavaError: The stage completed exceptionally.
        """
        try:
            return self.on_error_map(_Failed).block(timeout_seconds)
        except TimeoutError:  # raised by this wait; a TimeoutError of the stage is wrapped in _Failed
            raise CallTimeout(f"the CompletionStage did not complete within {timeout_seconds} seconds") from None
        except _Failed as failed:
            error = failed.error
        raise error


def proxy_for(reference: JavaObject, *, exact: bool = False, convert: object = None, hot: bool = False) -> Any:
    """Return the Python counterpart of a Java object; of a plain one, the reference."""
    kind = reference._kind
    stream_type = STREAM_KINDS.get(kind)
    if stream_type is not None:
        return stream_type(JavaPublisher(reference, exact=exact, convert=convert, hot=hot))
    if kind == ObjectKind.SUBSCRIBER:
        return JavaSubscriber(reference, exact=exact)
    if kind == ObjectKind.PROCESSOR:
        return JavaProcessor(reference, exact=exact, convert=convert)
    if kind == ObjectKind.COMPLETION_STAGE:
        return JavaFuture(reference, convert=convert)
    return reference


class _Failed(Exception):
    """Wraps the error of a CompletionStage, to distinguish it from errors of the wait."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
