"""docs/interop.md, made of what the tests declare: ``python -m tests.interop.systems --page``."""

from __future__ import annotations

from tests.interop.systems.system import ROOT, System, load, names

PAGE = ROOT / "docs" / "interop.md"
GATEWAYS = {"jpype": "JPype", "spark": "Spark (Py4J)"}
PYSPARK = "4.3.0"
"""What the rows were run with; it decides which netty a driver has."""

HEAD = f"""# Systems

What speaks Reactive Streams on the JVM, and how it meets Python. Each row is a test against the real component
(`make test-interop`), or against a server that speaks its protocol where the column "against" says so, and its page is
the code under test. The driver is that of PySpark {PYSPARK}. This page is made of what the tests declare
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
    first = ["| system | versions tested | against | gateway | status |", "|---|---|---|---|---|"]
    first += [
        f"| {_link(name, system)} | {_versions(system)} | {system.component} "
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
    page = HEAD + "\n".join(first) + "\n" + WAYS + "\n".join(ways) + "\n"
    return page + "\n## Notes\n\n" + "\n".join(notes) + "\n" if notes else page


def _versions(system: System) -> str:
    return "<br>".join(f"`{package}`" for package in system.packages) or "in the JDK"


def _link(name: str, system: System) -> str:
    return f"[{system.name}](recipes/{name}.md)"
