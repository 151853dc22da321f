"""Every public name has a row or a reason, and the declarations of the rows are valid."""

from __future__ import annotations

import ast
from pathlib import Path

import pyrs
from pyrs import sinks, testing
from tests.conformance.entry import Entry
from tests.conformance.jvm_implementations import JVM_IMPLEMENTATIONS
from tests.conformance.mirrors import MIRRORS
from tests.conformance.registry import COVERED, EVERY_ENTRY, EXEMPT, FAMILIES, OURS
from tests.conformance.spark_streams import SPARK
from tests.conformance.third_party import THIRD_PARTY


def public_names() -> set[str]:
    methods = {f"Stream.{name}" for name in dir(pyrs.Stream) if not name.startswith("_")}
    modules = {f"{module.__name__[5:]}.{name}" for module in (sinks, testing) for name in module.__all__}
    return {*pyrs.__all__, "range", "zip"} | modules | methods | names_that_need_a_library()


def names_that_need_a_library() -> set[str]:
    package = Path(pyrs.__file__).parent
    adapters = {f"adapters.{file.stem}.{name}" for file in package.glob("adapters/[!_]*.py") for name in listed(file)}
    return adapters | {f"spark.{name}" for name in listed(package / "spark" / "__init__.py")}


def listed(file: Path) -> list[str]:
    """Return the names in a module's ``__all__`` without importing it."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{file} has no __all__")


def test_every_public_name_has_a_row_or_a_reason() -> None:
    assert public_names() - COVERED - set(EXEMPT) == set()
    assert all(reason.strip() for reason in EXEMPT.values())


def test_exempt_names_exist_and_have_no_row() -> None:
    assert set(EXEMPT) & COVERED == set()
    assert set(EXEMPT) - public_names() == set()


def test_names_with_a_row_exist() -> None:
    assert COVERED - public_names() == set()


def test_row_names_are_unique() -> None:
    assert len(EVERY_ENTRY) == sum(map(len, (OURS, SPARK, JVM_IMPLEMENTATIONS, MIRRORS, THIRD_PARTY)))


def test_explanations_name_existing_tests() -> None:
    def unknown(entry: Entry) -> list[str]:
        names = entry.verification.test_names()
        explained = [*entry.skips, *entry.faults]
        return [each for each in explained if not any(name.startswith(each) for name in names)]

    assert {entry.name: unknown(entry) for entry in EVERY_ENTRY.values() if unknown(entry)} == {}


def test_rows_of_pyrs_declare_no_faults() -> None:
    assert [entry.name for entry in OURS if entry.faults] == []


def test_each_family_has_a_row_with_all_routes() -> None:
    verified = {title for title, entries in FAMILIES.items() if any(entry.all_routes for entry in entries)}
    assert set(FAMILIES) - verified == {"Adapters"}, "adapters use the mechanisms of the other families"
