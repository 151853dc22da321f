"""Read a Throwable through a gateway as a ``JavaError``."""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile

from pyrs.errors import JavaError
from pyrs.jvm.gateways.base import Java

_DEPTH = 16  # the maximum number of Throwables to read, with the causes, which may form a cycle
_FRAME = re.compile(r"\s*at ([^\s(]+)\(([^)]*)\)")
_MODULE = re.compile(r"^[\w.@-]+/(?:[\w.@-]*/)?")

Frame = tuple[str, str, "str | None", int]


def java_error(java: Java, throwable: object, depth: int = _DEPTH) -> JavaError:
    """Read the class, message, stack and causes of a Throwable.

    This takes eight calls for each Throwable.
    """
    name = str(java.call(java.call(throwable, "getClass"), "getName"))
    message = java.call(throwable, "getMessage")
    # The stack is printed to one string: four calls per frame would take milliseconds for a deep stack.
    text = java.new("java.io.StringWriter")
    java.call(throwable, "printStackTrace", java.new("java.io.PrintWriter", text))
    stack = str(java.call(text, "toString"))
    error = JavaError(name, None if message is None else str(message), parse_stack(stack))
    cause = java.call(throwable, "getCause") if depth > 1 else None
    if cause is not None:
        error.__cause__ = java_error(java, cause, depth - 1)
    return error


def parse_stack(text: str) -> tuple[Frame, ...]:
    r"""Return the frames of a printed stack trace, without those of the causes.

    Examples:
        >>> parse_stack("a.B: sorry\n\tat java.base/java.util.Objects.requireNonNull(Objects.java:208)\n")
        (('java.util.Objects', 'requireNonNull', 'Objects.java', 208),)
    """
    lines = iter(text.splitlines())
    # A message may have several lines; the frames are the first consecutive lines that have the form of a frame.
    matches = dropwhile(lambda match: match is None, map(_FRAME.fullmatch, lines))
    return tuple(_frame(*match.groups()) for match in takewhile(bool, matches) if match)


def _frame(where: str, place: str) -> Frame:
    declaring, _, method = _MODULE.sub("", where).rpartition(".")
    file, colon, line = place.rpartition(":")
    if colon and line.isdigit():
        return declaring, method, file, int(line)
    if place in ("Native Method", "Unknown Source"):
        return declaring, method, None, -1
    return declaring, method, place, -1
