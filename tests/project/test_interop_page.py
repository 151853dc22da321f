"""docs/interop.md and docs/recipes: every tested system has a page, and every page is tested."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.systems import page
from tests.interop.systems.__main__ import REPRESENTATIVE, chosen
from tests.interop.systems.recipes import BLOCK, RECIPES, code_of, load_program, load_recipe, output_of
from tests.interop.systems.system import load, names
from tests.project.recipe_files import FOLDER, program_of

ROOT = Path(__file__).resolve().parents[2]
# `make test` runs these two programs in a process each, and campaigns run every program. test_wheel.py runs others
# outside of the checkout, and tests/interop/systems calls every program in a running JVM.
PASTED = ("pekko", "vertx")


def test_every_recipe_has_tests_and_every_tested_system_a_recipe() -> None:
    assert sorted(file.stem for file in RECIPES.glob("*.md")) == names()


def test_interop_page_is_generated_from_the_tests() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "run `python -m tests.interop.systems --page`"


def test_representative_systems_run_unless_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYRS_CAMPAIGN", raising=False)
    for given, wanted in ([], REPRESENTATIVE), (["kafka"], {"kafka"}):
        options = argparse.Namespace(names=given, representative=True, no_server=False, gateway=None)
        assert {name for name, _ in chosen(options)} == wanted


def test_site_navigation_lists_every_recipe() -> None:
    shown = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
    assert [name for name in names() if f": recipes/{name}.md" not in shown] == []


def test_every_block_is_importable_without_the_other_blocks() -> None:
    """Annotations and default values are evaluated without the imports of the other blocks."""
    for name in names():
        for block in BLOCK.finditer((RECIPES / f"{name}.md").read_text(encoding="utf-8")):
            if not block["program"]:
                exec(compile(block["code"], f"a block of {name}", "exec", dont_inherit=True), {"__name__": name})


def test_every_recipe_ends_with_a_program() -> None:
    for name in names():
        *_, last = BLOCK.finditer((RECIPES / f"{name}.md").read_text(encoding="utf-8"))
        assert last["program"], name
        compile(code_of(RECIPES / f"{name}.md", program=True), name, "exec")
        if output_of(RECIPES / f"{name}.md") is None:
            assert "needs a server" in last["program"], name
            assert load(name).server_process or name == "mongodb", name  # the tests of MongoDB have a server in the JVM


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in PASTED else pytest.mark.campaign)
        for name in names()
        if output_of(RECIPES / f"{name}.md") is not None
    ],
)
def test_program_of_a_recipe_prints_the_output_of_its_page(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == output_of(RECIPES / f"{name}.md")


@pytest.mark.parametrize("name", [name for name in names() if output_of(RECIPES / f"{name}.md") is None])
def test_program_with_a_server_calls_a_function_that_takes_its_arguments(name: str) -> None:
    """The tests in tests/interop/systems call the same function of the same file with the address of their server."""
    program, call = load_program(name)
    assert isinstance(call.func, ast.Name)
    given = [ast.literal_eval(argument) for argument in call.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    inspect.signature(getattr(program, call.func.id)).bind(*given, **named)
    calls = (FOLDER.parents[1] / "tests" / "interop" / "systems" / f"test_{name}.py").read_text(encoding="utf-8")
    assert f"program.{call.func.id}(" in calls


def test_every_recipe_is_a_program_with_the_code_of_its_page() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == names()
    for name in names():
        written = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        assert written == program_of(name), "run `python -m tests.project.recipe_files`"


def test_examples_page_lists_every_program_and_its_packages() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    programs = list((ROOT / "examples").rglob("*.py"))
    assert [file.name for file in programs if f"({file.relative_to(ROOT / 'examples')})" not in page] == []
    for name in names():
        (row,) = re.findall(rf"^\| \[.*\]\(recipes/{name}\.py\) .*$", page, re.MULTILINE)
        assert ("server" in row) == (output_of(RECIPES / f"{name}.md") is None), row


def test_recipes_use_the_tested_versions() -> None:
    for name in names():
        recipe, system = load_recipe(name), load(name)
        assert getattr(recipe, "PACKAGES", []) == list(system.packages), name
        assert getattr(recipe, "OPTIONS", []) == list(system.jvm_options), name


@pytest.mark.timeout(600)  # without a cache mypy checks all of pyrs first
def test_recipes_pass_mypy_strict(tmp_path: Path) -> None:
    """Users copy recipes into projects that run mypy --strict."""
    for name in names():
        (tmp_path / f"recipe_{name}.py").write_text(code_of(RECIPES / f"{name}.md"), encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={ROOT / '.mypy_cache'}", *files]
    checked = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_tracebacks_show_the_line_numbers_of_the_recipe() -> None:
    for name in names():
        lines = (RECIPES / f"{name}.md").read_text(encoding="utf-8").splitlines()
        functions = [
            inspect.unwrap(each)
            for each in vars(load_recipe(name)).values()
            if inspect.isfunction(each) and each.__module__ == f"recipe_{name}"
        ]
        assert functions, name
        for function in functions:
            code = function.__code__
            assert code.co_filename == str(RECIPES / f"{name}.md")
            assert f"def {function.__name__}" in "\n".join(lines[code.co_firstlineno - 1 : code.co_firstlineno + 4])
