"""docs/interop.md, made of what the tests declare: ``python -m tests.interop.systems --page``."""

from __future__ import annotations

from tests.interop.systems.system import ROOT, System, load, names

PAGE = ROOT / "docs" / "interop.md"
GATEWAYS = {"jpype": "JPype", "spark": "Spark (Py4J)"}

HEAD = """# Systems

What speaks Reactive Streams on the JVM, and how it meets Python. Each row is a test against the real component
(`make test-interop`), and its page is the code under test. This page is made of what the tests declare
(`python -m tests.interop.systems --page`).

"""
WAYS = """
## What crosses

| system | JVM to Python | Python to JVM | order | delivery | a cancel in Python |
|---|---|---|---|---|---|
"""


def text() -> str:
    """The page as it should be."""
    rows = {name: load(name) for name in names()}
    first = ["| system | versions tested | against | gateway | |", "|---|---|---|---|---|"]
    first += [
        f"| {_link(name, system)} | {'<br>'.join(f'`{package}`' for package in system.packages)} | {system.component} "
        f"| {', '.join(GATEWAYS[gateway] for gateway in system.gateways)} | {system.status} |"
        for name, system in rows.items()
    ]
    ways = [
        f"| {_link(name, system)} | {system.source or 'no such way'} | {system.sink or 'no such way'} "
        f"| {system.ordering} | {system.delivery} | {system.cancel} |"
        for name, system in rows.items()
    ]
    notes = [f"- **{system.name}**, {system.status}: {system.reason}" for system in rows.values() if system.reason]
    notes += [f"- **{system.name}** on one gateway: {system.not_on}" for system in rows.values() if system.not_on]
    return HEAD + "\n".join(first) + "\n" + WAYS + "\n".join(ways) + "\n\n## Notes\n\n" + "\n".join(notes) + "\n"


def _link(name: str, system: System) -> str:
    return f"[{system.name}](recipes/{name}.md)"
