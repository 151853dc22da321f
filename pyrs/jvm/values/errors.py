"""The error table: convert exceptions to wire errors and back.

A wire error is ``[owner, id, type, message, frames, cause, traceback, families]``. With owner 0, the sender keeps the
original exception under ``id`` until it has sent 1,024 others. With owner 1, ``id`` is that of an original that the
receiver has sent. The conversion to a wire error never fails, whatever an exception does: a ``__str__`` that raises, a
cyclic cause, a huge traceback.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from pyrs.errors import ConversionError, JavaError, NullSignal, ProtocolError, SpecViolation, SubscribedTwice
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.values.table import type_name

T = TypeVar("T")
MAX_TEXT = LIMITS["error.text"]
MAX_FRAMES = LIMITS["error.frames"]
MAX_CAUSES = LIMITS["error.causes"]
_MAX_CHAIN = 10_000  # a property __cause__ may return a new exception each time
CAPACITY = LIMITS["error.originals"]


class JavaValueError(JavaError, ValueError):
    """A Java IllegalArgumentException: in Python also a ValueError.

    Rules: 3.9.
    """


class JavaTimeout(JavaError, TimeoutError):
    """A Java TimeoutException: in Python also a TimeoutError."""


class JavaConversionError(JavaError, ConversionError):
    """A Java ConversionException: a value cannot be converted for the other side."""


class Originals:
    """The last 1,024 exceptions sent, to recognize those that the peer sends back.

    Each link has its own. An exception and the frames of its traceback stay alive until 1,024 others were sent or the
    bridge is closed.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.RLock()  # reentrant: a finalizer may run while it is held, and send an error
        self._by_number: OrderedDict[int, BaseException] = OrderedDict()
        self._numbers: dict[int, int] = {}  # by id(); ``_by_number`` keeps the exceptions alive
        self._last = 0

    def keep(self, error: BaseException) -> int:
        """Store an exception and return its number, which is constant while it is stored."""
        identity = id(error)
        with self._lock:
            if identity not in self._numbers:
                self._last += 1
                self._numbers[identity] = self._last
                self._by_number[self._last] = error
            number = self._numbers[identity]
            if number in self._by_number:  # false if a finalizer kept 1,024 others during this call
                self._by_number.move_to_end(number)
            if len(self._by_number) > self._capacity:
                _, eldest = self._by_number.popitem(last=False)
                self._numbers.pop(id(eldest), None)
            return number

    def find(self, number: int) -> BaseException | None:
        """Return the exception with that number, or None if it is no longer stored."""
        with self._lock:
            return self._by_number.get(number)

    def clear(self) -> None:
        """Remove all exceptions, because the bridge is closed."""
        with self._lock:
            removed = list(self._by_number.values())
            self._by_number.clear()
            self._numbers.clear()
        del removed  # after the lock is released, because finalizers of objects in the tracebacks may run

    def __len__(self) -> int:
        return len(self._by_number)

    def __reduce__(self) -> tuple[Any, ...]:
        # A JavaError refers to this object. In another process it is not recognized, and becomes a new error in Java.
        return Originals, (self._capacity,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Originals:
        return self


def describe(error: BaseException) -> str:
    """Return an exception's type and message, even if its methods raise."""
    return f"{_name(error)}: {_message(error)}"


def exception_to_wire(error: BaseException, originals: Originals) -> list[Any]:
    """Convert an exception and its causes to a wire error. Never fails."""
    return _to_wire(error, originals, [], _traceback(error))


def _to_wire(error: BaseException, originals: Originals, seen: list[BaseException], text: str | None) -> list[Any]:
    seen.append(error)
    cause = _cause(error)
    wire_cause = None
    if cause is not None and len(seen) < MAX_CAUSES and not any(cause is each for each in seen):
        wire_cause = _to_wire(cause, originals, seen, None)
    owner, number = _attempt(lambda: _at_home(error, originals), (0, 0))
    if owner == 0:
        number = originals.keep(error)
    frames: list[list[Any]] = _attempt(lambda: _frames(error.__traceback__), [])
    families: list[str] = _attempt(lambda: _families(error), [])
    return [owner, number, _name(error), _message(error), frames, wire_cause, text, families]


def _attempt(read: Callable[[], T], fallback: T) -> T:
    """Return the result of ``read``, or the fallback if ``read`` raises."""
    try:
        return read()
    except BaseException:  # raised by code of the exception's class
        return fallback


def _cause(error: BaseException) -> BaseException | None:
    def read() -> object:
        cause = error.__cause__
        return error.__context__ if cause is None and not error.__suppress_context__ else cause

    cause = _attempt(read, None)
    return cause if isinstance(cause, BaseException) else None


def _at_home(error: BaseException, originals: Originals) -> tuple[int, int]:
    """Return owner and number of a JavaError that returns to its JVM; else owner 0."""
    if isinstance(error, JavaError) and error.java_original is not None:
        peer, number = error.java_original
        return (1 if peer is originals else 0), number
    return 0, 0


def _name(error: BaseException) -> str:
    return _clean(_attempt(lambda: type_name(error), "Exception"))


def _message(error: BaseException) -> str:
    try:
        return _clean(str(error))
    except BaseException as broken:  # raised by a user's __str__
        return f"(__str__ raised {type(broken).__name__})"


def _frames(trace: TracebackType | None) -> list[list[Any]]:
    """Return the innermost 256 frames, innermost first as in Java."""
    frames: list[list[Any]] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        module = str(trace.tb_frame.f_globals.get("__name__", "?"))
        function = getattr(code, "co_qualname", code.co_name)
        frames.append([_clean(module), _clean(function), _clean(code.co_filename), trace.tb_lineno or 0])
        if len(frames) > 2 * MAX_FRAMES:
            del frames[:MAX_FRAMES]
        trace = trace.tb_next
    return frames[: -MAX_FRAMES - 1 : -1]


def _traceback(error: BaseException) -> str | None:
    def read() -> str:
        chain = {id(error): error}
        cause = _cause(error)
        while cause is not None and id(cause) not in chain and len(chain) < _MAX_CHAIN:
            chain[id(cause)] = cause
            cause = _cause(cause)
        if len(chain) <= MAX_CAUSES:
            return "".join(traceback.format_exception(type(error), error, error.__traceback__))
        # Python would format the whole chain, and most of the text would be cut out.
        oldest_first = [*reversed(chain.values())]
        half = MAX_CAUSES // 2
        texts = [*map(_short_traceback, oldest_first[:half] + oldest_first[-half:])]
        texts.insert(half, f"[{len(chain) - 2 * half} exceptions are omitted]\n")
        return "\n".join(texts)

    # Formatting calls the user's code: __str__, __notes__, a source loader.
    return _attempt(lambda: _clean(read()), None)


def _short_traceback(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{frames}{describe(error)}\n"


def _clean(text: str) -> str:
    """Escape lone surrogates, and cut the middle out of text over 65,536 characters."""
    if len(text) > MAX_TEXT:
        half = MAX_TEXT // 2 - 16
        text = f"{text[:half]}\n... cut ...\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _families(error: BaseException) -> list[str]:
    return next(([family] for kind, family in _FAMILIES.items() if isinstance(error, kind)), [])


# The first class that matches decides: a NullSignal and a NonPositiveRequest are SpecViolations, too.
_FAMILIES: dict[type[BaseException], str] = {
    NullSignal: "null_signal",
    ValueError: "illegal_argument",
    asyncio.CancelledError: "cancelled",
    concurrent.futures.CancelledError: "cancelled",
    SubscribedTwice: "illegal_state",
    SpecViolation: "spec_violation",
    TimeoutError: "timeout",
    ConversionError: "conversion",
}


def wire_to_exception(wire: Any, originals: Originals) -> BaseException:
    """Return the exception of a wire error: this side's original, or a JavaError.

    Raises:
        ProtocolError: the value is not an error.
    """
    try:
        return _from_wire(wire, originals, 0)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ProtocolError(f"malformed error: {error}") from error


def _from_wire(wire: Any, originals: Originals, depth: int) -> BaseException:
    owner, number, name, message, frames, cause, text, families = wire[:8]
    if owner == 1:
        original = originals.find(number)
        if original is not None:
            return original
    # The fields are checked and not converted: str() of a reference would call the JVM, possibly on the link's reader.
    stack = tuple(
        (_typed(str, c), _typed(str, f), _typed(str, file, None), _typed(int, line)) for c, f, file, line in frames
    )
    error = _CLASSES.get(families[0] if families else "", JavaError)(
        _typed(str, name), _typed(str, message, None), stack
    )
    if owner == 0:
        error.java_original = (originals, _typed(int, number))
    if cause is not None and depth < MAX_CAUSES:
        error.__cause__ = _from_wire(cause, originals, depth + 1)
    if _typed(str, text, None) is not None and sys.version_info >= (3, 11):
        # Python prints notes with the traceback, so the Java stack trace is shown too.
        error.add_note(f"Java stack trace:\n{text.rstrip()}")
    return error


def _typed(kind: type[Any], value: Any, *others: object) -> Any:
    """Return the value if its type is ``kind``, or if it is one of ``others``."""
    if type(value) is not kind and value not in others:
        raise TypeError(f"it has a {type(value).__name__} instead of a {kind.__name__}")
    return value


_CLASSES: dict[str, type[JavaError]] = {
    "illegal_argument": JavaValueError,
    "timeout": JavaTimeout,
    "conversion": JavaConversionError,
}
