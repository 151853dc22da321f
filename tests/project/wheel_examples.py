"""The examples that run from the installed wheel, outside of the checkout."""

from __future__ import annotations

from collections.abc import Iterator

from tests.project.examples import Example, comments_of, jvm_examples, plain_examples
from tests.project.test_readme import marked

PAGES = ("README.md", "docs/quickstart.md")
RECIPES = ("helidon", "mutiny", "reactor", "rxjava", "h2")
PASTE = """
import json
from contextlib import redirect_stdout
from examples import Recorder, differences

wrong = []
for page, line, code, output in json.load(open("examples.json")):
    recorder = Recorder(f"{page}:{line}")
    with redirect_stdout(recorder):
        exec(compile(code, recorder.name, "exec"), {"__name__": "__main__"})
    wrong += [f"{recorder.name}: {difference}" for difference in differences(code, recorder.printed)]
print(json.dumps(wrong))
"""
"""A program that runs the examples in ``examples.json`` in one process; its last line lists the differences."""


def pasted_examples() -> list[Example]:
    """Return the blocks of the pages in their order, except those of a Spark driver."""
    plain = [example for example in plain_examples() if example.page in PAGES]
    return plain + [each for page in PAGES for each in jvm_examples(page) if "SparkSession" not in each.code]


def driver_examples() -> Iterator[tuple[str, list[str]]]:
    """Yield the blocks of a Spark driver, each with the lines that its page shows."""
    yield marked("example"), marked("output").splitlines()
    for page in PAGES:
        for example in jvm_examples(page):
            if "SparkSession" in example.code:
                yield example.code, _shown_by(example.code)


def _shown_by(code: str) -> list[str]:
    """Return the comments after the print statements of an example."""
    lines = code.splitlines()
    return [text for line, text in sorted(comments_of(code).items()) if lines[line - 1].strip().startswith("print(")]
