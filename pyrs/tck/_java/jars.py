"""The Java kit's jars: from Maven Central once, then from a cache, and only if they are what they should be."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from pyrs.errors import JvmUnavailable

__all__ = ["JARS", "Jar", "cache_folder", "kit_jars"]

_REPOSITORY = "https://repo1.maven.org/maven2"
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


JARS = (
    Jar(
        "org/reactivestreams/reactive-streams/1.0.4/reactive-streams-1.0.4.jar",
        "f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-tck/1.0.4/reactive-streams-tck-1.0.4.jar",
        "8423b5062b3f3c5600a85cfad5a6ccbda88129a822be82b2e364d737d53c9836",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-tck-flow/1.0.4/reactive-streams-tck-flow-1.0.4.jar",
        "be680de3061b218da6e1c90b9cb55a89f4e1c4ea32bfddd91329b2a1441901d1",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-examples/1.0.4/reactive-streams-examples-1.0.4.jar",
        "95f5f682e67fe791c6ff47a96281c22521961d317550c7110cd0b0e11dc4d9c2",
    ),
    Jar("org/testng/testng/7.3.0/testng-7.3.0.jar", "63727488f9717d57f0d0a0fee5a1fc10a2be9cfcff2ec3a7187656d663c0774e"),
    Jar(
        "com/beust/jcommander/1.78/jcommander-1.78.jar",
        "7891debb84b5f83e9bd57593ebece3399abbe0fd938cf306b3534c57913b9615",
    ),
)


def cache_folder() -> Path:
    """Where the jars are kept: ``$XDG_CACHE_HOME/pyrs/tck-1.0.4``, or the same below ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pyrs" / "tck-1.0.4"


def kit_jars(folder: Path | None = None) -> list[Path]:
    """The Java kit's jars; those that are not in the cache are fetched.

    ``PYRS_MAVEN_REPOSITORY`` names another repository than Maven Central.

    Raises:
        JvmUnavailable: a jar is neither in the cache nor to be had, or is not the one that it should be.
    """
    folder = cache_folder() if folder is None else folder
    return [_jar(jar, folder / jar.name) for jar in JARS]


def _jar(jar: Jar, file: Path) -> Path:
    if file.is_file() and _digest(file.read_bytes()) == jar.sha256:
        return file
    repository = (os.environ.get("PYRS_MAVEN_REPOSITORY") or _REPOSITORY).rstrip("/")
    address = f"{repository}/{jar.path}"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
            content: bytes = response.read(_LARGEST)
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise JvmUnavailable(
            f"the Java referee needs {jar.name}: it is not in {file.parent}, and {address} cannot be read ({reason}). "
            "Run it once with a network, put the file there, or set PYRS_MAVEN_REPOSITORY to a mirror of Maven Central"
        ) from error
    if _digest(content) != jar.sha256:
        raise JvmUnavailable(
            f"what came from {address} is not {jar.name}: its SHA-256 is {_digest(content)} and should be {jar.sha256}"
        )
    _keep(file, content)
    return file


def _keep(file: Path, content: bytes) -> None:
    """Write under another name first: several processes may fetch at once, and none may see half a file."""
    part = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(file)
    except OSError as error:
        raise JvmUnavailable(f"the Java referee cannot keep its jars in {file.parent}: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
