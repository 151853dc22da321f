"""The errors of pyrs, one tree.

All derive from ``PyrsError``:

    PyrsError
    ├── SpecViolation                 a rule of the specification was broken: .rule and .party say which and by whom
    │   ├── NonPositiveRequest        also ValueError    request(n) with n <= 0                        (3.9)
    │   ├── NullSignal                also TypeError     None for an element, error or Subscriber      (1.9, 2.13)
    │   ├── DemandExceeded                               more elements than were requested             (1.1)
    │   ├── SubscribedTwice                              on_subscribe on a Subscriber that has had one (2.5, 2.12)
    │   ├── ConcurrentSignals                            two signals at the same time                  (1.3)
    │   └── SignalAfterTerminal                          a signal after on_error or on_complete        (1.7)
    ├── SchedulerClosed               also RuntimeError  a scheduler was given a task after its end
    ├── NoElement                     also LookupError   the stream ended before the element that was asked for
    ├── BufferOverflow                                   an element came for which there was no room
    ├── EmitFailed                                       a sink did not take what was pushed: .result says why
    ├── Disconnected                                     a shared stream's connection to its source was cancelled
    ├── PublisherClosed           also RuntimeError  an element was submitted to a publisher that is closed
    ├── StreamTimeout                 also TimeoutError  an element, or the end, did not come in time
    └── JvmError                      everything that concerns the bridge
        ├── JvmUnavailable                               no gateway is installed, or no JVM can be reached
        ├── VersionMismatch                              the jar in the JVM is not this package's
        ├── LinkClosed                                   we closed the link
        ├── LinkBroken                                   the other side went
        ├── ProtocolError                                a frame that the link protocol does not allow
        ├── CallTimeout               also TimeoutError  the other side did not answer in time
        ├── ConversionError           also TypeError     a value that has no form on the other side
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
    "VersionMismatch",
]


class PyrsError(Exception):
    """The root of every error that pyrs raises or signals by itself."""


class SchedulerClosed(PyrsError, RuntimeError):
    """A scheduler was given a task after it, or the asyncio loop that it stands for, was closed."""


class NoElement(PyrsError, LookupError):
    """A stream ended before the element that was asked for: it was empty, or too short."""


class BufferOverflow(PyrsError):
    """An element came that was not demanded, and there was no room to hold it, or no more."""


class StreamTimeout(PyrsError, TimeoutError):
    """An element, or the end, did not come in time."""


class EmitFailed(PyrsError):
    """A sink did not take what was pushed into it.

    Attributes:
        result: the value of the ``pyrs.sinks.EmitResult``, such as ``"overflow"``.
    """

    def __init__(self, result: str, what: str = "element") -> None:
        self.result = result
        self.what = what
        super().__init__(result, what)

    def __str__(self) -> str:
        return f"the sink did not take the {self.what}: {self.result}"


class Disconnected(PyrsError):
    """The connection of a shared stream to its source was cancelled, and with it the stream of this Subscriber."""


class PublisherClosed(PyrsError, RuntimeError):
    """An element was submitted to a publisher that is closed."""


class SpecViolation(PyrsError):
    """A rule of the Reactive Streams specification was broken.

    Attributes:
        rule: the rule's number, such as ``"1.1"``; a key of ``pyrs.rules.RULES``.
        party: who broke it: ``"Publisher"``, ``"Subscriber"``, ``"Subscription"`` or ``"Processor"``.
    """

    default_rule = ""
    default_party = ""

    def __init__(self, message: str, *, rule: str | None = None, party: str | None = None) -> None:
        self.message = message
        self.rule = self.default_rule if rule is None else rule
        self.party = self.default_party if party is None else party
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} (rule {self.rule})" if self.rule else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword arguments are not part of args, so the default would lose them when the error is copied or pickled.
        return (type(self), (self.message,), {"rule": self.rule, "party": self.party})


class NonPositiveRequest(SpecViolation, ValueError):
    """``request(n)`` was called with n <= 0. Rules: 3.9."""

    default_rule = "3.9"
    default_party = "Subscriber"


class NullSignal(SpecViolation, TypeError):
    """None stood where an element, an error or a Subscriber is due. Rules: 1.9, 2.13."""

    default_rule = "2.13"
    default_party = "Publisher"


class DemandExceeded(SpecViolation):
    """A Publisher signalled more elements than were requested. Rules: 1.1."""

    default_rule = "1.1"
    default_party = "Publisher"


class SubscribedTwice(SpecViolation):
    """``on_subscribe`` reached a Subscriber that has had a Subscription. Rules: 2.5, 2.12."""

    default_rule = "2.12"
    default_party = "Publisher"


class ConcurrentSignals(SpecViolation):
    """Two signals reached a Subscriber at the same time. Rules: 1.3."""

    default_rule = "1.3"
    default_party = "Publisher"


class SignalAfterTerminal(SpecViolation):
    """A signal came after ``on_error`` or ``on_complete``. Rules: 1.7."""

    default_rule = "1.7"
    default_party = "Publisher"


class JvmError(PyrsError):
    """The root of every error that concerns the bridge."""


class JvmUnavailable(JvmError):
    """No gateway to a JVM is installed, or there is no JVM that it could reach."""


class VersionMismatch(JvmError):
    """The jar that the JVM has loaded is not the one that this package ships."""


class LinkClosed(JvmError):
    """This side closed the link."""


class LinkBroken(JvmError):
    """The other side of the link went away."""


class ProtocolError(JvmError):
    """A frame that the link protocol does not allow."""


class CallTimeout(JvmError, TimeoutError):
    """The other side did not answer a call in time."""


class ConversionError(JvmError, TypeError):
    """A value has no form on the other side."""


class JavaError(JvmError):
    """A Java Throwable that crossed the link. Its Java cause, where it has one, is ``__cause__``.

    Attributes:
        java_class: the Throwable's class name.
        java_message: its message, or None.
        java_stack: its stack trace: (class, method, file or None, line) for each frame, innermost first.
        java_original: what the bridge needs to hand the original back to Java, or None.
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
