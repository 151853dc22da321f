"""The interface between a ``Scope`` and the connections, proxies and hooks that use it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

__all__ = ["Exchange", "Reference"]


class Reference(NamedTuple):
    """An object in transit: one of Python's ("p", or "x" for an exception) or one of Java's ("j").

    Attributes:
        side: the side that owns the object.
        number: the object's number in the owner's table.
        kind: the kind of object that the receiver creates for it.
        text: the message of an exception.
    """

    side: str
    number: int
    kind: str = ""
    text: str = ""


class Exchange(Protocol):
    """Exchanges calls and objects with the JVM."""

    def call(self, method: str, target: int, *arguments: Any) -> Any:
        """Call a method of a Java object."""

    def execute(self, method: str, target: int, arguments: list[Any]) -> Any:
        """Execute a call from Java."""

    def outgoing(self, value: object) -> Reference | None:
        """Return the reference to send for an object."""

    def incoming(self, value: Any) -> Any:
        """Return the object for a received reference."""

    def raised(self, error: BaseException) -> Reference | None:
        """Return the reference to send for an exception that Java must throw."""

    def watch(self, subscription: object) -> None:
        """Cancel this Subscription when the test is over."""
