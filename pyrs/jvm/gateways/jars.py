"""Locate the jars of the package, and check that the JVM runs the same version."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyrs._core.temporary import temporary_folder
from pyrs.errors import JvmUnavailable, VersionMismatch

if TYPE_CHECKING:
    from importlib.abc import Traversable


MINIMUM_JAVA = 11
_NAMES = ("pyrs.jar", "reactive-streams-1.0.4.jar")


class Jars(NamedTuple):
    """The paths of the jar and of the fallback copy of ``org.reactivestreams``."""

    pyrs: Path
    reactive_streams: Path


def packaged_jars(folder: Traversable | None = None) -> Jars:
    """Return the jars of this installation, as files that a JVM can open.

    A JVM cannot open a jar inside a zip file, which is where the package is after ``addPyFile("pyrs.zip")``. Such jars
    are copied into a private folder, once per process. An exit handler removes the folder.

    Raises:
        JvmUnavailable: a jar is missing.
    """
    jars = [(files("pyrs.jvm") / "jars" if folder is None else folder) / name for name in _NAMES]
    for jar in jars:
        if not jar.is_file():
            raise JvmUnavailable(
                f"{jar} is missing from this installation of pyrs. In a checkout run `make setup`; "
                "elsewhere install the wheel again: pip install --force-reinstall pyrs-streams. "
                "`python -m pyrs doctor` checks all that the bridge needs"
            )
    pyrs, reactive_streams = (jar if isinstance(jar, Path) else _extracted(_archive(jar)) / jar.name for jar in jars)
    for jar, path in zip(jars, (pyrs, reactive_streams), strict=True):
        if jar is not path and not path.is_file():
            # The file is renamed when it is complete, because another thread may extract the same jar.
            descriptor, part = tempfile.mkstemp(dir=path.parent)
            with open(descriptor, "wb") as file:
                file.write(jar.read_bytes())
            os.replace(part, path)
    return Jars(pyrs, reactive_streams)


def _archive(jar: Traversable) -> Path | None:
    """Return the path of the zip file with a jar, or None if it is not known."""
    name = getattr(getattr(jar, "root", None), "filename", None)  # of a zipfile.Path
    return None if name is None else Path(name)


@cache
def _extracted(archive: Path | None) -> Path:
    """Return the private folder of this process for jars that were in a zip file.

    It is next to the zip file if possible. Spark ends its Python workers without exit handlers, but removes the folder
    to which it has sent the zip file.
    """
    try:
        return temporary_folder("pyrs-jars-", archive and archive.parent)
    except OSError:
        return temporary_folder("pyrs-jars-")


def check_java(specification: str) -> None:
    """Refuse a JVM that is too old, given its ``java.specification.version``.

    Raises:
        JvmUnavailable: the JVM is older than Java 11.

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
    """Refuse a jar whose version differs from that of this package.

    Raises:
        VersionMismatch: the versions differ in any way; the two sides of the link are only tested as a pair.
    """
    if jar != package:
        raise VersionMismatch(
            f"this JVM has loaded pyrs.jar {jar} and this Python process runs pyrs {package}. A JVM keeps the first "
            "pyrs.jar that it loads: use one version in every process that connects to the JVM, remove pyrs.jar from "
            "spark.jars and the class path (pyrs loads its own), and restart the JVM"
        )
