"""The interface of a gateway for control calls, Py4J or JPype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyrs.errors import ConversionError


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
            f"{type(value).__name__} cannot be an argument of a control call: None, bool, int, float, str, bytes and "
            "Java objects can"
        )


class Java(Protocol):
    """The primitive calls of a gateway.

    Arguments are None, bool, int, float, str, bytes and Java objects.
    """

    def static(self, class_name: str, method: str, *args: object) -> object:
        """Call a static method."""

    def new(self, class_name: str, *args: object) -> object:
        """Create an object of a class of the JDK."""

    def call(self, target: object, method: str, *args: object) -> object:
        """Call a public method.

        Strings and boxes are returned as plain Python values.
        """

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """Create a Java array."""

    def class_loader(self) -> object:
        """Return the class loader that sees the user's code."""

    def translate(self, error: BaseException) -> BaseException:
        """Convert an exception of the gateway; return any other unchanged."""
