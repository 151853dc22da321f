"""Hash the code that decides verdicts, so that an interrupted ``make conformance`` continues instead of starting again.

Spark's rows have a separate hash, which also covers ``pyrs.spark``.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["SOURCES", "SPARK", "code_of", "current_commit", "sources_hash", "spark_hash"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("_core", "adapters", "aio", "jvm", "operators", "publishers", "schedulers", "sinks", "stream", "tck")
FILES = ("api.py", "errors.py", "strictness.py", "jvm/limits.properties")
FACTORIES = (
    "conformance/adapters.py",
    "conformance/entry.py",
    "conformance/feeding.py",
    "conformance/jvm_implementations.py",
    "conformance/mirrors.py",
    "conformance/operator_inputs.py",
    "conformance/operators.py",
    "conformance/options.py",
    "conformance/sources.py",
    "conformance/subscribers.py",
    "operator_registry/elements.py",
    "operator_registry/row.py",
    "operator_registry/signals.py",
    "operator_registry/streams.py",
    "tck/right.py",
)
# The command line only prints verdicts.
EXCLUDED = ("tck/command.py",)
SPARK = ("pyrs/spark", "tests/conformance/spark_streams.py")
JAVA = ("jvm/src/main", "jvm/src/tck")
SOURCES = (
    *(f"pyrs/{name}" for name in (*PACKAGES, *FILES)),
    *(f"tests/{name}" for name in FACTORIES),
    *JAVA,
)
"""The files and folders whose code decides every verdict."""


def current_commit() -> str:
    """Return the abbreviated commit of the work tree; ``-dirty`` follows it if there are uncommitted changes."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=7", "--dirty"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def sources_hash() -> str:
    """Return the hash for every row except Spark's.

    Comment lines, docstrings and blank lines of Python files are left out, because they change no verdict.
    """
    return _hash_of(_sources())


def spark_hash() -> str:
    """Return the hash for Spark's rows, which depend on all other sources too."""
    folder, factory = (ROOT / path for path in SPARK)
    return _hash_of((*_sources(), *folder.rglob("*.py"), factory))


def _hash_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        text = path.read_text(encoding="utf-8")
        digest.update((code_of(text) if path.suffix == ".py" else text).encode())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        found = path.rglob("*.java" if source in JAVA else "*.py") if path.is_dir() else [path]
        yield from (file for file in found if not file.as_posix().endswith(EXCLUDED))


@functools.lru_cache(maxsize=2000)  # the tests hash the same files many times
def code_of(text: str) -> str:
    """Return Python code without comment lines, docstrings and blank lines."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
