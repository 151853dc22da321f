"""One version of a package in a JVM: of two, the class path gives what came first, and says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyrs.errors import JvmUnavailable

__all__ = ["refuse_other_versions"]


def refuse_other_versions(jars: Iterable[str], class_path: Iterable[str]) -> None:
    """Refuse jars of which a running JVM has another version; those that it has already are no matter.

    A jar's package is known by its place, ``.../artifact/version/artifact-version.jar``, as in our cache and in every
    Maven repository. Other jars are left alone.

    Args:
        jars: what is to be added.
        class_path: what the JVM has.

    Raises:
        JvmUnavailable: there is such a jar; the text names both.
    """
    running: dict[Path, list[Path]] = {}
    for jar in map(Path, class_path):
        if _stands_by_version(jar):
            running.setdefault(jar.parent.parent, []).append(jar)
    refused = []
    for jar in map(Path, jars):
        others = running.get(jar.parent.parent, []) if _stands_by_version(jar) else []
        if others and all(other.parent != jar.parent for other in others):
            refused.append(f"{jar.name} (it has {others[0].name})")
    if refused:
        raise JvmUnavailable(
            "the JVM that runs in this process has other versions on its class path, and would go on with these: "
            f"{', '.join(refused)}. Restart Python and give all packages to the first launch, where the later version "
            "is taken; or go on with what runs: name its version, or leave the other one out with exclude= where only "
            "another package asks for it"
        )


def _stands_by_version(jar: Path) -> bool:
    artifact, version = jar.parent.parent.name, jar.parent.name
    return bool(artifact) and jar.name.startswith(f"{artifact}-{version}")
