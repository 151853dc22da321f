"""A hook of MkDocs that adds a page for each public method of Stream and each source. It runs after ``api_pages``.

A page shows the docstring of its function; ``marbles`` draws the marble diagram of the docstring. A name that is both a
method of Stream and a function, such as ``merge``, has one page. The tables in docs/operators link each name to its
page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "operators"
SOURCES = "pyrs/publishers"
METHODS = "pyrs/stream"
TABLE = re.compile(r"^\|(?: purpose \|)? (?:operator|source|terminal operation) \|")
NAME = re.compile(r"(?<![\[`])`(?:pyrs\.)?(\w+)(?:\([^`]*\))?`")
OPTIONS = """\
    options:
      heading_level: 2
      skip_local_inventory: true
      show_root_toc_entry: false
"""


@cache
def operators() -> dict[str, list[str]]:
    """Return the paths of the methods and sources, by their names."""
    found: dict[str, list[str]] = {}
    for path in sorted({*methods(), *sources()}, key=lambda path: (path.rpartition(".")[2], len(path))):
        found.setdefault(path.rpartition(".")[2], []).append(path)
    return found


def methods() -> Iterator[str]:
    """Yield the paths of the public methods of Stream, which its base classes define."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / METHODS).glob("*.py")]
    classes = {each.name: each for tree in trees for each in tree.body if isinstance(each, ast.ClassDef)}
    stream = classes["Stream"]
    families = [name.id for base in stream.bases for name in ast.walk(base) if isinstance(name, ast.Name)]
    for each in (stream, *(classes[name] for name in families if name in classes)):
        yield from (f"pyrs.Stream.{name}" for name in functions(each.body))


def sources() -> Iterator[str]:
    """Yield the paths of the public functions that create a Stream."""
    exported = ast.parse((ROOT / "pyrs" / "__init__.py").read_text(encoding="utf-8"))
    names = {each.value for each in ast.walk(exported) if isinstance(each, ast.Constant)} | {
        alias.name for each in ast.walk(exported) if isinstance(each, ast.ImportFrom) for alias in each.names
    }
    for file in (ROOT / SOURCES).glob("*.py"):
        for name in functions(ast.parse(file.read_text(encoding="utf-8")).body):
            if name in names:
                yield f"pyrs.{name}"


def functions(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of the public functions, except properties."""
    for each in body:
        if (
            isinstance(each, ast.FunctionDef)
            and each.name[0] != "_"
            and "property" not in map(ast.unparse, each.decorator_list)
        ):
            yield each.name


def text_of(name: str) -> str:
    """Return the Markdown of a page."""
    directives = [f"::: {path}\n{OPTIONS}" for path in operators()[name]]
    return "\n".join([f"# {name}\n", *directives, "[Finding an operator](index.md)\n"])


def linked(markdown: str) -> str:
    """Link the names in the tables of operators and sources to their pages."""

    def link(name: re.Match[str]) -> str:
        return f"[{name[0]}]({name[1]}.md)" if name[1] in operators() else name[0]

    lines = []
    in_table = False
    for line in markdown.splitlines():
        in_table = line.startswith("|") and (in_table or bool(TABLE.match(line)))
        lines.append(NAME.sub(link, line) if in_table else line)
    return "\n".join(lines) + "\n"


def on_config(config: Any) -> Any:
    """Add the pages to the navigation, after the families of operators."""
    for section in config.nav:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("Operators"), list):
                    entry["Operators"].append({"A to Z": [{name: f"{FOLDER}/{name}.md"} for name in operators()]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for name in operators():
        files.append(File.generated(config, f"{FOLDER}/{name}.md", content=text_of(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link the names in the tables of a family."""
    uri = page.file.src_uri
    return linked(markdown) if uri.startswith(f"{FOLDER}/") and Path(uri).stem not in operators() else markdown
