"""Hashes of the code that the table speaks of: what was measured with other code is stale.

The rows of Spark have a hash of their own: what only they depend on makes no other row stale.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["sources_hash", "spark_hash"]

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("_core", "adapters", "aio", "jvm", "operators", "publishers", "schedulers", "sinks", "stream", "tck")
FILES = ("api.py", "errors.py", "strictness.py")
FACTORIES = (
    "conformance/adapters.py",
    "conformance/entry.py",
    "conformance/feeding.py",
    "conformance/jvm_parties.py",
    "conformance/mirrors.py",
    "conformance/operators.py",
    "conformance/sources.py",
    "conformance/subscribers.py",
    "tck/right.py",
)
# The command line prints verdicts and makes none.
FRONT = ("tck/command.py",)
SPARK = ("pyrs/spark", "tests/conformance/spark_streams.py")
JAVA = ("jvm/src/main", "jvm/src/tck")


def sources_hash() -> str:
    """Return the hash for every row but Spark's.

    Comments, docstrings and blank lines do not count: they change no verdict.
    """
    return _hash_of(_sources())


def spark_hash() -> str:
    """Return the hash for the rows of Spark, which depend on everything else too."""
    folder, factory = (ROOT / path for path in SPARK)
    return _hash_of((*_sources(), *folder.rglob("*.py"), factory))


def _hash_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        text = path.read_text(encoding="utf-8")
        digest.update((_code(text) if path.suffix == ".py" else text).encode())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        files = (ROOT / "pyrs" / room).rglob("*.py")
        yield from (file for file in files if not file.as_posix().endswith(FRONT))
    yield from (ROOT / "pyrs" / file for file in FILES)
    yield from (ROOT / "tests" / file for file in FACTORIES)
    for folder in JAVA:
        yield from (ROOT / folder).rglob("*.java")


def _code(text: str) -> str:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
