"""Download jars from Maven Central once, and verify their SHA-256."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from pyrs.errors import JvmUnavailable

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 60.0
_LARGEST = 8 << 20


class Jar(NamedTuple):
    """The path of a file in Maven Central, and its SHA-256."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.rpartition("/")[2]


def cache_folder() -> Path:
    """Return the cache: ``$XDG_CACHE_HOME/pyrs``, or ``~/.cache/pyrs``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pyrs"


def repository() -> str:
    """Return ``PYRS_MAVEN_REPOSITORY``, or the URL of Maven Central."""
    return (os.environ.get("PYRS_MAVEN_REPOSITORY") or _MAVEN_CENTRAL).rstrip("/")


def is_jar(jar: Jar, file: Path) -> bool:
    """Return True if the file exists and has the digest of the jar."""
    return file.is_file() and _digest(file.read_bytes()) == jar.sha256


def cached_jar(jar: Jar, folder: Path, needed_by: str) -> Path:
    """Return the path of a jar; download it if it is missing or has another digest.

    Args:
        jar: Its path in Maven Central, and its digest.
        folder: The cache; it is created if it does not exist.
        needed_by: The feature that needs the jar, for errors: ``"the Java referee"``.

    Raises:
        JvmUnavailable: The jar is neither in the folder nor available, or the download has another digest.
    """
    file = folder / jar.name
    if is_jar(jar, file):
        return file
    address = f"{repository()}/{jar.path}"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
            content: bytes = response.read(_LARGEST)
    except (OSError, ValueError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise JvmUnavailable(
            f"{needed_by} needs {jar.name}: it is not in {file.parent}, and {address} cannot be read ({reason}). "
            "Connect to the network once, put the file there, or set PYRS_MAVEN_REPOSITORY to a mirror of Maven Central"
        ) from error
    if _digest(content) != jar.sha256:
        raise JvmUnavailable(
            f"{address} is not the expected {jar.name}: its SHA-256 is {_digest(content)} instead of {jar.sha256}"
        )
    # The file is renamed when it is complete, because several processes may download at once.
    part = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(file)
    except OSError as error:
        raise JvmUnavailable(f"{needed_by} cannot store its jars in {file.parent}: {error}") from error
    return file


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
