"""Resolve Maven coordinates to jars in a cache, for ``jvm.launch(packages=[...])``.

Apache Ivy resolves them in a Java process, as it does for ``spark.jars.packages``, so that a JVM of JPype and a Spark
driver get the same versions. Of two requested versions of a library the later one wins.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyrs.errors import JvmUnavailable
from pyrs.jvm import downloads
from pyrs.jvm.coordinates import Coordinate
from pyrs.jvm.ivy import IVY, run_ivy

__all__ = ["resolve"]

_EXCLUSION = re.compile(r"[A-Za-z0-9_.*+-]+:[A-Za-z0-9_.*+-]+")


def resolve(
    packages: Sequence[str],
    repositories: Sequence[str | os.PathLike[str]] = (),
    cache: str | os.PathLike[str] | None = None,
    *,
    exclude: Sequence[str] = (),
) -> list[Path]:
    """Return the jars of packages and of their runtime dependencies.

    Jars that are not in the cache are downloaded.

    The result is stored for the same arguments: a second call starts no Java process, needs no network, and only checks
    that the files exist with their sizes. Versions that may change (``-SNAPSHOT``, ``1.+``, ``[1.0,2.0)``,
    ``latest.release``) are resolved each time. Several processes may resolve into one cache.

    The named packages and their dependencies are resolved together. Of two versions of a package the later one is
    selected, as with ``spark.jars.packages``. To get the earlier one, name it and ``exclude`` it: a named package is
    never left out.

    Args:
        packages: ``group:artifact:version``, as in ``spark.jars.packages``; ``group:artifact:version:classifier`` for
            one of the other files of a package; with ``@jar`` behind it, the file alone, without its dependencies.
        repositories: addresses of Maven repositories, or folders, to be searched after Maven Central.
            ``PYRS_MAVEN_REPOSITORY`` names what is searched in place of Maven Central.
        cache: the folder to keep the jars in; None for ``$XDG_CACHE_HOME/pyrs/packages``, or the same below
            ``~/.cache``.
        exclude: ``group:artifact`` of dependencies to leave out, as in ``spark.jars.excludes``; ``*`` stands for
            anything.

    Returns:
        The jars, in an order that stays the same.

    Raises:
        ValueError: a coordinate, a repository or an exclusion is malformed, or no class path can name the cache.
        JvmUnavailable: a package or one of its dependencies is not to be had, or there is no Java to resolve with.

    Examples:
        >>> [jar.name for jar in resolve(["io.projectreactor:reactor-core:3.6.0"])]  # doctest: +SKIP
        ['reactor-core-3.6.0.jar', 'reactive-streams-1.0.4.jar']
    """
    coordinates = [Coordinate.parse(package) for package in _several(packages, "packages")]
    roots = [_root(downloads.repository()), *map(_root, _several(repositories, "repositories"))]
    exclusions = [_exclusion(each) for each in _several(exclude, "exclude")]
    if not coordinates:
        return []
    # Resolved, because Ivy answers with canonical paths.
    folder = (downloads.cache_folder() / "packages" if cache is None else Path(os.fspath(cache))).resolve()
    if os.pathsep in str(folder):
        raise ValueError(f"no class path can name a file in {folder}: a {os.pathsep!r} ends an entry there")
    request = {
        "ivy": IVY.name,
        "packages": [asdict(coordinate) for coordinate in coordinates],
        "repositories": roots,
        "exclude": exclusions,
    }
    record = folder / "resolved" / f"{hashlib.sha256(json.dumps(request).encode()).hexdigest()}.json"
    changing = any(coordinate.may_change for coordinate in coordinates)
    remembered = None if changing else _remembered(record, folder)
    if remembered is not None:
        return remembered
    names = ", ".join(map(str, coordinates))
    print(f"pyrs: resolving {names} into {folder} (the first time may take a while)", file=sys.stderr, flush=True)
    jars = _fetched(coordinates, roots, exclusions, folder)
    if not changing:
        try:
            _remember(record, folder, request, jars)
        except OSError as error:
            raise JvmUnavailable(f"packages cannot be resolved into {folder}: {error}") from error
    return jars


def _fetched(
    coordinates: Sequence[Coordinate], roots: Sequence[str], exclusions: Sequence[str], folder: Path
) -> list[Path]:
    """Resolve with Ivy, and download truncated jars again: Ivy accepts every existing file."""
    for _ in range(2):
        jars = run_ivy(coordinates, roots, exclusions, folder)
        cut = [jar for jar in jars if not zipfile.is_zipfile(jar)]
        if not cut:
            return jars
        for jar in cut:
            jar.unlink(missing_ok=True)
    names, places = ", ".join(jar.name for jar in cut), ", ".join(dict.fromkeys(roots))
    raise JvmUnavailable(f"no jars, or cut short: {names}. Asked: {places}. Look at what is at their addresses")


def _several(values: Iterable[Any], name: str) -> Iterable[Any]:
    if isinstance(values, (str, os.PathLike)):
        raise TypeError(f"{name} takes a list, not one {type(values).__name__}")
    return values


def _root(repository: str | os.PathLike[str]) -> str:
    text = os.fspath(repository)
    parts = urlsplit(text)
    if isinstance(repository, os.PathLike) or len(parts.scheme) < 2:  # a folder, maybe behind the letter of a drive
        if not os.path.isdir(text):
            raise ValueError(f"{text} is not a repository: give an address such as https://... or a folder")
        return Path(text).absolute().as_uri()
    if parts.username or parts.password:
        raise ValueError(
            f"the address of the repository at {parts.hostname} holds a user's name or a password, which errors and "
            "the cache would show: fetch its jars with another tool and give them as classpath="
        )
    return text.rstrip("/")


def _exclusion(text: str) -> str:
    if not _EXCLUSION.fullmatch(text):
        raise ValueError(f"{text!r} is not an exclusion of the form group:artifact, where * stands for anything")
    return text


def _remembered(record: Path, folder: Path) -> list[Path] | None:
    """Return the jars of a record if all files have their recorded size; remove those that have another."""
    try:
        entries = json.loads(record.read_text(encoding="utf-8"))["jars"]
        jars = {folder / entry["path"]: entry["size"] for entry in entries}
        changed = [jar for jar, size in jars.items() if jar.stat().st_size != size]
        for jar in changed:
            jar.unlink()  # Ivy would accept it as its own download
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never resolved, or removed from the cache
    return None if changed else list(jars)


def _remember(record: Path, folder: Path, request: dict[str, Any], jars: list[Path]) -> None:
    entries = [{"path": jar.relative_to(folder).as_posix(), "size": jar.stat().st_size} for jar in jars]
    record.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: other processes may read it, and none may see half of it.
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=record.parent, suffix=".part", delete=False) as part:
        json.dump({**request, "jars": entries}, part, indent=1)
    os.replace(part.name, record)
