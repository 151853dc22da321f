"""One test before the Java kit: its connections, and the objects on both sides that it knows."""

from __future__ import annotations

import gc
import hmac
import secrets
import socket
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from pyrs.tck._java.hooks import Hooks
from pyrs.tck._java.line import Line, LineLost, Reference
from pyrs.tck._java.proxies import JavaObject, JavaThrowable, proxy_of
from pyrs.tck.environment import Skipped, named, same
from pyrs.tck.verification import NOT_AN_ARGUMENT, NULL_ERRORS

__all__ = ["Scope"]

_TIMEOUT = 5.0
_COLLECTED = 0.02  # how often what a Publisher let go of is looked for (3.13)
_RAISED = 20  # exceptions that are kept, with their frames, until the verdict is known
_LATE_SIGNALS = 1_000  # what may come when a test is over, before it is an error


class Scope:
    """Opened for each test and closed after it: what comes late reaches no other test.

    Args:
        hooks: what the user's verification says.
        collecting: whether the test is about what is let go of (3.13). Only then is Java told what Python has dropped.
    """

    def __init__(self, hooks: Hooks, *, collecting: bool) -> None:
        self._hooks = hooks
        self._collecting = collecting
        self._token = secrets.token_bytes(32)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._java_port = 0
        self._local = threading.local()
        self._lines: WeakSet[Line] = WeakSet()
        self._lock = threading.Lock()
        self._objects: dict[int, object] = {}
        self._numbers: dict[int, int] = {}
        self._latest = 0
        self._proxies: WeakValueDictionary[int, JavaObject | JavaThrowable] = WeakValueDictionary()
        self._received: Counter[int] = Counter()
        self._streams: list[Any] = []
        self._raised: deque[BaseException] = deque(maxlen=_RAISED)
        self._cancelled = threading.Event()
        self._over = threading.Event()
        self._late = 0

    # Connections.

    def open(self, referee: Any) -> None:
        """Let Java dial, and learn where to dial it."""
        _start("pyrs-tck-listener", self._listen)
        self._java_port = referee(self._token, self._listener.getsockname()[1])
        if self._collecting:
            _start("pyrs-tck-collector", self._collect)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            _start("pyrs-tck-served", self._welcome, connection)

    def _welcome(self, connection: socket.socket) -> None:
        connection.settimeout(_TIMEOUT)
        with suppress(OSError):
            line = Line(self, connection)
            if hmac.compare_digest(line.shown(len(self._token)), self._token):
                connection.settimeout(None)
                self._keep(line)
                line.serve()
        connection.close()

    def _line(self) -> Line:
        line: Line | None = getattr(self._local, "line", None)
        if line is None:
            try:
                connection = socket.create_connection(("127.0.0.1", self._java_port), _TIMEOUT)
                connection.settimeout(None)
                line = Line(self, connection)
                line.introduce(self._token)
            except OSError as error:
                raise LineLost(f"the JVM does not answer: {error}") from error
            self._keep(line)
        return line

    def _keep(self, line: Line) -> None:
        self._local.line = line
        with self._lock:
            self._lines.add(line)
        if self._over.is_set():
            line.close()

    def call(self, method: str, target: int, *arguments: Any) -> Any:
        """Call an object of Java's; 0 is the kit itself. When the test is over nothing happens."""
        if not self._over.is_set():
            try:
                return self._line().call(method, target, *arguments)
            except LineLost:
                if not self._over.is_set() or target == 0:
                    raise
        self._late += 1
        if self._late > _LATE_SIGNALS:
            raise RuntimeError("the test is over; this goes on without end")
        return None

    def close(self) -> None:
        """End the test: its streams are cancelled, and nothing is heard of them any more."""
        if not self._over.is_set():
            # On a thread of its own: a line that waits for an answer is not another's to use.
            closing = _start("pyrs-tck-closing", self._close_java)
            closing.join(_TIMEOUT)
        self._over.set()
        self._cancelled.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            line.close()
        cancelling = _start("pyrs-tck-cancelling", self._cancel_streams)
        cancelling.join(0.2)
        with self._lock:
            self._objects.clear()
            self._numbers.clear()

    def _close_java(self) -> None:
        with suppress(LineLost):
            self.call("close", 0)

    def _cancel_streams(self) -> None:
        for subscription in self._streams:
            with suppress(Exception):
                subscription.cancel()
        self._streams.clear()

    def watch(self, subscription: object) -> None:
        """Cancel this when the test is over, unless it is about what is let go of."""
        if not self._collecting and subscription is not None:
            self._streams.append(subscription)

    def raised(self, error: BaseException) -> Reference | None:
        """Return what Java is sent for an exception that it is to throw."""
        if not self._collecting:
            self._raised.append(error)
        return self.outgoing(error)

    # Calls that come.

    def execute(self, method: str, target: int, arguments: list[Any]) -> Any:
        """Carry out a call of Java's."""
        if target == 0:
            return self._hooks.call(self, method, arguments)
        with self._lock:
            subject: Any = self._objects.get(target)
        if subject is None:
            if self._over.is_set():
                return None
            raise LookupError(f"there is no object {target} any more")
        if method == "text":
            return named(subject)
        if method == "equals":
            return int(same(subject, arguments[0]))
        self._hooks.move(subject, method, arguments)
        if method == "cancel" and self._collecting:
            # In Java a Subscriber and its Subscription may hold one another and be collected together. Across two heaps
            # no collector sees that, so what was cancelled is not held here.
            self._forget(target, subject)
            self._cancelled.set()
        return None

    # Objects.

    def outgoing(self, value: object) -> Reference | None:
        """Return what Java is sent for an object: all but None travel as references."""
        if value is None:
            return None
        if isinstance(value, (JavaObject, JavaThrowable)) and value.scope is self:
            return Reference("j", value.number)
        number = self._number(value)
        if isinstance(value, BaseException):
            kind, text = _kind(value), named(value)
            return Reference("x", number, kind, text if kind == "A" else f"{type(value).__name__}: {text}")
        return Reference("p", number)

    def incoming(self, value: Any) -> Any:
        """Return the object that was sent."""
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

    def _number(self, value: object) -> int:
        with self._lock:
            number = self._numbers.get(id(value))
            if number is None:
                self._latest += 1
                number = self._numbers[id(value)] = self._latest
                self._objects[number] = value  # held, so that its id stays its own
            return number

    def _forget(self, number: int, value: object) -> None:
        with self._lock:
            self._objects.pop(number, None)
            self._numbers.pop(id(value), None)

    def _collect(self) -> None:
        """Tell Java what Python does not hold any more, from the first cancel on."""
        self._cancelled.wait()
        pause = 0.0
        while not self._over.wait(pause):
            began = time.monotonic()
            gc.collect()
            pause = max(_COLLECTED, 3 * (time.monotonic() - began))  # what is judged needs the interpreter, too
            with self._lock:
                gone = [(number, times) for number, times in self._received.items() if number not in self._proxies]
                for number, _ in gone:
                    del self._received[number]
            try:
                for number, times in gone:
                    self.call("release", 0, number, times)
                if gone:
                    self.call("collect", 0)
            except LineLost:
                return


def _start(name: str, target: Any, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
    thread.start()
    return thread


def _kind(error: BaseException) -> str:
    """Return which Throwable stands for an exception; the Python referee takes the same exceptions for the same."""
    if isinstance(error, NULL_ERRORS):
        return "N"
    if isinstance(error, NOT_AN_ARGUMENT):
        return "I"
    if isinstance(error, Skipped):
        return "S"
    return "A" if isinstance(error, AssertionError) else "O"
