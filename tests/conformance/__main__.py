"""Verify every entry and write docs/conformance.md.

``make conformance`` runs ``python -m tests.conformance``.
"""

from __future__ import annotations

import argparse
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage

from tests.conformance.page import PAGE, render
from tests.conformance.registry import EVERY_ENTRY, entries_of
from tests.conformance.results import Results
from tests.conformance.routes import LONGEST_FIRST, ROUTES
from tests.conformance.running import Result, verify_routes
from tests.conformance.third_party import THIRD_PARTY


def main() -> int:
    """Verify the entries that have no result for the current code.

    Returns:
        1 if any row has a problem, else 0.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--route", choices=ROUTES, action="append", help="only this route; may be repeated")
    parser.add_argument("--again", action="store_true", help="also verify entries that have a result")
    parser.add_argument("names", nargs="*", help="only rows with this prefix; the page is not written")
    arguments = parser.parse_args()
    began = time.monotonic()
    results = Results()
    work = {
        route.key: [
            entry.name
            for entry in entries_of(route)
            if (not arguments.names or entry.name.startswith(tuple(arguments.names)))
            and (arguments.again or results.get(route.key, entry.name) is None)
        ]
        for route in LONGEST_FIRST
        if not arguments.route or route.key in arguments.route
    }
    for key, names in work.items():
        print(f"{key}, {ROUTES[key].title}: {len(names)} rows to verify", flush=True)
    for result in verify_routes(work):
        results.add([result])
        results.save()  # an interrupted run continues from here
        _print(result)
    if not arguments.names:
        PAGE.write_text(render(results), encoding="utf-8")
    problems = sum(bool(_problems(result)) for result in results)
    used = sum(getrusage(RUSAGE_CHILDREN)[:2])
    seconds = time.monotonic() - began
    print(f"{problems} rows with problems, {seconds:.0f} s, {used / seconds:.1f} processors used")
    return 1 if problems else 0


def _problems(result: Result) -> list[str]:
    third_party = {library.entry.name for library in THIRD_PARTY}
    return [] if result.entry in third_party else result.problems(EVERY_ENTRY[result.entry])


def _print(result: Result) -> None:
    print(f"  {result.route}: {result.entry}: {_counts(result)}, {result.seconds:.0f} s", flush=True)
    for problem in _problems(result)[:5]:
        print(f"      {problem}", flush=True)


def _counts(result: Result) -> str:
    words = ("passed", "skipped", "failed")
    counts = [f"{sum(pair)} {word}" for word, *pair in zip(words, result.tck, result.beyond, strict=True)]
    return ", ".join(counts)


if __name__ == "__main__":
    sys.exit(main())
