"""docs/interop.md and docs/recipes: every tested system has a page, and every page is tested."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.systems import page
from tests.interop.systems.recipes import RECIPES, code_of, load_recipe
from tests.interop.systems.system import load, names

ROOT = Path(__file__).resolve().parents[2]


def test_every_recipe_has_tests_and_every_tested_system_a_recipe() -> None:
    assert sorted(file.stem for file in RECIPES.glob("*.md")) == names()


def test_interop_page_is_generated_from_the_tests() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "run `python -m tests.interop.systems --page`"


def test_site_navigation_lists_every_recipe() -> None:
    shown = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
    assert [name for name in names() if f": recipes/{name}.md" not in shown] == []


def test_recipes_use_the_tested_versions() -> None:
    for name in names():
        recipe, system = load_recipe(name), load(name)
        assert getattr(recipe, "PACKAGES", []) == list(system.packages), name
        assert getattr(recipe, "OPTIONS", []) == list(system.jvm_options), name


@pytest.mark.timeout(600)  # without a cache mypy checks all of pyrs first
def test_recipes_pass_mypy_strict(tmp_path: Path) -> None:
    """Users copy them into projects that run mypy --strict."""
    for name in names():
        (tmp_path / f"recipe_{name}.py").write_text(code_of(RECIPES / f"{name}.md"), encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={ROOT / '.mypy_cache'}", *files]
    checked = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_tracebacks_show_the_line_numbers_of_the_recipe() -> None:
    for name in names():
        lines = (RECIPES / f"{name}.md").read_text(encoding="utf-8").splitlines()
        for value in vars(load_recipe(name)).values():
            code = getattr(value, "__code__", None)
            if code is not None and code.co_filename == str(RECIPES / f"{name}.md"):
                assert f"def {value.__name__}" in "\n".join(lines[code.co_firstlineno - 1 : code.co_firstlineno + 4])
