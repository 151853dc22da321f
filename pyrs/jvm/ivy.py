"""Run Apache Ivy as a process: write its settings, and interpret its output."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pyrs.errors import JvmUnavailable
from pyrs.jvm import downloads
from pyrs.jvm.coordinates import Coordinate
from pyrs.jvm.gateways import default_java_home

__all__ = ["IVY", "run_ivy"]

# The version of Spark 4.
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


def run_ivy(
    coordinates: Sequence[Coordinate], repositories: Sequence[str], exclusions: Sequence[str], folder: Path
) -> list[Path]:
    """Resolve packages into ``folder/jars``. Blocks until Ivy ends, which waits a minute for a silent server.

    Raises:
        JvmUnavailable: No Java, no Ivy, no disk space, or a package that is not available.
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
            command = [java, "-Dfile.encoding=UTF-8", "-jar", str(ivy), "-novalidate"]
            command += ["-verbose"]  # otherwise a server that refuses looks like one without the package
            command += ["-settings", str(settings), "-ivy", str(module), "-cachepath", str(answer)]
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "LC_ALL": "C.UTF-8",
                },  # in the C locale Java cannot open a file whose name is not ASCII
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
    """Remove the folders of killed processes: those older than a day whose process does not run."""
    for run in folder.glob("run-*"):
        with contextlib.suppress(FileNotFoundError):  # another process may be removing the same one
            if time.time() - run.stat().st_mtime > _DAY and not _is_running(run.name.split("-")[1]):
                shutil.rmtree(run, ignore_errors=True)


def _is_running(process: str) -> bool:
    """Return True if a process has this number, which may be another process by now."""
    if os.name == "nt" or not process.isdigit():  # on Windows os.kill would end the process
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
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
        "of Java 11 or later and set JAVA_HOME, or give jars as classpath=. `python -m pyrs doctor` checks Java"
    )


def _ivy(folder: Path) -> Path:
    spark = importlib.util.find_spec("pyspark")
    for place in (spark.submodule_search_locations or ()) if spark else ():
        file = Path(place) / "jars" / IVY.name
        if downloads.is_jar(IVY, file):
            return file
    return downloads.kept(IVY, folder, "jvm.launch(packages=...)")


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
    """Return one package with all its files: of two dependencies on it Ivy would drop the first."""
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
        f"{''.join(_exclusion(each, package) for each in exclusions)}</dependency>"
    )


def _exclusion(text: str, named: Coordinate) -> str:
    """Return the exclusion of ``group:artifact`` with ``*``, except the named package itself.

    It uses regular expressions, because the ``*`` of Ivy needs a library that Ivy does not include.
    """
    group, artifact = (".*".join(map(re.escape, part.split("*"))) for part in text.split(":"))
    pairs = (
        (f"(?!{re.escape(named.group)}$){group}", artifact),
        (group, f"(?!{re.escape(named.artifact)}$){artifact}"),
    )
    return "".join(f'<exclude org={quoteattr(g)} module={quoteattr(a)} matcher="regexp"/>' for g, a in pairs)


def _reason(output: str, coordinates: Sequence[Coordinate], repositories: Sequence[str], folder: Path) -> str:
    """Return the reason of a failure from the output of Ivy: the missing packages, or an unreachable repository."""
    asked = {(each.group, each.artifact, each.version): str(each) for each in coordinates}
    missing = dict.fromkeys(
        asked.get(found, f"{':'.join(found)} (a dependency; exclude= leaves it out)")
        for found in _MISSING.findall(output)
    )
    if not missing:
        return f"packages cannot be resolved; Ivy said:\n{output.strip()}"
    names, places = ", ".join(missing), ", ".join(dict.fromkeys(repositories))
    silent = dict.fromkeys(next(filter(None, groups)) for groups in _UNREACHABLE.findall(output))
    if silent:
        return (
            f"a repository cannot be read ({'; '.join(silent)}), and these packages did not come from it into "
            f"{folder} before: {names}. Asked: {places}. Run it once with a network, set PYRS_MAVEN_REPOSITORY to a "
            "mirror of Maven Central, or give the jars as classpath="
        )
    return (
        f"not found: {names}. Asked: {places}. Look at the spelling and the version, or name the repository that has "
        "it in repositories="
    )
