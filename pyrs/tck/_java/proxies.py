"""The Java kit's objects as Python's: nothing but calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import JavaError
from pyrs.tck.environment import LONG_MAX

if TYPE_CHECKING:
    from pyrs.tck._java.scope import Scope

__all__ = ["JavaObject", "JavaThrowable", "as_long", "proxy_of"]


class JavaObject:
    """An object of the Java kit's.

    Args:
        scope: the test that it belongs to.
        number: which it is, in the table that Java keeps.
    """

    def __init__(self, scope: Scope, number: int) -> None:
        self.scope = scope
        self.number = number

    def __str__(self) -> str:
        return str(self.call("text"))

    def call(self, method: str, *arguments: object) -> object:
        """Call a method of the object."""
        return self.scope.call(method, self.number, *arguments)


class JavaSubscriber(JavaObject, Subscriber[Any]):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.scope.watch(subscription)
        self.call("on_subscribe", self.scope.outgoing(subscription))

    def on_next(self, element: Any, /) -> None:
        self.call("on_next", self.scope.outgoing(element))

    def on_error(self, error: BaseException, /) -> None:
        self.call("on_error", self.scope.outgoing(error))

    def on_complete(self) -> None:
        self.call("on_complete")


class JavaSubscription(JavaObject, Subscription):
    def request(self, n: int, /) -> None:
        self.call("request", as_long(n))

    def cancel(self) -> None:
        self.call("cancel")


class JavaPublisher(JavaObject, Publisher[Any]):
    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.call("subscribe", self.scope.outgoing(subscriber))


class JavaProbe(JavaObject):
    """Java's WhiteboxSubscriberProbe; it has the methods of ``pyrs.tck.WhiteboxProbe``."""

    def register_on_subscribe(self, puppet: object) -> None:
        self.call("register_on_subscribe", self.scope.outgoing(puppet))

    def register_on_next(self, element: object) -> None:
        self.call("register_on_next", self.scope.outgoing(element))

    def register_on_error(self, error: BaseException) -> None:
        self.call("register_on_error", self.scope.outgoing(error))

    def register_on_complete(self) -> None:
        self.call("register_on_complete")


class JavaThrowable(JavaError):
    """A Throwable of the Java kit's; given back, it is the same object there."""

    def __init__(self, scope: Scope, number: int, text: str) -> None:
        name, _, message = text.partition(": ")
        super().__init__(name, message or None)
        self.scope = scope
        self.number = number


_CLASSES = {"S": JavaSubscriber, "s": JavaSubscription, "P": JavaPublisher, "w": JavaProbe}


def proxy_of(scope: Scope, number: int, kind: str, text: str) -> JavaObject | JavaThrowable:
    """Make what stands for an object of Java's."""
    if kind == "t":
        return JavaThrowable(scope, number, text)
    return _CLASSES.get(kind, JavaObject)(scope, number)


def as_long(n: object) -> int:
    """Return a number as a Java long; what is beyond one is unbounded all the same."""
    if not isinstance(n, int):
        raise TypeError(f"request takes an int, not {type(n).__name__}")
    return max(-LONG_MAX - 1, min(int(n), LONG_MAX))
