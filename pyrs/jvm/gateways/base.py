"""Define the primitive calls of a gateway, and read a ``JavaError`` with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Protocol

from pyrs.errors import ConversionError, JavaError


def check_argument(value: object) -> None:
    """Raise a ConversionError for an invalid argument of a control call.

    None, bool, int, float, str, bytes and bytearray are valid, except an int that does not fit in a Java long and a str
    with a lone surrogate. The callers accept Java objects themselves.
    """
    if isinstance(value, int):  # also bool
        if not -(2**63) <= value < 2**63:
            raise ConversionError(f"{value} does not fit in a Java long")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ConversionError(f"a str with a lone surrogate cannot be converted to Java: {error}") from error
    elif not (value is None or isinstance(value, (float, bytes, bytearray))):
        raise ConversionError(
            f"{type(value).__name__} cannot be an argument of a control call: None, bool, int, float, str, bytes, "
            "bytearray and Java objects can"
        )


class Java(Protocol):
    """The primitive calls of a gateway.

    Arguments are Java objects and the values that ``check_argument`` accepts.
    """

    def static(self, class_name: str, method: str, *args: object) -> object:
        """Call a static method."""

    def new(self, class_name: str, *args: object) -> object:
        """Create an object of a class of the JDK."""

    def call(self, target: object, method: str, *args: object) -> object:
        """Call a public method. Strings, boxes and byte arrays become plain Python values."""

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """Create a Java array."""

    def class_loader(self) -> object:
        """Return the class loader that sees the user's code."""

    def translate(self, error: BaseException) -> BaseException:
        """Convert an exception of the gateway; return any other unchanged."""


_DEPTH = 16  # the maximum number of Throwables to read: a chain of causes may be a cycle
_FRAME = re.compile(r"\s*at ([^\s(]+)\(([^)]*)\)")
_MODULE = re.compile(r"^[\w.@-]+/(?:[\w.@-]*/)?")

Frame = tuple[str, str, "str | None", int]


def java_error(java: Java, throwable: object, depth: int = _DEPTH) -> JavaError:
    """Read class, message, stack and causes of a Throwable: eight calls for each."""
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
