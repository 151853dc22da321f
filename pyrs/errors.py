"""The exceptions of pyrs.

All derive from ``PyrsError``:

    PyrsError
    ├── SpecViolation                 a rule of the specification was violated; see .rule and .party
    │   ├── NonPositiveRequest        also ValueError    request(n) with n <= 0                        (3.9)
    │   ├── NullSignal                also TypeError     None for an element, error, Subscription, ... (1.9, 2.13)
    │   ├── DemandExceeded                               more elements than requested                  (1.1)
    │   ├── SubscribedTwice                              on_subscribe called more than once            (2.5, 2.12)
    │   ├── ConcurrentSignals                            two signals concurrently                      (1.3)
    │   └── SignalAfterTerminal                          a signal after on_error or on_complete        (1.7)
    ├── SchedulerClosed               also RuntimeError  a task was submitted to a closed scheduler
    ├── NoElement                     also LookupError   the stream completed before the required element
    ├── TooManyElements               also ValueError    the stream emitted a second element
    ├── BufferOverflow                                   an element exceeded demand and the buffer capacity
    ├── EmitFailed                                       a sink rejected a signal; .result is the reason
    ├── Disconnected                                     a shared stream's connection to its source was cancelled
    ├── PublisherClosed               also RuntimeError  an element was submitted to a closed publisher
    ├── StreamTimeout                 also TimeoutError  a signal did not arrive in time
    └── JvmError                      the errors of the bridge
        ├── JvmUnavailable                               a gateway, a JVM or a jar is missing or cannot be used
        ├── VersionMismatch                              the jar in the JVM is not this package's
        ├── LinkClosed                                   this side closed the link, or the link had ended before
        ├── LinkBroken                                   the link could not be opened, or ended unexpectedly
        ├── ProtocolError                                a frame violated the link protocol
        ├── CallTimeout               also TimeoutError  the other side did not answer in time
        ├── ConversionError           also TypeError     a value cannot be represented on the other side
        └── JavaError                                    a Throwable: .java_class, .java_message, .java_stack
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BufferOverflow",
    "CallTimeout",
    "ConcurrentSignals",
    "ConversionError",
    "DemandExceeded",
    "Disconnected",
    "EmitFailed",
    "JavaError",
    "JvmError",
    "JvmUnavailable",
    "LinkBroken",
    "LinkClosed",
    "NoElement",
    "NonPositiveRequest",
    "NullSignal",
    "ProtocolError",
    "PublisherClosed",
    "PyrsError",
    "SchedulerClosed",
    "SignalAfterTerminal",
    "SpecViolation",
    "StreamTimeout",
    "SubscribedTwice",
    "TooManyElements",
    "VersionMismatch",
]


class PyrsError(Exception):
    """The base class of every error that pyrs raises or emits."""


class SchedulerClosed(PyrsError, RuntimeError):
    """A task was submitted to a closed scheduler, or to a closed asyncio loop."""


class NoElement(PyrsError, LookupError):
    """The stream completed before the required element: it was empty or too short."""


class TooManyElements(PyrsError, ValueError):
    """The stream emitted a second element, but the operator allows only one."""


class BufferOverflow(PyrsError):
    """An element exceeded demand, and the buffer was full or absent."""


class StreamTimeout(PyrsError, TimeoutError):
    """An element or a terminal signal did not arrive in time."""


class EmitFailed(PyrsError):
    """A sink rejected a signal.

    Attributes:
        result: the value of the ``pyrs.sinks.EmitResult``, such as ``"overflow"``.
    """

    def __init__(self, result: str, what: str = "element") -> None:
        self.result = result
        self.what = what
        super().__init__(result, what)

    def __str__(self) -> str:
        return f"the sink rejected the {self.what}: {self.result}"


class Disconnected(PyrsError):
    """The connection of a shared stream to its source was cancelled."""


class PublisherClosed(PyrsError, RuntimeError):
    """An element was submitted to a closed publisher."""


class SpecViolation(PyrsError):
    """A rule of the Reactive Streams specification was violated.

    Attributes:
        rule: the rule's number, such as ``"1.1"``; a key of ``pyrs.rules.RULES``. Empty for a Single without an
            element.
        party: the party that violated it: ``"Publisher"``, ``"Subscriber"``, ``"Subscription"`` or ``"Processor"``.
    """

    rule = ""
    party = ""

    def __init_subclass__(cls, rule: str = "", party: str = "Publisher", **options: Any) -> None:
        super().__init_subclass__(**options)
        if rule:
            cls.rule, cls.party = rule, party

    def __init__(self, message: str, *, rule: str | None = None, party: str | None = None) -> None:
        self.message = message
        self.rule = self.rule if rule is None else rule
        self.party = self.party if party is None else party
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} (rule {self.rule})" if self.rule else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # ``args`` lacks the keyword arguments, so the inherited method would lose them in a copied or pickled error.
        return (type(self), (self.message,), self.__dict__)


class NonPositiveRequest(SpecViolation, ValueError, rule="3.9", party="Subscriber"):
    """``request(n)`` was called with ``n <= 0``. Rules: 3.9."""


class NullSignal(SpecViolation, TypeError, rule="2.13"):
    """None was passed as an element, an error, a Subscription or a Subscriber.

    Rules: 1.9, 2.13.
    """


class DemandExceeded(SpecViolation, rule="1.1"):
    """A Publisher emitted more elements than were requested. Rules: 1.1."""


class SubscribedTwice(SpecViolation, rule="2.12"):
    """A Subscriber subscribed twice or received two Subscriptions. Rules: 2.5, 2.12."""


class ConcurrentSignals(SpecViolation, rule="1.3"):
    """A Subscriber received two signals concurrently. Rules: 1.3."""


class SignalAfterTerminal(SpecViolation, rule="1.7"):
    """A signal followed ``on_error`` or ``on_complete``. Rules: 1.7."""


class JvmError(PyrsError):
    """The base class of every error of the bridge."""


class JvmUnavailable(JvmError):
    """A gateway, a JVM or a jar is missing or cannot be used."""


class VersionMismatch(JvmError):
    """The jar that the JVM has loaded is not the one of this package."""


class LinkClosed(JvmError):
    """This side closed the link, or the link had ended before the call."""


class LinkBroken(JvmError):
    """The link could not be opened, or ended unexpectedly."""


class ProtocolError(JvmError):
    """A frame violated the link protocol."""


class CallTimeout(JvmError, TimeoutError):
    """The other side did not answer a call in time."""


class ConversionError(JvmError, TypeError):
    """A value cannot be represented on the other side."""


class JavaError(JvmError):
    """A Java Throwable that crossed the link.

    ``__cause__`` is its Java cause, if any.

    Attributes:
        java_class: the class name of the Throwable.
        java_message: its message, or None.
        java_stack: its stack trace: (class, method, file or None, line) for each frame, innermost first.
        java_original: the bridge's reference for returning the original Throwable to Java, or None.
    """

    def __init__(
        self,
        java_class: str,
        java_message: str | None = None,
        java_stack: tuple[tuple[str, str, str | None, int], ...] = (),
    ) -> None:
        self.java_class = java_class
        self.java_message = java_message
        self.java_stack = java_stack
        self.java_original: Any = None
        super().__init__(java_class, java_message, java_stack)

    def __str__(self) -> str:
        return self.java_class if self.java_message is None else f"{self.java_class}: {self.java_message}"
