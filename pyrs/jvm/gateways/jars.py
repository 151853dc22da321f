"""The jars that travel inside the package, and the check that the JVM runs the same version of pyrs as this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyrs.errors import JvmUnavailable, VersionMismatch

__all__ = ["MINIMUM_JAVA", "Jars", "check_java", "check_version", "packaged_jars"]

MINIMUM_JAVA = 11
_FOLDER = Path(__file__).resolve().parent.parent / "jars"


@dataclass(frozen=True)
class Jars:
    """Where our jar and the fallback copy of ``org.reactivestreams`` are."""

    pyrs: Path
    reactive_streams: Path


def packaged_jars(folder: Path = _FOLDER) -> Jars:
    """The jars of this installation.

    Raises:
        JvmUnavailable: a jar is not there.
    """
    jars = Jars(folder / "pyrs.jar", folder / "reactive-streams-1.0.4.jar")
    for jar in (jars.pyrs, jars.reactive_streams):
        if not jar.is_file():
            raise JvmUnavailable(
                f"{jar} is missing from this installation of pyrs. In a checkout run `make setup`; "
                "elsewhere install the wheel again: pip install --force-reinstall pyrs-streams"
            )
    return jars


def check_java(specification: str) -> None:
    """Refuse a JVM that cannot run our classes. ``specification`` is Java's ``java.specification.version``.

    Raises:
        JvmUnavailable: it is older than Java 11.

    Examples:
        >>> check_java("17")
        >>> check_java("1.8")
        Traceback (most recent call last):
            ...
        pyrs.errors.JvmUnavailable: this JVM runs Java 8; pyrs needs Java 11 or later (Spark: set JAVA_HOME first)
    """
    parts = specification.split(".")
    major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
    if major.isdigit() and int(major) < MINIMUM_JAVA:
        raise JvmUnavailable(
            f"this JVM runs Java {major}; pyrs needs Java {MINIMUM_JAVA} or later (Spark: set JAVA_HOME first)"
        )


def check_version(jar: str, package: str) -> None:
    """Refuse a jar that is not this package's own.

    Raises:
        VersionMismatch: the versions differ in any way; the link's two halves are only tested as a pair.
    """
    if jar != package:
        raise VersionMismatch(
            f"this JVM has loaded pyrs.jar {jar} and this Python process runs pyrs {package}. A JVM keeps the first "
            "one that it loads: use one version in every process that connects to it, take pyrs.jar out of spark.jars "
            "and the class path (pyrs loads its own), and restart the JVM"
        )
