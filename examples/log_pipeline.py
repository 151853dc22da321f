"""Read an endless log on demand, with groups and windows.

Run it: python examples/log_pipeline.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pyrs


class Entry(NamedTuple):
    path: str
    status: int
    milliseconds: int


def server() -> Iterator[str]:
    """Yield the lines of an endless access log."""
    for n in count():
        path = ("/", "/search", "/login")[n % 3]
        status = 500 if n % 7 == 0 else 200
        yield f"GET {path} {status} {10 + n % 5 * 10} ms" if n % 10 else "-- rotated --"


def parse(line: str) -> pyrs.Stream[Entry]:
    """Emit the entry of a request line, and nothing for other lines."""
    found = re.fullmatch(r"GET (\S+) (\d+) (\d+) ms", line)
    return pyrs.just(Entry(found[1], int(found[2]), int(found[3]))) if found else pyrs.empty()


def slowest(group: pyrs.GroupedStream[str, Entry]) -> pyrs.Single[Entry]:
    return group.reduce(lambda a, b: max(a, b, key=lambda entry: entry.milliseconds))


def errors_in(window: pyrs.Stream[Entry]) -> pyrs.Stream[str]:
    """Summarize a window while its elements arrive, without a list."""
    return window.filter(lambda entry: entry.status >= 500).count().map(lambda errors: "#" * errors or ".")


read = pyrs.Metrics("lines")
entries = pyrs.from_iterable(server()).metrics(read).flat_map(parse, concurrency=1)

print("the slowest of the first 60 requests, for each path")
for entry in entries.take(60).group_by(lambda entry: entry.path).flat_map(slowest).collect():
    print(f"  {entry.path:8} {entry.milliseconds} ms")

print("errors in windows of 25 requests:", *entries.window(25).concat_map(errors_in).take(6).collect())

first = entries.filter(lambda entry: entry.status >= 500 and entry.path == "/login").first().block()
print(f"the first failure of /login took {first.milliseconds} ms")
print(f"lines read from the endless log: {read.elements}")
