"""Links, code blocks, make targets and lists of names in the documentation."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"[`*_]", "", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_resolves(page: Path) -> None:
    broken = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples_compile(page: Path) -> None:
    for number, block in enumerate(PYTHON_BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        try:
            compile(block, f"{name_of(page)}, block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            pytest.fail(f"{name_of(page)}, block {number}: {error}")


def test_pages_link_only_inside_docs() -> None:
    """The site contains docs/ only, and `make docs` is strict."""
    wrong = []
    for page in (ROOT / "docs").rglob("*.md"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                file = (page.parent / target.partition("#")[0]).resolve()
                wrong += [] if file.is_relative_to(ROOT / "docs") else [f"{name_of(page)}: {target}"]
    assert wrong == []


def test_named_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named |= set(re.findall(r"`make ([a-z-]+)`", text)) | set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    assert named, "no page names a make target"
    assert named - targets == set()


def test_the_operator_in_contributing_equals_that_of_the_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = PYTHON_BLOCK.findall(text[text.index("## Adding an operator") :])
    places = [
        "pyrs/operators/transforming.py",
        "pyrs/stream/transforming.py",
        "tests/core/operators/test_transforming.py",
        "tests/operator_registry/elements.py",
    ]
    for block, place in zip(blocks, places, strict=True):
        source = re.sub(r"^ +", "", (ROOT / place).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert re.sub(r"^ +", "", block, flags=re.MULTILINE) in source, place
    assert sum(len(block.splitlines()) for block in blocks) < 50


@pytest.mark.parametrize("package", ["", "_core", "operators", "publishers", "aio", "adapters"])
def test_a_package_docstring_lists_all_its_modules(package: str) -> None:
    folder = ROOT / "pyrs" / package
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}
    commands = {"__init__", "__main__", "_demo", "_doctor", "_top"}
    missing = {name for name in modules - commands if not re.search(rf"\b{name}\b", text)}
    named = set(re.findall(r"^ *(?:pyrs\.)?(\w+)  +\w", text, re.MULTILINE))
    assert missing == set()
    assert named - modules == set()


@pytest.mark.parametrize(
    "package", ["pyrs", "pyrs.sinks", "pyrs.schedulers", "pyrs.testing", "pyrs.aio", "pyrs.jvm", "pyrs.errors"]
)
def test_api_page_shows_every_public_name(package: str) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set()
    for identifier, options in re.findall(r"^::: (\S+)\n((?:    .*\n)*)", page, re.MULTILINE):
        members = re.search(r"members: (.*)", options)
        if members is None:
            shown |= {identifier, f"{identifier}.*"}
        else:
            shown |= {identifier} | {f"{identifier}.{name}" for name in re.findall(r"\w+", members[1])}
    imported = importlib.import_module(package)
    for name in imported.__all__:
        module = getattr(getattr(imported, name), "__module__", package)
        assert shown & {f"{package}.{name}", f"{package}.*", f"{module}.{name}", f"{module}.*"}, name
