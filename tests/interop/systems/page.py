"""Generate docs/interop.md from the SYSTEM declarations: ``python -m tests.interop.systems --page``."""

from __future__ import annotations

from tests.interop.systems.system import ROOT, System, load, names

PAGE = ROOT / "docs" / "interop.md"
GATEWAYS = {"jpype": "JPype", "spark": "Spark (Py4J)"}
PYSPARK = "4.3.0"
"""The version of the tested drivers; it determines their version of Netty."""

HEAD = f"""# Systems

The bridge is tested with these Reactive Streams systems of the JVM. Each row is a test against the real component, or
against the server in the column "against", and its recipe is the code under test. `make test-interop SYSTEM=kafka` runs
one of them. The driver is that of PySpark {PYSPARK}. `python -m tests.interop.systems --page` generates this page.

<!-- needs a JVM, and a network the first time -->
```python
from pyrs import jvm

with jvm.launch(packages=["io.projectreactor:reactor-core:3.7.12"]) as bridge:
    flux = bridge.java_class("reactor.core.publisher.Flux").range(1, 3)
    print(bridge.from_jvm(flux).collect())
```

"""
WAYS = """
## Semantics

| system | JVM to Python | Python to JVM | order | delivery | effect of a cancel in Python |
|---|---|---|---|---|---|
"""


def text() -> str:
    """Return the text of the page."""
    rows = {name: load(name) for name in names()}
    first = ["| system | versions tested | against | gateway | status |", "|---|---|---|---|---|"]
    first += [
        f"| {_link(name, system)} | {_versions(system)} | {system.component} "
        f"| {', '.join(GATEWAYS[gateway] for gateway in system.gateways)} | {system.status} |"
        for name, system in rows.items()
    ]
    ways = [
        f"| {_link(name, system)} | {system.source or 'not available'} | {system.sink or 'not available'} "
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
