"""Notification: a signal as an element."""

from __future__ import annotations

from typing import Any, Generic, Literal, NoReturn

from pyrs._core.validation import checked_given
from pyrs.api import Subscriber, T, T_co
from pyrs.errors import NullSignal


class Notification(Generic[T_co]):
    """An ``on_next``, ``on_error`` or ``on_complete`` signal as an immutable element.

    ``next``, ``failed``, ``completed`` and ``Stream.materialize`` create one. Two are equal if they have the same kind
    and equal elements, or the same error object.

    Attributes:
        kind: ``"next"``, ``"error"`` or ``"complete"``.
        element: the element of kind ``"next"``, else None.
        error: the error of kind ``"error"``, else None.

    Raises:
        ValueError: ``kind`` is not one of these.
        NullSignal: ``element`` or ``error`` is missing, or was given for another kind.
        TypeError: ``error`` is not an exception.

    Examples:
        >>> match Notification.next(3):
        ...     case Notification(kind="next", element=n):
        ...         print(n)
        3
    """

    kind: Literal["next", "error", "complete"]
    element: T_co | None
    error: BaseException | None

    def __init__(
        self,
        kind: Literal["next", "error", "complete"],
        element: T_co | None = None,
        error: BaseException | None = None,
    ) -> None:
        if kind not in ("next", "error", "complete"):
            raise ValueError(f"kind must be 'next', 'error' or 'complete', not {kind!r}")
        if (element is not None) != (kind == "next") or (error is not None) != (kind == "error"):
            arguments = {"next": "an element and no error", "error": "an error and no element"}
            raise NullSignal(f"a Notification of kind {kind!r} takes {arguments.get(kind, 'no element and no error')}")
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"error must be an exception, not {type(error).__name__}")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "element", element)
        object.__setattr__(self, "error", error)

    @staticmethod
    def next(element: T) -> Notification[T]:
        """Return the notification of an element.

        Raises:
            NullSignal: ``element`` is None.
        """
        return Notification("next", checked_given(element, "element"))

    @staticmethod
    def failed(error: BaseException) -> Notification[NoReturn]:
        """Return the notification of an error.

        Raises:
            NullSignal: ``error`` is None.
            TypeError: ``error`` is not an exception.
        """
        return Notification("error", error=error)

    @staticmethod
    def completed() -> Notification[NoReturn]:
        """Return the notification of completion."""
        return Notification("complete")

    def accept(self, subscriber: Subscriber[Any]) -> None:
        """Emit the signal to a Subscriber.

        The caller must obey demand and the order of signals.
        """
        if self.kind == "next":
            subscriber.on_next(self.element)
        elif self.error is not None:
            subscriber.on_error(self.error)
        else:
            subscriber.on_complete()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Notification is immutable: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Notification is immutable: {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Notification):
            return NotImplemented
        return self.kind == other.kind and self.error is other.error and bool(self.element == other.element)

    def __hash__(self) -> int:
        return hash((self.kind, self.element, self.error))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Notification, (self.kind, self.element, self.error))

    def __repr__(self) -> str:
        if self.kind == "next":
            return f"Notification.next({self.element!r})"
        return "Notification.completed()" if self.error is None else f"Notification.failed({self.error!r})"
