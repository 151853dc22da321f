"""Write the recipes as programs into examples/recipes: ``python -m tests.project.recipe_files``.

A program has the blocks of its page in docs/recipes, with the imports of all blocks at its top. A constant that several
blocks define is defined once.
"""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.interop.systems.recipes import BLOCK, RECIPES, output_of
from tests.interop.systems.system import ROOT, names

FOLDER = ROOT / "examples" / "recipes"


def program_of(name: str) -> str:
    """Return the program of a page."""
    page = RECIPES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    imports: dict[str, None] = {}
    body: dict[str, None] = {}
    for block in BLOCK.finditer(text):
        for node, source in statements(block["code"]):
            (imports if isinstance(node, ast.Import | ast.ImportFrom) else body)[source] = None
    needed = "" if output_of(page) else "\n\nIt needs a server, which the page describes."
    run = f"Run it: python examples/recipes/{name}.py{needed}"
    head = f'"""{title}: the recipe of docs/recipes/{name}.md.\n\n{run}\n"""'
    future = "from __future__ import annotations"
    imported = [each for each in imports if each != future]
    return formatted("\n\n".join([head, future, "\n".join(imported), *body]) + "\n", name)


def statements(code: str) -> list[tuple[ast.stmt, str]]:
    """Return the top-level statements of a block, each with its source and the comments above it."""
    lines = code.splitlines()
    found = []
    last = 0
    for node in ast.parse(code).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        comments = [line for line in lines[last:first] if line.strip()]
        last = node.end_lineno or node.lineno
        found.append((node, "\n".join([*comments, *lines[first:last]])))
    return found


def formatted(code: str, name: str) -> str:
    """Sort the imports of the code and format it."""
    at = ["--stdin-filename", str(FOLDER / f"{name}.py"), "-"]
    for command in (["check", "--quiet", "--fix-only", "--select", "I,F811"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, *at]
        code = subprocess.run(ruff, input=code, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return code


def main() -> None:
    """Write every program."""
    FOLDER.mkdir(exist_ok=True)
    for name in names():
        (FOLDER / f"{name}.py").write_text(program_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
