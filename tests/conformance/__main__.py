"""``python -m tests.conformance``: judges everything and writes docs/conformance.md; what ``make conformance`` runs."""

from __future__ import annotations

import argparse
import sys
import time

from tests.conformance.page import PAGE, render
from tests.conformance.registry import EVERY_ENTRY, entries_of
from tests.conformance.results import Results
from tests.conformance.routes import ROUTES
from tests.conformance.running import Result, judge_all
from tests.conformance.strangers import STRANGERS


def main() -> int:
    """Judge what was not judged yet; return 1 if anything of ours fails, or is skipped without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--route", choices=ROUTES, action="append", help="only this one; may be repeated")
    parser.add_argument("--again", action="store_true", help="judge also what was judged with these sources")
    parser.add_argument("names", nargs="*", help="the beginnings of the rows that are wanted; the page is not written")
    arguments = parser.parse_args()
    began = time.monotonic()
    results = Results()
    for route in ROUTES.values():
        if arguments.route and route.key not in arguments.route:
            continue
        names = [
            entry.name
            for entry in entries_of(route)
            if (not arguments.names or entry.name.startswith(tuple(arguments.names)))
            and (arguments.again or results.get(route.key, entry.name) is None)
        ]
        print(f"{route.title}: {len(names)} to judge", flush=True)
        for result in judge_all(route, names):
            results.add([result])
            results.save()  # what is known when this is interrupted need not be judged again
            _say(result)
    if not arguments.names:
        PAGE.write_text(render(results), encoding="utf-8")
    problems = sum(bool(_problems(result)) for result in results)
    print(f"{problems} rows with problems, {time.monotonic() - began:.0f} s")
    return 1 if problems else 0


def _problems(result: Result) -> list[str]:
    theirs = {stranger.entry.name for stranger in STRANGERS}
    return [] if result.entry in theirs else result.problems(EVERY_ENTRY[result.entry])


def _say(result: Result) -> None:
    print(f"  {result.entry}: {_counts(result)}, {result.seconds:.0f} s", flush=True)
    for problem in _problems(result)[:5]:
        print(f"      {problem}", flush=True)


def _counts(result: Result) -> str:
    words = ("passed", "skipped", "failed")
    counts = [f"{sum(pair)} {word}" for word, *pair in zip(words, result.kit, result.beyond, strict=True)]
    return ", ".join(counts)


if __name__ == "__main__":
    sys.exit(main())
