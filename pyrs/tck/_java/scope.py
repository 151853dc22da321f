"""Connect one test of the official TCK to Java, and map references to objects."""

from __future__ import annotations

import gc
import hmac
import secrets
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from pyrs.tck._java.connection import ConnectionLost, Reference, TckConnection
from pyrs.tck._java.hooks import Hooks
from pyrs.tck._java.proxies import JavaProxy, JavaThrowable, proxy_of
from pyrs.tck.environment import Skipped, named, same
from pyrs.tck.verification import ILLEGAL_ARGUMENT, NULL_ERRORS
from pyrs.tck.waiting import started

_TIMEOUT = 5.0
_COLLECT_INTERVAL = 0.02  # seconds between garbage collections in a test of §3.13
_RAISED = 20  # the number of latest exceptions that are kept, with their frames, until the verdict
_LATE_SIGNALS = 1_000  # the number of calls after the test that are ignored; the next one raises


class Scope:
    """The connections to Java and the tables of objects of one test.

    Each test has its own scope, so that its late signals do not reach another test.

    Args:
        collecting: whether the test checks that references are released (§3.13). If so, Java is notified of the
            references that Python has released.
    """

    def __init__(self, hooks: Hooks, *, collecting: bool) -> None:
        self._hooks = hooks
        self._collecting = collecting
        self._token = secrets.token_bytes(32)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._java_port = 0
        self._local = threading.local()
        self._connections: WeakSet[TckConnection] = WeakSet()
        self._lock = threading.Lock()
        self._objects: dict[int, object] = {}
        self._numbers: dict[int, int] = {}
        self._latest = 0
        self._proxies: WeakValueDictionary[int, JavaProxy | JavaThrowable] = WeakValueDictionary()
        self._received: Counter[int] = Counter()
        self._streams: list[Any] = []
        self._raised: deque[BaseException] = deque(maxlen=_RAISED)
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._late = 0

    # Connections.

    def open(self, open_java: Callable[[bytes, int], int]) -> None:
        """Exchange the ports with Java and accept its connections.

        ``open_java`` opens the scope in Java for a token and the port of Python, and returns the port of Java.
        """
        started("listener", self._listen)
        self._java_port = open_java(self._token, self._listener.getsockname()[1])
        if self._collecting:
            started("collector", self._collect)

    def _listen(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return  # closed
            started("served", self._serve, accepted)

    def _serve(self, accepted: socket.socket) -> None:
        accepted.settimeout(_TIMEOUT)
        with suppress(OSError):
            connection = TckConnection(self, accepted)
            if hmac.compare_digest(connection.receive_token(len(self._token)), self._token):
                accepted.settimeout(None)
                self._keep(connection)
                connection.serve()
        accepted.close()

    def _connection(self) -> TckConnection:
        connection: TckConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            try:
                connected = socket.create_connection(("127.0.0.1", self._java_port), _TIMEOUT)
                connected.settimeout(None)
                connection = TckConnection(self, connected)
                connection.send_token(self._token)
            except OSError as error:
                raise ConnectionLost(f"the JVM does not respond: {error}") from error
            self._keep(connection)
        return connection

    def _keep(self, connection: TckConnection) -> None:
        self._local.connection = connection
        with self._lock:
            self._connections.add(connection)
        if self._ended.is_set():
            connection.close()

    def call(self, method: str, target: int, *arguments: Any) -> Any:
        """Call a method of a Java object, or of the TCK if ``target`` is 0.

        After the test, calls do nothing, up to a limit.

        Raises:
            ConnectionLost: Java does not respond, and the test has not ended or ``target`` is 0.
            RuntimeError: too many calls after the test.
        """
        if not self._ended.is_set():
            try:
                return self._connection().call(method, target, *arguments)
            except ConnectionLost:
                if not self._ended.is_set() or target == 0:
                    raise
        self._late += 1
        if self._late > _LATE_SIGNALS:
            raise RuntimeError(f"more than {_LATE_SIGNALS} signals after the end of the test: stop them on cancel()")
        return None

    def close(self) -> None:
        """End the test: cancel its streams and close its connections."""
        if not self._ended.is_set():
            # A separate thread has its own connection; the one of this thread may be waiting for a result.
            started("closing", self._close_java).join(_TIMEOUT)
        self._ended.set()
        self._cancelled.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.close()
        started("cancelling", self._cancel_streams).join(0.2)
        with self._lock:
            self._objects.clear()
            self._numbers.clear()

    def _close_java(self) -> None:
        with suppress(ConnectionLost):
            self.call("close", 0)

    def _cancel_streams(self) -> None:
        for subscription in self._streams:
            with suppress(Exception):
                subscription.cancel()
        self._streams.clear()

    def watch(self, subscription: object) -> None:
        """Cancel this Subscription after the test, except for a test of §3.13."""
        if not self._collecting and subscription is not None:
            self._streams.append(subscription)

    def raised(self, error: BaseException) -> Reference | None:
        """Return the reference to send for an exception that Java must throw."""
        if not self._collecting:
            self._raised.append(error)
        return self.outgoing(error)

    # Incoming calls.

    def execute(self, method: str, target: int, arguments: list[Any]) -> Any:
        """Execute a call from Java."""
        if target == 0:
            return self._hooks.call(self, method, arguments)
        with self._lock:
            subject: Any = self._objects.get(target)
        if subject is None:
            if self._ended.is_set():
                return None
            raise LookupError(f"object {target} has been released")
        if method == "text":
            return named(subject)
        if method == "equals":
            return int(same(subject, arguments[0]))
        self._hooks.call_method(subject, method, arguments)
        if method == "cancel" and self._collecting:
            # A Subscriber and its Subscription may reference each other and still be collected together. No collector
            # sees a cycle across two heaps, so a cancelled Subscription is released here.
            with self._lock:
                self._objects.pop(target, None)
                self._numbers.pop(id(subject), None)
            self._cancelled.set()
        return None

    # Objects.

    def outgoing(self, value: object) -> Reference | None:
        """Return the reference to send for an object, or None for None."""
        if value is None:
            return None
        if isinstance(value, (JavaProxy, JavaThrowable)) and value.scope is self:
            return Reference("j", value.number)
        with self._lock:
            number = self._numbers.get(id(value))
            if number is None:
                self._latest += 1
                number = self._numbers[id(value)] = self._latest
                self._objects[number] = value  # a reference, so that the id is not reused
        if isinstance(value, BaseException):
            kind, text = _kind(value), named(value)
            return Reference("x", number, kind, text if kind == "A" else f"{type(value).__name__}: {text}")
        return Reference("p", number)

    def incoming(self, value: Any) -> Any:
        """Return the object for a received reference."""
        if not isinstance(value, Reference):
            return value
        with self._lock:
            if value.side == "p":
                return self._objects.get(value.number)
            self._received[value.number] += 1
            proxy = self._proxies.get(value.number)
            if proxy is None:
                proxy = self._proxies[value.number] = proxy_of(self, value.number, value.kind, value.text)
            return proxy

    def _collect(self) -> None:
        """Notify Java of the references that Python releases after the first cancel."""
        self._cancelled.wait()
        pause = 0.0
        while not self._ended.wait(pause):
            began = time.monotonic()
            gc.collect()
            # The pause leaves the code under test at least three quarters of the time.
            pause = max(_COLLECT_INTERVAL, 3 * (time.monotonic() - began))
            with self._lock:
                gone = [(number, times) for number, times in self._received.items() if number not in self._proxies]
                for number, _ in gone:
                    del self._received[number]
            try:
                for number, times in gone:
                    self.call("release", 0, number, times)
                if gone:
                    self.call("collect", 0)
            except ConnectionLost:
                return


def _kind(error: BaseException) -> str:
    """Return the letter of the Throwable class that represents an exception in Java.

    N: NullPointerException, I: IllegalArgumentException, S: a skip, A: AssertionError, O: another class. The port of
    the TCK to Python classifies exceptions in the same way.
    """
    if isinstance(error, NULL_ERRORS):
        return "N"
    if isinstance(error, ILLEGAL_ARGUMENT):
        return "I"
    if isinstance(error, Skipped):
        return "S"
    return "A" if isinstance(error, AssertionError) else "O"
