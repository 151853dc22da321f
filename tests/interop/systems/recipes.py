"""Load the code of a recipe page as a module, so that the tests call the code on the page."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

RECIPES = Path(__file__).resolve().parents[3] / "docs" / "recipes"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def code_of(page: Path) -> str:
    """Return the ``python`` blocks of a page; each line keeps its line number."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def load_recipe(name: str) -> ModuleType:
    """Run the ``python`` blocks of ``docs/recipes/<name>.md`` as one module with the page's line numbers."""
    page = RECIPES / f"{name}.md"
    module = ModuleType(f"recipe_{name}")
    module.__file__ = str(page)
    exec(compile(code_of(page), str(page), "exec", dont_inherit=True), module.__dict__)
    return module
