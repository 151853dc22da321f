"""The import graph of the package has no cycle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pyrs"


def _modules() -> dict[str, Path]:
    modules = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def _imports(tree: ast.AST, modules: dict[str, Path], *, annotations: bool) -> set[str]:
    """Return the modules that a module imports, also inside functions.

    Args:
        tree: the module.
        modules: the modules of the package.
        annotations: whether imports under ``if TYPE_CHECKING`` count.
    """
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not annotations:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update((names & modules.keys()) or {node.module})
        found |= _imports(node, modules, annotations=annotations)
    return found & modules.keys()


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one module."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for each in graph[waiting.pop()] - seen:
                seen.add(each)
                waiting.append(each)
        reach[start] = seen
    found: list[set[str]] = []
    for name in graph:
        component = {other for other in reach[name] if name in reach[other]} - {name}
        if component and not any(name in each for each in found):
            found.append(component | {name})
    return found


def _graph(*, annotations: bool) -> dict[str, set[str]]:
    modules = _modules()
    return {
        name: _imports(ast.parse(path.read_text(encoding="utf-8")), modules, annotations=annotations) - {name}
        for name, path in modules.items()
    }


def test_imports_at_run_time_have_no_cycle() -> None:
    assert cycles(_graph(annotations=False)) == []


def test_only_the_families_of_stream_have_a_cycle_of_annotations() -> None:
    """The methods of a family return ``Stream``, which inherits from all families."""
    for cycle in cycles(_graph(annotations=True)):
        assert all(name.startswith("pyrs.stream.") for name in cycle), sorted(cycle)


@pytest.mark.parametrize("graph", [{"a": {"b"}, "b": {"a"}}, {"a": {"b"}, "b": {"c"}, "c": {"a"}}])
def test_a_cycle_is_found(graph: dict[str, set[str]]) -> None:
    assert cycles(graph) == [set(graph)]
