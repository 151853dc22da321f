"""How docstrings come to look well on the page of the interface: what they are written in is not quite Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

# In the docstrings, which are read in editors and terminals: `::` above a picture, tables with lines of `=`, and roles.
_PICTURE = re.compile(r"^ *::\n|(?<=:):$", re.MULTILINE)
_TABLE = re.compile(r"^( *)(=+(?: +=+)+\n.*?\n\1=+(?: +=+)+)$", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":(?:class|func|meth):`~?(?:[\w.]+\.)?(\w+)`")
_EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)


def marked_down(text: str) -> str:
    """Return the docstring as the page shows it well."""
    text = _PICTURE.sub("", text)
    text = _TABLE.sub(lambda found: re.sub(r"^", "    ", found[0], flags=re.MULTILINE), text)
    text = _ROLE.sub(r"`\1`", text)
    return _EXAMPLE.sub(r"\1Examples:", text)


class Docstrings(Extension):
    """Changes each docstring as it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """See ``Extension``."""
        if obj.docstring is not None:
            obj.docstring.value = marked_down(obj.docstring.value)
