"""Jars that this package needs for itself: from Maven Central once, then kept, and only if they are the right ones."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from pyrs.errors import JvmUnavailable

__all__ = ["Jar", "cache_folder", "is_jar", "kept", "repository"]

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 60.0
_LARGEST = 8 << 20


class Jar(NamedTuple):
    """A file of Maven Central's, and its SHA-256."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.rpartition("/")[2]


def cache_folder() -> Path:
    """Where everything that is fetched is kept: ``$XDG_CACHE_HOME/pyrs``, or ``~/.cache/pyrs``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pyrs"


def repository() -> str:
    """The address of Maven Central, or of what ``PYRS_MAVEN_REPOSITORY`` names in its place."""
    return (os.environ.get("PYRS_MAVEN_REPOSITORY") or _MAVEN_CENTRAL).rstrip("/")


def is_jar(jar: Jar, file: Path) -> bool:
    """Whether the file is there and is that jar."""
    return file.is_file() and _digest(file.read_bytes()) == jar.sha256


def kept(jar: Jar, folder: Path, needed_by: str) -> Path:
    """The jar in the folder; it is fetched if it is not there, or not what it should be.

    Args:
        jar: which.
        folder: where it is kept; made if it is not there.
        needed_by: who needs it, for the errors: ``"the Java referee"``.

    Raises:
        JvmUnavailable: it is neither in the folder nor to be had, or is not the one that it should be.
    """
    file = folder / jar.name
    if is_jar(jar, file):
        return file
    address = f"{repository()}/{jar.path}"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
            content: bytes = response.read(_LARGEST)
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise JvmUnavailable(
            f"{needed_by} needs {jar.name}: it is not in {file.parent}, and {address} cannot be read ({reason}). "
            "Run it once with a network, put the file there, or set PYRS_MAVEN_REPOSITORY to a mirror of Maven Central"
        ) from error
    if _digest(content) != jar.sha256:
        raise JvmUnavailable(
            f"what came from {address} is not {jar.name}: its SHA-256 is {_digest(content)} and should be {jar.sha256}"
        )
    # Under another name first: several processes may fetch at once, and none may see half a file.
    part = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(file)
    except OSError as error:
        raise JvmUnavailable(f"{needed_by} cannot keep its jars in {file.parent}: {error}") from error
    return file


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
