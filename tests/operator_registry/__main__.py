"""Write the table of all operators into docs/operators/index.md."""

from __future__ import annotations

from tests.operator_registry import FAMILIES
from tests.operator_registry.page import PAGE, updated

if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), FAMILIES), encoding="utf-8")
    print(f"wrote {PAGE}")
