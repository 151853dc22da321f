"""The bridge: Publishers, Subscribers and Processors between Python and one JVM."""

from __future__ import annotations

import atexit
import html
import itertools
import logging
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pyrs._core.sites import Site, assembly_site
from pyrs._core.validation import checked_callable, checked_natural, checked_seconds, checked_timeout
from pyrs.errors import LinkBroken, LinkClosed
from pyrs.jvm.classes import JavaClass
from pyrs.jvm.codec import LinkReferences
from pyrs.jvm.gateways.control import Control, Gateway
from pyrs.jvm.java_objects import (
    STREAM_KINDS,
    JavaFuture,
    JavaPublisher,
    JavaSubscriber,
    ObjectKind,
    Operation,
    proxy_for,
)
from pyrs.jvm.kinds import check_convertible, convert_to, object_kind
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.connection import LinkConnection, close_all
from pyrs.jvm.link.handshake import TOKEN_BYTES
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.session import Session
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH
from pyrs.jvm.stage_function import stage_function
from pyrs.jvm.streams import Rates, Streams, as_json, display, snapshot, title
from pyrs.stream.advice import missing_attribute
from pyrs.stream.stream import Maybe, Stream

if TYPE_CHECKING:
    from pyrs.jvm.status import StatusServer

_log = logging.getLogger("pyrs.jvm")
_numbers = itertools.count(1)
DEFAULT_CALL_TIMEOUT_SECONDS = LIMITS["call.timeout_ms"] / 1_000
DEFAULT_MAX_THREADS = LIMITS["bridge.threads"]


class Bridge:
    """The connection between this process and a JVM.

    ``pyrs.jvm.connect`` and ``pyrs.jvm.launch`` return it, and document its arguments. A bridge is a context manager.
    Several bridges, of one process or of several, can use one JVM independently of each other.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        max_prefetch: int = DEFAULT_MAX_PREFETCH,
        max_threads: int = DEFAULT_MAX_THREADS,
        call_timeout_seconds: float = DEFAULT_CALL_TIMEOUT_SECONDS,
        reconnect: bool = False,
        name: str | None = None,
    ) -> None:
        max_prefetch = checked_natural(max_prefetch, "max_prefetch", 1)
        max_threads = checked_natural(max_threads, "max_threads", 1)
        call_timeout_seconds = checked_seconds(call_timeout_seconds, "call_timeout_seconds", positive=True)
        if not isinstance(reconnect, bool):
            raise TypeError(f"reconnect must be True or False, not {reconnect!r}")
        self.name = name or f"bridge-{next(_numbers)}"
        self._gateway = gateway
        self._limits = {"max_prefetch": max_prefetch, "max_threads": max_threads}
        self._call_timeout_ms = int(call_timeout_seconds * 1000)
        self._reconnects = reconnect
        self._reconnecting, self._reopener = threading.Lock(), 0
        self._pid = os.getpid()
        self._abandoned = False
        self._rates = Rates()
        self._status: StatusServer | None = None
        try:
            # One task that an interrupt cannot split, so that no link is left half open.
            gateway.shield(self._open)
        except BaseException:
            self._abandoned = True
            connection: LinkConnection | None = getattr(self, "_connection", None)
            if connection is not None:
                connection.close()
            raise

    def _open(self) -> None:
        token = secrets.token_bytes(TOKEN_BYTES)
        options = {**self._limits, "call_timeout_ms": self._call_timeout_ms, "name": self.name}
        control = self._gateway.open(token, options)

        def codec(session: Session) -> LinkReferences:
            if self._reconnects:
                session.recovery = (
                    "; its streams, calls and Java objects have ended, and the next use of the bridge opens a new link"
                )
            return LinkReferences(session, self._gateway, control)

        try:
            connection = LinkConnection(
                control.port(),
                token,
                codec,
                call_seconds=self._call_timeout_ms / 1000,
                thread_ends=self._gateway.detach_thread,
                name=self.name,
                **self._limits,
            )
        except BaseException:
            control.close()
            raise
        # Assigned after the link is open: if it fails to open, no other thread may use its references.
        self._references = cast(LinkReferences, connection.session.codec)
        self._control: Control = control
        self._session = connection.session
        self._connection = connection
        if self._abandoned:  # the caller was interrupted and cannot close it, or ``close`` ran before the assignment
            connection.close()
            return
        # Exit handlers run last in, first out. This one is registered again, to run before those of the gateway.
        atexit.unregister(close_all)
        atexit.register(close_all)
        _log.info("%s is open: %s", self.name, self._gateway.describe())

    def _check_open(self) -> None:
        """Raise LinkClosed for a closed bridge; replace a broken link if allowed."""
        if self.closed:
            end = None if self._abandoned else self._session.end_error
            why = f" ({end})" if isinstance(end, LinkBroken) else ""
            raise LinkClosed(f"{self.name} is closed{why}: open another one with pyrs.jvm.connect or pyrs.jvm.launch")
        if not self._session.open:
            self._gateway.shield(self._reopen)

    def _reopen(self) -> None:
        if self._reopener == threading.get_ident():  # in a finalizer or a log handler on the thread that opens the link
            raise self._session.new_end_error()
        with self._reconnecting:
            if not self._session.open:
                why, self._reopener = self._session.end_error, threading.get_ident()
                try:
                    self._open()
                    _log.info("%s has opened a new link: %s", self.name, why)
                finally:
                    self._reopener = 0

    if not TYPE_CHECKING:  # a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(missing_attribute(Bridge, name, _OTHER_NAMES), name=name, obj=self)

    # From the JVM to Python.

    def java_class(self, name: str) -> JavaClass:
        """Find a class of the JVM by name, to call its static methods and constructors.

        Unlike calls through Py4J, calls through the class reach inherited default methods, methods of objects of
        non-public classes, and methods with a variable number of arguments.

        Args:
            name: The name, such as ``"java.util.ArrayList"``; a nested class is ``"java.util.Map$Entry"``. ``"int"``
                and ``"java.lang.String[]"`` are names too.

        Raises:
            JavaError: The JVM has no such class; the message says how to add a jar.
            TypeError: The name is not a str.
            LinkClosed: The bridge is closed.

        Examples:
            >>> Flux = bridge.java_class("reactor.core.publisher.Flux")  # doctest: +SKIP
            >>> bridge.from_jvm(Flux.range(1, 3)).collect()  # doctest: +SKIP
            [1, 2, 3]
        """
        if not isinstance(name, str):
            raise TypeError(f"java_class takes the name of a class as a str, not {name!r}")
        self._check_open()
        return JavaClass(*self._references.command(Operation.CLASS, None, name))

    def from_jvm(
        self, java_object: Any, *, exact: bool = False, convert: object = None, hot: bool | None = None
    ) -> Any:
        """Return the Python counterpart of a Java object.

        | Java | Python |
        |---|---|
        | Publisher (org.reactivestreams or Flow) | ``pyrs.Stream`` |
        | Subscriber | a ``pyrs.Subscriber`` |
        | Processor | a ``pyrs.Stream`` that is also a Subscriber |
        | CompletionStage | a ``pyrs.jvm.JavaFuture``: a ``pyrs.Maybe`` |
        | Reactor's Mono, RxJava's Maybe and Completable, Mutiny's Uni, Helidon's Single | ``pyrs.Maybe`` |
        | RxJava's Single | ``pyrs.Single`` |
        | a result of ``to_jvm`` | the Python object itself |

        Demand: nothing is requested in Java before the first request of the Subscriber. Then the link prefetches a
        bounded window of elements, which starts at 16 and grows while the Subscriber keeps up. A slow Subscriber slows
        the Java Publisher; no element is dropped. Elements that are prefetched when the Subscriber cancels are dropped
        and counted.

        The result has the type ``Any``, because Java objects have no static types in Python. Annotate the variable, and
        type checkers know the elements: ``numbers: pyrs.Stream[int] = bridge.from_jvm(flux)``.

        Args:
            java_object: A ``JavaObject``, as calls through ``java_class`` return it, or the object of the gateway. A
                ``JavaObject`` is converted without a call to Java. For an object that a bridge has converted already,
                such as an argument of a callable, these options replace the earlier ones.
            exact: Forward demand one to one, for brokers that acknowledge on delivery. Costs a round trip for each
                request.
            convert: The conversion of foreign types: ``"auto"``, ``"values"``, ``"references"``, ``"shared"`` or a
                mapping of class names (see the value table).
            hot: True if the Publisher emits with or without Subscribers. ``subscribe`` then waits until Java's
                ``subscribe`` has returned and the demand of ``on_subscribe`` was requested, so that no element emitted
                afterwards is lost. The wait is a round trip, at most 5 seconds; on the thread of an asyncio loop there
                is none. By default Java decides: SubmissionPublisher, Processors and sinks, connectables, and operators
                of Reactor, RxJava and Mutiny that expose one of these as their source are hot.

        Raises:
            TypeError: The object has no row in the table, or an option has a wrong type.
            ConversionError: The object came through a bridge to another JVM, or through another bridge that is closed.
            LinkBroken: The object came through an earlier link of this bridge, see ``reconnect`` of ``connect``.
            LinkClosed: The bridge is closed.
        """
        self._check_open()
        _check_options(exact=exact, hot=hot)
        site = assembly_site()
        counterpart = self._gateway.shield(lambda: self._counterpart_of(java_object, exact, convert, hot))
        for part in (counterpart, counterpart.source if isinstance(counterpart, Stream) else None):
            if isinstance(part, (JavaPublisher, JavaSubscriber)) and part.site is None:
                part.site = site
        return counterpart

    def _counterpart_of(self, java_object: Any, exact: bool, convert: object, hot: bool | None) -> Any:
        references = self._references  # read once, because another thread may replace the link
        if self._gateway.is_java_object(java_object):
            handle = references.control.unwrap(java_object)
            if handle:
                return references.local(handle)
        given = java_object.source if type(java_object) in STREAM_KINDS.values() else java_object
        # The object behind a proxy is passed, because java_handle returns None for the proxy of another bridge or link.
        stands_in = isinstance(given, (JavaPublisher, JavaSubscriber, JavaFuture))
        reference = references.java_handle(given.java_object if stands_in else given)
        if reference is None:
            name = type(java_object).__qualname__
            advice = _ADVICE.get(name, "to_jvm converts Python objects for the JVM")
            raise TypeError(f"from_jvm takes an object of the JVM, not {name}: {advice}")
        if reference._kind == ObjectKind.OBJECT:
            raise TypeError(
                "from_jvm takes a Publisher, Subscriber, Processor (org.reactivestreams or java.util.concurrent.Flow), "
                "CompletionStage, or a type of Reactor, RxJava or Mutiny such as Mono, Single and Uni; "
                f"{reference.getClass().getName()} is none of them"
            )
        if hot is None:
            hot = given.hot if isinstance(given, JavaPublisher) else reference._hot
        return proxy_for(reference, exact=exact, convert=convert, hot=hot)

    def value_of(self, java_object: Any, *, convert: object = "values") -> Any:
        """Read one Java object as a Python value in one call; a record becomes a dict.

        Args:
            java_object: A ``JavaObject``, or the object of the gateway.
            convert: See ``from_jvm``. By default everything becomes a value: an object without a row in the value table
                becomes a dict of the results of its getters.

        Raises:
            ConversionError: The object cannot be converted to a value.
            LinkClosed: The bridge is closed.

        Examples:
            >>> bridge.value_of(bridge.java_class("java.util.List").of(1, "a"))  # doctest: +SKIP
            [1, 'a']
        """
        self._check_open()
        return self._references.command(Operation.VALUE, java_object, "", [convert])

    # From Python to the JVM.

    def to_jvm(
        self,
        python_object: Any,
        *,
        java_type: str | None = None,
        element_type: str | None = None,
        convert: object = None,
        exact: bool = False,
    ) -> Any:
        """Convert a Python Publisher, Subscriber or Processor to a Java object.

        The Java object implements both ``org.reactivestreams`` and ``java.util.concurrent.Flow``. The Python
        counterpart of a Java object is converted to that object.

        Demand: the requests of the Java Subscriber reach the Python Publisher as a bounded window (see ``from_jvm``).

        Args:
            python_object: The Publisher, Subscriber or Processor.
            java_type: For a Publisher: the class of the result, by default a Publisher. For a ``Maybe`` or a ``Single``
                ``"reactor.core.publisher.Mono"``, ``"io.reactivex.rxjava3.core.Maybe"`` or ``Completable``,
                ``"io.smallrye.mutiny.Uni"``, or ``"java.util.concurrent.CompletionStage"`` or ``CompletableFuture``,
                which subscribe at once. For a ``Single`` also ``"io.reactivex.rxjava3.core.Single"``. For any Publisher
                ``"reactor.core.publisher.Flux"``, ``"io.reactivex.rxjava3.core.Flowable"`` or
                ``"io.smallrye.mutiny.Multi"``.
            element_type: The Java class of the elements, such as ``"java.lang.Integer"`` or ``"java.nio.ByteBuffer"``.
                An element that does not fit ends the stream with an error that names both types.
            convert: For a Subscriber: the conversion of foreign types (see ``from_jvm``).
            exact: Forward demand one to one.

        Raises:
            TypeError: The object is not a Publisher, Subscriber or Processor, or not the Maybe or Single that
                ``java_type`` requires.
            ValueError: ``java_type`` is not one of the classes above.
            JavaError: The JVM does not have the class ``java_type``.
            LinkClosed: The bridge is closed.
        """
        self._check_open()
        _check_options(exact=exact, element_type=element_type, java_type=java_type)
        options = {"element_type": element_type, "convert": convert, "exact": exact or None}
        if java_type is not None:
            check_convertible(python_object, java_type)
            if isinstance(python_object, JavaFuture):
                python_object = Maybe(python_object.source).checkpoint()  # a CompletionStage is not a Publisher in Java
        site = assembly_site()
        java_object = self._gateway.shield(lambda: self._java_object_of(python_object, options, site))
        if java_type is None:
            return java_object
        return convert_to(self.java_class, self._references.java_handle(java_object), java_type)

    def _java_object_of(self, python_object: Any, options: Mapping[str, object], site: Site | None) -> Any:
        reference = self._references.java_handle(python_object)
        if reference is not None:
            return reference.java
        kind = object_kind(python_object)
        return self._exported(python_object, lambda control, handle: control.mirror(kind, handle, options), site)

    def to_jvm_stage(
        self,
        function: Callable[[Stream[Any]], Any],
        *,
        interface: str | None = None,
        element_type: str | None = None,
        convert: object = None,
        exact: bool = False,
    ) -> Any:
        """Return a Java function that applies a Python function to a Publisher.

        Java calls it once for each assembly, not for each element: ``flux.transform(stage)``.

        Args:
            function: Takes the ``Stream`` of the Java Publisher and returns a Publisher.
            interface: A Java interface with one method from Publisher to Publisher, such as
                ``io.reactivex.rxjava3.core.FlowableTransformer``; ``java.util.function.Function`` by default.
            element_type: The Java class of the resulting elements. By default, if all elements that entered were of
                the same box class (Integer, Short or Byte), resulting integers that fit have that class.
            convert: The conversion of foreign types for the function (see ``from_jvm``).
            exact: Forward demand one to one, on both sides of the stage.

        Raises:
            TypeError: ``function`` is not callable, or another argument has a wrong type.
            JavaError: The interface has no such method.
            LinkClosed: The bridge is closed.
        """
        if not callable(function):
            raise TypeError(f"to_jvm_stage takes a function from Stream to Publisher, not {type(function).__name__}")
        self._check_open()
        _check_options(exact=exact, element_type=element_type, interface=interface)
        stage = stage_function(function, exact=exact, convert=convert)
        options = {"element_type": element_type, "exact": exact or None}
        return self._exported(stage, lambda control, handle: control.stage(handle, interface, options))

    def to_jvm_callable(
        self, function: Callable[..., Any], interface: str, *, element_type: str | None = None, convert: object = None
    ) -> Any:
        """Return a Java object whose single method calls a Python function.

        Each use is one call across the link, which has a deadline and takes about 100 microseconds. To map many
        elements use a stage. A value that cannot be converted fails only that call.

        Args:
            function: The function; its arguments and result are converted by the value table.
            interface: The name of the interface, such as ``"java.util.function.BiFunction"``.
            element_type: The Java class of the result.
            convert: The conversion of foreign types among the arguments. It does not apply to the elements of a
                Publisher among them; use ``from_jvm(argument, convert=...)`` for these.

        Raises:
            TypeError: The function is not callable, or is a coroutine function, which the call would not await. A
                function that returns ``pyrs.from_awaitable(...)`` gives Java a Publisher of the result.
            JavaError: The JVM does not have the interface or the class ``element_type``, or the interface has no single
                abstract method.
            LinkClosed: The bridge is closed.
        """
        checked_callable(function, "function")
        self._check_open()
        _check_options(element_type=element_type, interface=interface)
        options = {"element_type": element_type, "convert": convert}
        return self._exported(function, lambda control, handle: control.callable(handle, interface, options))

    def value_function(self, interface: str = "java.util.function.Function", *, convert: object = "values") -> Any:
        """Return a Java function that converts its first argument to plain values.

        It does not call Python. Use it for callbacks whose argument is valid only inside the callback, such as a row of
        R2DBC or a pooled buffer. The result consists of the objects that Java receives for values from Python: lists,
        maps, byte arrays, strings and numbers, which later cross as values.

        Args:
            interface: An interface with one method that takes the value and returns a result, such as
                ``"java.util.function.BiFunction"``.
            convert: See ``from_jvm``. An object that it converts to a reference is returned unchanged.

        Raises:
            JavaError: The interface has no such method.
            LinkClosed: The bridge is closed.

        Examples:
            >>> rows = result.map(bridge.value_function())  # of an io.r2dbc.spi.Result  # doctest: +SKIP
            >>> bridge.from_jvm(rows).collect()  # doctest: +SKIP
            [{'id': 1, 'name': 'a'}]
        """
        self._check_open()
        return self._gateway.shield(lambda: self._control.values(interface, {"convert": convert}))

    def _exported(self, target: object, make: Callable[[Control, int], object], site: Site | None = None) -> Any:
        def export() -> object:
            references = self._references  # read once, because another thread may replace the link
            handle = references.session.handles.own(target, site)
            try:
                return make(references.control, handle)
            except BaseException:
                references.disown([handle])
                raise

        return self._gateway.shield(export)

    # Inspection and shutdown.

    @property
    def closed(self) -> bool:
        """True if the bridge was closed, or its link has ended without ``reconnect``."""
        reopens = self._reconnects and not self._abandoned and self._pid == os.getpid()
        return not (self._session.open or reopens)

    def stats(self) -> dict[str, Any]:
        """Return the current counters of this side of the bridge.

        The keys are ``streams_live``, ``streams_total``, ``demand`` (requested and not yet delivered, of the streams
        from Java), ``in_flight`` and ``largest_in_flight`` (granted and not yet delivered), ``elements_in``,
        ``elements_out``, ``bytes_in``, ``bytes_out``, ``dropped``, ``handles`` (Python objects that the JVM refers to)
        and ``threads``. ``jvm_stats`` returns those of the JVM.
        """
        session = self._session
        inbound = [stream for stream in list(session.streams.values()) if isinstance(stream, InboundStream)]
        return {
            "streams_live": len(session.streams),
            "streams_total": session.streams_total,
            "demand": sum(stream.demand for stream in inbound),
            "in_flight": sum(stream.in_flight for stream in inbound),
            "largest_in_flight": max([session.largest_in_flight, *(stream.window.largest for stream in inbound)]),
            "elements_in": session.elements_in + sum(stream.window.delivered for stream in inbound),
            "elements_out": session.elements_out,
            "dropped": session.dropped,
            "handles": len(session.handles),
            "bytes_in": self._connection.bytes_in,
            "bytes_out": session.outbox.bytes_out,
            "threads": self._connection.executor.threads + 2,  # the reader and the writer
        }

    def streams(self) -> Streams:
        """Return the state of every live stream of this side of the bridge.

        Reads counters that the streams update anyway, so it adds no cost for each element.

        Examples:
            >>> for stream in bridge.streams():  # doctest: +SKIP
            ...     print(stream.name, stream.demand, stream.rate, stream.site)
        """
        session = self._session
        streams = snapshot(session, self._rates)
        return Streams(title(self.name, self._state(), len(streams), session.dropped), streams)

    def show(self) -> None:
        """Print the live streams as a table; in a notebook, display it.

        Each rate covers the time since the previous call of ``show`` or ``streams``.
        """
        display(self.streams())

    def serve_status(self) -> None:
        """Let ``python -m pyrs top`` of the same user show the live streams.

        It can show them until the bridge is closed. A server on the loopback interface answers read-only requests that
        have the token. Its port and token are in a file that only this user can read, in ``$XDG_RUNTIME_DIR`` or in the
        folder for temporary files. Further calls do nothing.

        Raises:
            PermissionError: The folder of the file belongs to another user, or others can read it.
            LinkClosed: The bridge is closed.
        """
        from pyrs.jvm.status import StatusServer

        self._check_open()
        with self._reconnecting:
            if self._status is None:
                self._status = StatusServer(self.name, lambda: as_json(self.name, self._state(), self._session))
            if self._abandoned:  # ``close`` ran before the assignment
                self._status.close()

    def _state(self) -> str:
        return "open" if self._session.open else "closed" if self.closed else "broken"

    def jvm_stats(self) -> dict[str, int]:
        """Return the counters of the JVM's side: one call through the gateway."""
        self._check_open()
        return self._control.stats()

    def close(self, deadline_seconds: float = 5.0) -> bool:
        """Close the link.

        Live Subscribers receive ``LinkClosed``, and Publishers are cancelled. The JVM keeps running. Further calls do
        nothing.

        Args:
            deadline_seconds: The time to wait until the streams and threads of the link have ended.

        Returns:
            True if everything ended within the deadline.

        Raises:
            ValueError: ``deadline_seconds`` is negative or not finite. The bridge stays open.
        """
        deadline_seconds = checked_timeout(deadline_seconds, "deadline_seconds")
        self._abandoned = True
        if self._status is not None:
            self._status.close()
        closed = self._connection.close(deadline_seconds)
        self._references.originals.clear()
        return closed

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._session.open:
            return f"<Bridge {self.name} {'closed' if self.closed else 'broken'}, {self._gateway.describe()}>"
        stats = self.stats()
        return (
            f"<Bridge {self.name} open, {self._gateway.describe()}: {stats['streams_live']} streams live, "
            f"demand {stats['demand']}, {stats['in_flight']} in flight, {stats['elements_in']} elements in, "
            f"{stats['elements_out']} out, {stats['dropped']} dropped>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{value:,}</td></tr>" for key, value in self.stats().items())
        caption = html.escape(f"{self.name}, {self._state()}, {self._gateway.describe()}")
        return f"<table><caption>{caption}</caption>{rows}</table>"


def _check_options(
    *,
    exact: object = False,
    hot: object = None,
    element_type: object = None,
    interface: object = None,
    java_type: object = None,
) -> None:
    if not isinstance(exact, bool):
        raise TypeError(f"exact must be True or False, not {exact!r}")
    if hot is not None and not isinstance(hot, bool):
        raise TypeError(f"hot must be True, False or None, not {hot!r}")
    for parameter, name in (("element_type", element_type), ("interface", interface), ("java_type", java_type)):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{parameter} must be the name of a Java class, such as 'java.lang.Integer', not {name!r}")


_OTHER_NAMES = {
    "from_java": "use from_jvm()",
    "to_java": "use to_jvm()",
    "jvm": "use java_class(name)",
    **dict.fromkeys(("j_class", "find_class", "class_for_name", "import_class"), "use java_class(name)"),
    **dict.fromkeys(("stop", "shutdown", "disconnect"), "use close(), or a with block"),
    **dict.fromkeys(("result", "get", "block"), "use from_jvm(...).first().block(), or result() of a CompletionStage"),
    **dict.fromkeys(("connect", "launch"), "this bridge is open already"),
}
_NO_CLASS = (
    "the JVM has no class of this name. Check the spelling, and that its jar is in spark.jars.packages or on the class "
    "path; bridge.java_class(name) says which class is missing"
)
_A_CLASS = "call a static method or a constructor of the class, and pass the result"
# The advice of an error, by the name of the given class.
_ADVICE = {
    "DataFrame": "pyrs.spark.from_dataframe streams its rows",
    **dict.fromkeys(("JavaPackage", "_JPackage"), _NO_CLASS),
    **dict.fromkeys(("JavaClass", "_JClass"), _A_CLASS),
    "str": "bridge.java_class(name) finds a class by its name",
}
