"""Placeholders for objects of this side in the values of a control frame.

The reader thread of a link decodes control frames. An object of this side that returns as the key of a map or as a
member of a set must be hashed, and perhaps compared, by methods of the user. The reader therefore decodes it as a
``Placeholder``, and the thread that uses the value calls ``restored``.
"""

from __future__ import annotations

from typing import Any

from pyrs.errors import ConversionError


class Placeholder:
    """Stands for an object of this side in a decoded value."""

    __slots__ = ("target",)

    def __init__(self, target: object) -> None:
        self.target = target


class DeferredEntries(list[Any]):
    """The entries of a control frame that contains at least one ``Placeholder``."""


def restored(value: Any) -> Any:
    """Replace each ``Placeholder`` in a value by its object.

    Raises:
        ConversionError: An object raised while it was hashed or compared.
    """
    try:
        return _restored(value)
    except Exception as error:
        raise ConversionError(
            f"a value cannot be converted to Python: {type(error).__name__} raised by an object that is a key of a "
            "dict or a member of a set"
        ) from error


def _restored(value: Any) -> Any:
    kind = type(value)
    if kind is Placeholder:
        return value.target
    if kind is dict:
        # One Python frame for each level, here and below: value.depth is about half of Python's recursion limit.
        return dict(zip(map(_restored, value.keys()), map(_restored, value.values()), strict=True))
    if kind in (list, tuple, set, frozenset):
        return kind(map(_restored, value))
    return value
