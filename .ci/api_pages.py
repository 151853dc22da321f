"""Generate the API pages of the site from ``docs/api.md``: a hook of MkDocs.

``docs/api.md`` lists the public names as directives of mkdocstrings. On the site, each class has a page of its own, the
functions of a section share one, and so do the exceptions of a module. The index page has tables of links, with the
first line of each docstring, in place of the directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INDEX = "api.md"
DIRECTIVE = re.compile(r"^::: (?P<name>\S+)\n(?P<options>(?:    .*\n)*)", re.MULTILINE)
DIRECTIVES = re.compile(r"(?:^::: \S+\n(?:    .*\n)*\n?)+", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass
class Page:
    """A generated page: its title and its directives."""

    title: str
    directives: list[str] = field(default_factory=list)


@dataclass
class Row:
    """A name in a table of the index."""

    name: str
    path: str
    summary: str


@cache
def package() -> Any:
    """Return the objects of the package by path, read by Griffe without importing them."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[ROOT])
    loader.load("pyrs")
    loader.resolve_aliases(implicit=False, external=False)
    return loader.modules_collection


def listed(name: str, options: str) -> list[str] | None:
    """Return the members of a module that a directive shows; None if it shows the docstring only."""
    module = package()[name]
    members = re.search(r"members: (.+)", options)
    if members is not None:
        return None if members[1] == "false" else re.findall(r"\w+", members[1])
    exported = module.exports
    return [
        each
        for each, member in module.members.items()
        if not each.startswith("_") and not member.is_alias and not member.is_module
        if exported is None or each in exported
    ]


def directive(name: str, level: int, options: str = "", **more: str) -> str:
    """Return a directive with a heading level and further options."""
    kept = [line for line in options.splitlines() if line.strip() != "options:" and "members:" not in line]
    kept += [f"      {option}: {value}" for option, value in {"heading_level": str(level), **more}.items()]
    return "\n".join([f"::: {name}", "    options:", *kept, ""])


def row(path: str) -> Row:
    """Return the row of a name for a table of the index."""
    docstring = package()[path].docstring
    summary = docstring.value.splitlines()[0] if docstring else ""
    return Row(path.rpartition(".")[2], path, summary.replace("|", "\\|"))


def slug(title: str) -> str:
    """Return the name of a page's file."""
    return re.sub(r"\W+", "-", title).strip("-").lower()


class Reference:
    """The pages and the index of the reference."""

    def __init__(self, markdown: str) -> None:
        self.pages: dict[str, Page] = {}
        self.index = DIRECTIVES.sub(lambda block: self._table(block, markdown), markdown)

    def _table(self, block: re.Match[str], markdown: str) -> str:
        *_, heading = HEADING.findall(markdown, 0, block.start())
        shown: list[str] = []
        rows: list[Row] = []
        for found in DIRECTIVE.finditer(block[0]):
            if package()[found["name"]].is_module and listed(found["name"], found["options"]) is None:
                shown.append(found[0])
            else:
                rows += self._rows(heading, found["name"], found["options"])
        table = ["| name | purpose |", "|---|---|", *(f"| [`{r.name}`][{r.path}] | {r.summary} |" for r in rows)]
        return "\n".join([*shown, *(table if rows else []), "", ""])

    def _rows(self, heading: str, name: str, options: str) -> Iterator[Row]:
        target = package()[name]
        if not target.is_module:
            self._add(heading, name, options)
            yield row(name)
            return
        members = listed(name, options) or []
        together = [each for each in members if name.endswith(".errors") or not target[each].is_class]
        if together:
            more = {"show_root_heading": "false", "members": f"[{', '.join(together)}]"}
            title = "Exceptions" if name.endswith(".errors") else heading
            self._page(title).directives.append(directive(name, 2, **more))
        for each in members:
            if each not in together:
                self._add(heading, f"{name}.{each}", "")
            yield row(f"{name}.{each}")

    def _add(self, heading: str, name: str, options: str) -> None:
        members = re.search(r"(?<![_\w])members: (.+)", options)
        # The operators of Stream are methods of private base classes, one for each family.
        inherited = (
            {"inherited_members": "true", "members_order": "alphabetical", "show_bases": "false"}
            if "inherited_members: true" in options
            else {}
        )
        more = {**inherited, **({"members": members[1]} if members else {})}
        if package()[name].is_class:
            self._page(name.rpartition(".")[2], alone=True).directives.append(directive(name, 1, **more))
        else:
            self._page(heading).directives.append(directive(name, 2, **more))

    def _page(self, title: str, *, alone: bool = False) -> Page:
        uri = f"api/{title if alone else slug(title)}.md"
        if alone and uri in self.pages:
            raise ValueError(f"two classes are called {title}")
        return self.pages.setdefault(uri, Page(title))

    def text_of(self, uri: str) -> str:
        """Return the Markdown of a page. A class's own heading is the title of its page."""
        page = self.pages[uri]
        title = "" if page.directives[0].find("heading_level: 1") > 0 else f"# {page.title}\n\n"
        return title + "\n".join(page.directives)


@cache
def reference() -> Reference:
    """Return the reference of this checkout."""
    return Reference((ROOT / "docs" / INDEX).read_text(encoding="utf-8"))


def on_config(config: Any) -> Any:
    """Add the pages to the navigation, after the index."""
    for section in config.nav:
        for entries in section.values():
            if isinstance(entries, list) and {"API reference": INDEX} in entries:
                pages = [{page.title: uri} for uri, page in sorted(reference().pages.items(), key=_by_title)]
                entries[entries.index({"API reference": INDEX})] = {"API reference": [{"All names": INDEX}, *pages]}
    return config


def _by_title(item: tuple[str, Page]) -> str:
    return item[1].title.lower()


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for uri in reference().pages:
        files.append(File.generated(config, uri, content=reference().text_of(uri)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the directives of the index by tables."""
    return reference().index if page.file.src_uri == INDEX else markdown
