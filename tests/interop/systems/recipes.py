"""Load the code of a recipe page as a module, so that the tests call the code on the page.

The last block of a page is its program: it follows ``<!-- program -->``, calls functions of the page and prints the
``text`` block after it. ``<!-- program, needs a server -->`` marks a program that calls one function with the address
of a server. ``load_program`` loads its file in examples/recipes, and the tests call the function with their address.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

RECIPES = Path(__file__).resolve().parents[3] / "docs" / "recipes"
PROGRAMS = RECIPES.parents[1] / "examples" / "recipes"
BLOCK = re.compile(r"^(?P<program><!-- program.*-->\n)?```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"^<!-- program -->\n```python\n.*?^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def code_of(page: Path, *, program: bool = False) -> str:
    """Return the ``python`` blocks of a page, with the last one if ``program`` is true.

    Each line keeps its line number.
    """
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        if program or not block["program"]:
            first = text.count("\n", 0, block.start("code"))
            code = block["code"].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


def output_of(page: Path) -> str | None:
    """Return the output of a page's program, or None if the program needs a server."""
    found = PROGRAM.search(page.read_text(encoding="utf-8"))
    return found and found[1]


def load_recipe(name: str) -> ModuleType:
    """Run the ``python`` blocks of ``docs/recipes/<name>.md`` as one module with the page's line numbers."""
    page = RECIPES / f"{name}.md"
    module = ModuleType(f"recipe_{name}")
    module.__file__ = str(page)
    exec(compile(code_of(page), str(page), "exec", dont_inherit=True), module.__dict__)
    return module


def load_program(name: str) -> tuple[ModuleType, ast.Call]:
    """Run a program without its last statement; return the module and that statement's call.

    The statement is the call or prints its result. The file is ``examples/recipes/<name>.py``.
    """
    file = PROGRAMS / f"{name}.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), f"{file} does not end with a call"
    call = last.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print":
        [call] = call.args
    assert isinstance(call, ast.Call), f"{file} does not end with a call"
    module = ModuleType(f"program_{name}")
    module.__file__ = str(file)
    exec(compile(tree, str(file), "exec", dont_inherit=True), module.__dict__)
    return module, call
