"""A Throwable, read through a carrier, as a :class:`pyrs.errors.JavaError`."""

from __future__ import annotations

import re

from pyrs.errors import JavaError
from pyrs.jvm.gateways.base import Java

__all__ = ["java_error", "parse_stack"]

_DEPTH = 16  # causes that are followed; a cycle ends there too
_FRAME = re.compile(r"([^\s,\[]+)\(([^)]*)\)")
_MODULE = re.compile(r"^[\w.@-]+/(?:[\w.@-]*/)?")

Frame = tuple[str, str, "str | None", int]


def java_error(java: Java, throwable: object, depth: int = _DEPTH) -> JavaError:
    """Class, message, stack and causes of a Throwable; six calls for each of the chain."""
    name = str(java.call(java.call(throwable, "getClass"), "getName"))
    message = java.call(throwable, "getMessage")
    # One string for the whole stack: four calls a frame would make a deep stack cost milliseconds.
    stack = java.static("java.util.Arrays", "toString", java.call(throwable, "getStackTrace"))
    error = JavaError(name, None if message is None else str(message), parse_stack(str(stack)))
    cause = java.call(throwable, "getCause") if depth > 1 else None
    if cause is not None:
        error.__cause__ = java_error(java, cause, depth - 1)
    return error


def parse_stack(text: str) -> tuple[Frame, ...]:
    """The frames in the text of an array of StackTraceElement.

    Example:
        >>> parse_stack("[java.base/java.util.Objects.requireNonNull(Objects.java:208), a.B.<init>(Native Method)]")
        (('java.util.Objects', 'requireNonNull', 'Objects.java', 208), ('a.B', '<init>', None, -1))
    """
    return tuple(_frame(*match.groups()) for match in _FRAME.finditer(text))


def _frame(where: str, place: str) -> Frame:
    declaring, _, method = _MODULE.sub("", where).rpartition(".")
    file, colon, line = place.rpartition(":")
    if colon and line.isdigit():
        return declaring, method, file, int(line)
    if place in ("Native Method", "Unknown Source"):
        return declaring, method, None, -1
    return declaring, method, place, -1
