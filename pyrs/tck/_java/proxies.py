"""Python proxies for the objects of the official TCK, which only forward calls."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import JavaError
from pyrs.tck._java.connection import ConnectionLost, Exchange
from pyrs.tck.environment import LONG_MAX


class JavaProxy:
    """The proxy of an object of the official TCK, by its number in Java's table."""

    def __init__(self, scope: Exchange, number: int) -> None:
        self.scope = scope
        self.number = number

    def __str__(self) -> str:
        return str(self.call("text"))

    def call(self, method: str, *arguments: object) -> object:
        """Call a method of the Java object."""
        return self.scope.call(method, self.number, *arguments)


class JavaSubscriberProxy(JavaProxy, Subscriber[Any]):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.scope.watch(subscription)
        self.call("on_subscribe", self.scope.outgoing(subscription))

    def on_next(self, element: Any, /) -> None:
        self.call("on_next", self.scope.outgoing(element))

    def on_error(self, error: BaseException, /) -> None:
        self.call("on_error", self.scope.outgoing(error))

    def on_complete(self) -> None:
        self.call("on_complete")


class JavaSubscription(JavaProxy, Subscription):
    def request(self, n: int, /) -> None:
        self.call("request", as_long(n))

    def cancel(self) -> None:
        with suppress(ConnectionLost):  # §3.15: after the last test nothing receives a cancel
            self.call("cancel")


class JavaPublisherProxy(JavaProxy, Publisher[Any]):
    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.call("subscribe", self.scope.outgoing(subscriber))


class JavaProbe(JavaProxy):
    """The proxy of Java's probe, with the methods of ``pyrs.tck.WhiteboxProbe``."""

    def register_on_subscribe(self, puppet: object) -> None:
        self.call("register_on_subscribe", self.scope.outgoing(puppet))

    def register_on_next(self, element: object) -> None:
        self.call("register_on_next", self.scope.outgoing(element))

    def register_on_error(self, error: BaseException) -> None:
        self.call("register_on_error", self.scope.outgoing(error))

    def register_on_complete(self) -> None:
        self.call("register_on_complete")


class JavaThrowable(JavaError):
    """The proxy of a Throwable. If it is sent back, Java receives its own object."""

    def __init__(self, scope: Exchange, number: int, text: str) -> None:
        name, _, message = text.partition(": ")
        super().__init__(name, message or None)
        self.scope = scope
        self.number = number


_CLASSES = {"S": JavaSubscriberProxy, "s": JavaSubscription, "P": JavaPublisherProxy, "w": JavaProbe}


def proxy_of(scope: Exchange, number: int, kind: str, text: str) -> JavaProxy | JavaThrowable:
    """Create the proxy of a Java object."""
    if kind == "t":
        return JavaThrowable(scope, number, text)
    return _CLASSES.get(kind, JavaProxy)(scope, number)


def as_long(n: object) -> int:
    """Return a number as a Java long; a larger number means unbounded demand."""
    if not isinstance(n, int):
        raise TypeError(f"request takes an int, not {type(n).__name__}")
    return max(-LONG_MAX - 1, min(int(n), LONG_MAX))
