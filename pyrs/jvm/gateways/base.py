"""The interface of a carrier of control calls, Py4J or JPype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Java(Protocol):
    """The primitive calls of a carrier.

    Arguments are None, bool, int, float, str, bytes and Java objects.
    """

    def static(self, class_name: str, method: str, *args: object) -> object:
        """Call a static method."""

    def new(self, class_name: str, *args: object) -> object:
        """Make an object of a class of the JDK."""

    def call(self, target: object, method: str, *args: object) -> object:
        """Call a public method. Strings and boxes are returned as plain Python values."""

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """Make a Java array."""

    def class_loader(self) -> object:
        """Return the class loader that sees the user's code."""

    def plain(self, value: object) -> object:
        """Convert maps, lists, strings and boxes; return other objects unchanged."""

    def translate(self, error: BaseException) -> BaseException:
        """Convert an exception of the carrier; return any other unchanged."""
