"""Python and Java read their limits from one file, and docs/protocol.md shows it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from pyrs.jvm.gateways.jars import packaged_jars
from pyrs.jvm.limits import LIMITS

ROOT = Path(__file__).parents[2]
FILE = ROOT / "pyrs/jvm/limits.properties"
NAME = re.compile(r'(?:LIMITS\[|Limits\.of\()"([a-z_.]+)"')


def used_in(folder: str, kind: str) -> set[str]:
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / folder).rglob(f"*.{kind}"))
    return {name for text in sources for name in NAME.findall(text)}


def test_the_jar_contains_the_limits_of_the_package() -> None:
    with zipfile.ZipFile(packaged_jars().pyrs) as jar:
        assert jar.read("io/pyrs/limits.properties") == FILE.read_bytes()


def test_every_limit_is_read_by_name() -> None:
    python, java = used_in("pyrs/jvm", "py"), used_in("jvm/src/main/java", "java")
    assert python | java == set(LIMITS)
    one_sided = {name for name in LIMITS if name.split(".")[0] in ("handshake", "close", "subscribed", "control")}
    assert python & java >= set(LIMITS) - one_sided - {"value.depth", "value.sets"}


def test_the_protocol_shows_the_file_as_a_table() -> None:
    head, *entries = re.findall(r"# (.*)\n(\S+) = (\d+)", FILE.read_text(encoding="utf-8"))
    rows = [f"| `{name}` | {int(value):,} | {meaning} |" for meaning, name, value in [head, *entries]]
    table = "\n".join(["| limit | value | meaning |", "|---|---|---|", *rows])
    assert table in (ROOT / "docs/protocol.md").read_text(encoding="utf-8"), f"docs/protocol.md needs\n{table}"
