"""Parse Maven coordinates."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Coordinate"]

_FORM = "group:artifact:version, group:artifact:version:classifier, or either with @jar behind it"
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_VERSION = r"[A-Za-z0-9_+(\[\]][A-Za-z0-9_.+,()\[\]-]*"  # ranges, too
_COORDINATE = re.compile(f"({_WORD}):({_WORD}):({_VERSION})(?::({_WORD}))?(@jar)?")
_CHANGING = re.compile(r"-SNAPSHOT$|\+$|^latest\.|^[\[\](]")


@dataclass(frozen=True)
class Coordinate:
    """One file of a Maven repository, with its dependencies unless ``alone`` is set."""

    group: str
    artifact: str
    version: str
    classifier: str | None = None
    alone: bool = False
    """True for the file without its dependencies, ``@jar`` in a coordinate as in Gradle."""

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Read ``group:artifact:version``, ``...:classifier`` and ``...@jar``.

        Raises:
            ValueError: ``text`` has another form.
            TypeError: ``text`` is not a string.

        Examples:
            >>> Coordinate.parse("io.projectreactor:reactor-core:3.6.0").version
            '3.6.0'
        """
        if not isinstance(text, str):
            raise TypeError(f"a coordinate is a str, such as 'group:artifact:version', not {type(text).__name__}")
        match = _COORDINATE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a Maven coordinate of the form {_FORM}")
        group, artifact, version, classifier, alone = match.groups()
        return cls(group, artifact, version, classifier, alone is not None)

    @property
    def may_change(self) -> bool:
        """Whether it may stand for another file tomorrow: a snapshot, a range, ``latest.release``."""
        return _CHANGING.search(self.version) is not None

    def __str__(self) -> str:
        parts = [self.group, self.artifact, self.version, *([self.classifier] if self.classifier else [])]
        return ":".join(parts) + ("@jar" if self.alone else "")
