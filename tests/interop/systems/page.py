"""Generate docs/interop.md from the SYSTEM declarations: ``python -m tests.interop.systems --page``."""

from __future__ import annotations

from tests.interop.systems.system import ROOT, System, load, names

PAGE = ROOT / "docs" / "interop.md"
GATEWAYS = {"jpype": "JPype", "spark": "Spark (Py4J)"}
PYSPARK = "4.3.0"
"""The version of the tested drivers; it determines their version of Netty."""

HEAD = f"""# Systems

The bridge is tested with these Reactive Streams systems of the JVM, and each has a recipe whose code is the code under
test. `make test-interop SYSTEM=kafka` runs the tests of one system. The Spark driver is that of PySpark {PYSPARK}.
`python -m tests.interop.systems --page` generates this page.

| status | meaning |
|---|---|
| real | tested against the component itself, in the versions that the table names |
| wire-compatible | tested against another server that speaks the same protocol |
| partial | tested against the component itself, but some of it is not supported or not tested: see [Notes](#notes) |

<!-- needs a JVM, and a network the first time -->
```python
from pyrs import jvm

with jvm.launch(packages=["io.projectreactor:reactor-core:3.7.12"]) as bridge:
    flux = bridge.java_class("reactor.core.publisher.Flux").range(1, 3)
    print(bridge.from_jvm(flux).collect())                      # [1, 2, 3]
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
    notes = [
        f"- {_link(name, system)}, {system.status}: {system.reason}" for name, system in rows.items() if system.reason
    ]
    notes += [f"- **{system.name}** on one gateway: {system.not_on}" for system in rows.values() if system.not_on]
    page = HEAD + "\n".join(first) + "\n" + WAYS + "\n".join(ways) + "\n"
    return page + "\n## Notes\n\n" + "\n".join(notes) + "\n" if notes else page


def _versions(system: System) -> str:
    return "<br>".join(f"`{package}`" for package in system.packages) or "in the JDK"


def _link(name: str, system: System) -> str:
    return f"[{system.name}](recipes/{name}.md)"
