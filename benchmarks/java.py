"""The Java classes of the benchmarks, compiled into a temporary jar on demand."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

_SOURCES = Path(__file__).parent / "java"
_BUNDLED = Path(__file__).parent.parent / "pyrs" / "jvm" / "jars"


class MissingTool(Exception):
    """A tool that the benchmarks need is missing."""


class BenchmarkJar:
    """The compiled classes of ``benchmarks/java`` and their class path."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="pyrs-benchmarks-")
        self._jar = Path(self._directory.name) / "pyrs-benchmarks.jar"
        self._reactive_streams = _reactive_streams()
        classes = Path(self._directory.name) / "classes"
        sources = sorted(str(path) for path in _SOURCES.glob("*.java"))
        command = [
            _javac(),
            "--release",
            "11",
            "-Xlint:all",
            "-cp",
            self._reactive_streams,
            "-d",
            str(classes),
            *sources,
        ]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(self._jar, "w") as jar:
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes).as_posix())

    @property
    def class_path(self) -> list[str]:
        """Return the jar and reactive-streams, as in a user's driver."""
        return [str(self._jar), self._reactive_streams]

    def close(self) -> None:
        self._directory.cleanup()


def _javac() -> str:
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=str(Path(home) / "bin")) if home else None
    compiler = compiler or shutil.which("javac")
    if compiler is None:
        raise MissingTool("the benchmarks compile Java classes: install a JDK (javac was not found)")
    return compiler


def _reactive_streams() -> str:
    found = sorted(_BUNDLED.glob("reactive-streams-*.jar"))
    if not found:
        raise MissingTool(f"no reactive-streams jar in {_BUNDLED}: run `make setup` first")
    return str(found[0])
