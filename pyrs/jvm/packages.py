"""Resolve Maven coordinates to cached jars, for ``jvm.launch(packages=[...])``.

Apache Ivy resolves them in a Java process, as it does for ``spark.jars.packages``, so that a JVM of JPype and a Spark
driver get the same versions. Of two requested versions of a library the later one wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from pyrs.errors import JvmUnavailable
from pyrs.jvm import downloads
from pyrs.jvm.gateways import default_java_home

# The version that Spark 4 includes.
IVY = downloads.Jar(
    "org/apache/ivy/ivy/2.5.3/ivy-2.5.3.jar", "9502aa5aabf0b1484924a13ef4b5d24f121f7f91aab6768f11cc9d0906c0803b"
)
_MISSING = re.compile(r"^\s*:: ([^\s#]+)#([^\s;]+);([^\s:!]+)", re.MULTILINE)
_UNREACHABLE = re.compile(
    r"Server access error at url \S+ \((.+)\)|(Host \S+ not found)|(Your proxy requires authentication)"
    r"|(?:CLIENT|SERVER) ERROR: (?!Not Found|null)(.+) url="
)
_CHANGES = ' changingPattern=".*-SNAPSHOT" changingMatcher="regexp" checkmodified="true"'
_DAY = 24 * 60 * 60.0
_AS_PATHS = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
_FORM = "group:artifact:version, group:artifact:version:classifier, or either followed by @jar"
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_VERSION = r"[A-Za-z0-9_+(\[\]][A-Za-z0-9_.+,()\[\]-]*"  # ranges, too
_COORDINATE = re.compile(f"({_WORD}):({_WORD}):({_VERSION})(?::({_WORD}))?(@jar)?")
_CHANGING = re.compile(r"-SNAPSHOT$|\+$|^latest\.|^[\[\](]")
_EXCLUSION = re.compile(r"[A-Za-z0-9_.*+-]+:[A-Za-z0-9_.*+-]+")


@dataclass(frozen=True)
class Coordinate:
    """A file of a Maven repository, with its dependencies unless ``alone`` (``@jar``)."""

    group: str
    artifact: str
    version: str
    classifier: str | None = None
    alone: bool = False

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Parse ``group:artifact:version``, ``...:classifier`` and ``...@jar``.

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
        """True for a snapshot, a range or ``latest.release``."""
        return _CHANGING.search(self.version) is not None

    def __str__(self) -> str:
        parts = [self.group, self.artifact, self.version, *([self.classifier] if self.classifier else [])]
        return ":".join(parts) + ("@jar" if self.alone else "")


def resolve(
    packages: Sequence[str],
    repositories: Sequence[str | os.PathLike[str]] = (),
    cache: str | os.PathLike[str] | None = None,
    *,
    exclude: Sequence[str] = (),
) -> list[Path]:
    """Return the jars of packages and their dependencies; download missing ones.

    The result is cached by arguments: a second call with the same arguments starts no Java process, needs no network,
    and only checks that the files exist and have the recorded sizes. Versions that may change (``-SNAPSHOT``, ``1.+``,
    ``[1.0,2.0)``, ``latest.release``) are resolved each time. Several processes may resolve into one cache.

    The named packages and their dependencies are resolved together. Of two versions of a package the later one is
    selected, as with ``spark.jars.packages``. To get an earlier version, name it in ``packages`` and put its
    ``group:artifact`` in ``exclude``: this leaves out dependencies, but no named package.

    Args:
        packages: ``group:artifact:version``, as in ``spark.jars.packages``; ``group:artifact:version:classifier`` for
            another file of a package. With ``@jar`` appended: the file without its dependencies.
        repositories: URLs or folders of Maven repositories, searched after Maven Central. The environment variable
            ``PYRS_MAVEN_REPOSITORY`` replaces Maven Central.
        cache: The folder of the jars, by default ``$XDG_CACHE_HOME/pyrs/packages`` or ``~/.cache/pyrs/packages``.
        exclude: ``group:artifact`` of dependencies to leave out, as in ``spark.jars.excludes``; ``*`` matches anything.

    Returns:
        The jars, in a stable order.

    Raises:
        ValueError: A coordinate, a repository or an exclusion is malformed, or the path of the cache contains the
            separator of class paths.
        TypeError: An argument is one str or path instead of a list, or a coordinate is not a str.
        JvmUnavailable: A package or a dependency is not available, or there is no Java.

    Examples:
        >>> [jar.name for jar in resolve(["io.projectreactor:reactor-core:3.6.0"])]  # doctest: +SKIP
        ['reactor-core-3.6.0.jar', 'reactive-streams-1.0.4.jar']
    """
    coordinates = [Coordinate.parse(package) for package in _checked_list(packages, "packages")]
    roots = [_root(downloads.repository()), *map(_root, _checked_list(repositories, "repositories"))]
    exclusions = [_exclusion(each) for each in _checked_list(exclude, "exclude")]
    if not coordinates:
        return []
    # The folder is made canonical, because Ivy prints canonical paths.
    folder = (downloads.cache_folder() / "packages" if cache is None else Path(os.fspath(cache))).resolve()
    if os.pathsep in str(folder):
        raise ValueError(f"a class path cannot contain {folder}: {os.pathsep!r} separates its entries")
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
    """Resolve with Ivy; download truncated jars again, since Ivy accepts any file."""
    for _ in range(2):
        jars = run_ivy(coordinates, roots, exclusions, folder)
        truncated = [jar for jar in jars if not zipfile.is_zipfile(jar)]
        if not truncated:
            return jars
        for jar in truncated:
            jar.unlink(missing_ok=True)
    names, places = ", ".join(jar.name for jar in truncated), ", ".join(dict.fromkeys(roots))
    raise JvmUnavailable(f"these files are not jars or are truncated: {names}. They came from: {places}")


def _checked_list(values: Iterable[Any], name: str) -> Iterable[Any]:
    if isinstance(values, (str, os.PathLike)):
        raise TypeError(f"{name} takes a list, not one {type(values).__name__}")
    return values


def _root(repository: str | os.PathLike[str]) -> str:
    text = os.fspath(repository)
    parts = urlsplit(text)
    if isinstance(repository, os.PathLike) or len(parts.scheme) < 2:  # a folder; one letter is a Windows drive
        if not os.path.isdir(text):
            raise ValueError(f"{text} is not a repository: pass a URL such as https://... or a folder")
        return Path(text).absolute().as_uri()
    if parts.username or parts.password:
        raise ValueError(
            f"the URL of the repository at {parts.hostname} contains a user name or a password, which errors and the "
            "cache would show: download its jars with another tool and pass them as classpath="
        )
    return text.rstrip("/")


def _exclusion(text: str) -> str:
    if not _EXCLUSION.fullmatch(text):
        raise ValueError(f"{text!r} is not an exclusion of the form group:artifact, where * matches anything")
    return text


def _remembered(record: Path, folder: Path) -> list[Path] | None:
    """Return the jars of a record, or None if one is missing or has another size."""
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
    # The file is renamed when it is complete, because other processes may read it.
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=record.parent, suffix=".part", delete=False) as part:
        json.dump({**request, "jars": entries}, part, indent=1)
    os.replace(part.name, record)


def run_ivy(
    coordinates: Sequence[Coordinate], repositories: Sequence[str], exclusions: Sequence[str], folder: Path
) -> list[Path]:
    """Resolve packages into ``folder/jars``.

    Ivy waits a minute for a silent server.

    Raises:
        JvmUnavailable: Java, Ivy or disk space is missing, or a package is not available.
    """
    java = _java()
    ivy = _ivy(folder / "ivy")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Each run has its own folder; the jars are shared under the locks of Ivy.
        _remove_old_runs(folder)
        with tempfile.TemporaryDirectory(prefix=f"run-{os.getpid()}-", dir=folder) as run:
            settings, module, answer = (Path(run) / name for name in ("settings.xml", "ivy.xml", "class-path"))
            settings.write_text(_settings(repositories, folder / "jars", Path(run)), encoding="utf-8")
            module.write_text(_module(coordinates, exclusions), encoding="utf-8")
            # Without -verbose, the output does not show whether a server refused the request or lacks the package.
            command = [java, "-Dfile.encoding=UTF-8", "-jar", str(ivy), "-novalidate", "-verbose"]
            command += ["-settings", str(settings), "-ivy", str(module), "-cachepath", str(answer)]
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # In the C locale Java cannot open a file whose name is not ASCII.
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                check=False,
            )
            output = done.stdout.decode("utf-8", "replace")
            paths = answer.read_text(encoding="utf-8").strip() if answer.exists() else ""
    except OSError as error:
        raise JvmUnavailable(f"packages cannot be resolved into {folder}: {error}") from error
    if done.returncode:
        raise JvmUnavailable(_reason(output, coordinates, repositories, folder))
    return [Path(path) for path in paths.split(os.pathsep) if path.endswith(".jar")]


def _remove_old_runs(folder: Path) -> None:
    """Remove the folders that killed processes left more than a day ago."""
    for run in folder.glob("run-*"):
        with contextlib.suppress(FileNotFoundError):  # another process may be removing the same one
            if time.time() - run.stat().st_mtime > _DAY and not _is_running(run.name.split("-")[1]):
                shutil.rmtree(run, ignore_errors=True)


def _is_running(process: str) -> bool:
    """Return whether a process has this id. The system may have reused the id."""
    if os.name == "nt" or not process.isdigit():  # on Windows os.kill would end the process
        return False
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # the process of another user
    return True


def _java() -> str:
    """Return the ``java`` of JAVA_HOME, of PATH, or of the JVM that JPype would start."""
    homes = [os.environ.get("JAVA_HOME"), None, default_java_home()]
    for home in homes:
        found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
        if found:
            return found
    raise JvmUnavailable(
        "packages are resolved by a Java program, and no java was found in JAVA_HOME or on PATH: install a JDK or JRE "
        "of Java 11 or later and set JAVA_HOME, or pass jars as classpath=. `python -m pyrs doctor` checks Java"
    )


def _ivy(folder: Path) -> Path:
    spark = importlib.util.find_spec("pyspark")
    for place in (spark.submodule_search_locations or ()) if spark else ():
        file = Path(place) / "jars" / IVY.name
        if downloads.is_jar(IVY, file):
            return file
    return downloads.cached_jar(IVY, folder, "jvm.launch(packages=...)")


def _settings(repositories: Sequence[str], jars: Path, run: Path) -> str:
    resolvers = "".join(
        f'<ibiblio name={name} root={name} m2compatible="true" timeoutConstraint="net"{_CHANGES}/>'
        for name in map(quoteattr, dict.fromkeys(repositories))
    )
    return (
        '<ivysettings><settings defaultResolver="all"/>'
        f"<caches defaultCacheDir={quoteattr(str(jars))} resolutionCacheDir={quoteattr(str(run / 'resolution'))}"
        f' artifactPattern="{_AS_PATHS}" lockStrategy="artifact-lock-nio"/>'
        '<timeout-constraints><timeout-constraint name="net" connectionTimeout="20000" readTimeout="60000"/>'
        f'</timeout-constraints><resolvers><chain name="all"{_CHANGES}>{resolvers}</chain></resolvers></ivysettings>'
    )


def _module(coordinates: Sequence[Coordinate], exclusions: Sequence[str]) -> str:
    packages: dict[tuple[str, str, str], list[Coordinate]] = {}
    for each in coordinates:
        packages.setdefault((each.group, each.artifact, each.version), []).append(each)
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="io.pyrs" module="request"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(_dependency(files, exclusions) for files in packages.values())}</dependencies>"
        "</ivy-module>"
    )


def _dependency(files: Sequence[Coordinate], exclusions: Sequence[str]) -> str:
    """Return one element for all files of a package, as Ivy ignores the first of two."""
    package = files[0]
    name = quoteattr(package.artifact)
    transitive = not all(file.alone for file in files)
    artifacts = "".join(
        f'<artifact name={name} type="jar" ext="jar"'
        f"{f' m:classifier={quoteattr(file.classifier)}' if file.classifier else ''}/>"
        for file in files
    )
    # The POM of the package names its main jar, if it has one.
    by_pom = transitive and not any(file.classifier for file in files)
    return (
        f"<dependency org={quoteattr(package.group)} name={name} rev={quoteattr(package.version)}"
        f' conf="default-&gt;default" transitive="{str(transitive).lower()}">{"" if by_pom else artifacts}'
        f"{''.join(_excluded(each, package) for each in exclusions)}</dependency>"
    )


def _excluded(text: str, named: Coordinate) -> str:
    """Return the elements that exclude ``group:artifact`` from the resolution.

    The elements never exclude the named package. They use regular expressions, because the ``*`` of Ivy needs a library
    that Ivy does not include.
    """
    group, artifact = (".*".join(map(re.escape, part.split("*"))) for part in text.split(":"))
    pairs = (
        (f"(?!{re.escape(named.group)}$){group}", artifact),
        (group, f"(?!{re.escape(named.artifact)}$){artifact}"),
    )
    return "".join(f'<exclude org={quoteattr(g)} module={quoteattr(a)} matcher="regexp"/>' for g, a in pairs)


def _reason(output: str, coordinates: Sequence[Coordinate], repositories: Sequence[str], folder: Path) -> str:
    """Return the reason of a failure from the output of Ivy."""
    requested = {(each.group, each.artifact, each.version): str(each) for each in coordinates}
    missing = dict.fromkeys(
        requested.get(found, f"{':'.join(found)} (a dependency; exclude= leaves it out)")
        for found in _MISSING.findall(output)
    )
    if not missing:
        return f"packages cannot be resolved. The output of Ivy:\n{output.strip()}"
    names, places = ", ".join(missing), ", ".join(dict.fromkeys(repositories))
    silent = dict.fromkeys(next(filter(None, groups)) for groups in _UNREACHABLE.findall(output))
    if silent:
        return (
            f"a repository cannot be read ({'; '.join(silent)}), and {folder} does not contain {names}. Repositories: "
            f"{places}. Connect to the network once, set PYRS_MAVEN_REPOSITORY to a mirror of Maven Central, or pass "
            "the jars as classpath="
        )
    return (
        f"not found: {names}. Repositories: {places}. Check the names and versions, or add a repository that has them "
        "with repositories="
    )
