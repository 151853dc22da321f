"""Keep one version of each package in a JVM: Java silently uses the first of two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyrs.errors import JvmUnavailable

_QUALIFIER_RANKS = {"dev": -1, "rc": 1, "final": 2}


def to_be_added(jars: Sequence[str], class_path: Iterable[str]) -> list[str]:
    """Return the jars that a running JVM does not have in the same or a later version.

    The path of a jar names its package and version, ``.../artifact/version/artifact-version.jar``, as in every Maven
    repository. A jar with another path is returned unless the JVM has it.

    Raises:
        JvmUnavailable: The JVM has an earlier version of a jar, and would keep it; the message names both.
    """
    present = set(class_path)
    running: dict[Path, Path] = {}
    for jar in filter(_has_versioned_path, map(Path, present)):
        known = running.get(jar.parent.parent)
        if known is None or _order(jar) > _order(known):
            running[jar.parent.parent] = jar
    lacking, refused = [], []
    for text in jars:
        jar = Path(text)
        other = running.get(jar.parent.parent) if _has_versioned_path(jar) else None
        if other is not None and _order(jar) > _order(other):
            refused.append(f"{jar.name} (it has {other.name})")
        elif text not in present and (other is None or other.parent == jar.parent):
            lacking.append(text)  # it may be another file of the loaded version
    if refused:
        raise JvmUnavailable(
            "the JVM of this process keeps the versions that it has loaded, and these are later: "
            f"{', '.join(refused)}. Restart Python and pass all packages to the first launch, which selects the later "
            "version; or request the loaded version, or leave the later one out with exclude="
        )
    return lacking


def _has_versioned_path(jar: Path) -> bool:
    artifact, version = jar.parent.parent.name, jar.parent.name
    return bool(artifact) and jar.name.startswith(f"{artifact}-{version}")


def _order(jar: Path) -> list[tuple[int, int, str]]:
    """Return a sort key in Ivy's order: 1.0-rc1 < 1.0 < 1.0.1 < 1.10."""
    parts = re.findall(r"\d+|[A-Za-z]+", jar.parent.name)
    numbers_and_words = [
        (2, int(part), "") if part.isdigit() else (0, _QUALIFIER_RANKS.get(part.lower(), 0), part) for part in parts
    ]
    return [*numbers_and_words, (1, 0, "")]  # the end sorts between a word and a number
