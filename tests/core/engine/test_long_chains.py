"""The length limit of a fused chain over an iterable: nested C iterators use the C stack without a check."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs._core.iterating import MAX_STAGES
from pyrs.testing import TestPublisher
from tests.waiting import uncollected

# Runs in a separate process, because a failure would be a crash. The thread has the smallest usual stack. Python
# requests a larger one on systems whose default is that small, such as macOS.
PROGRAM = f"""
import sys, threading
import pyrs

def same(element):
    return len([element]) and sorted([element])[0]

def always(element):
    return True

def run(kind):
    stream = pyrs.from_iterable([3, 4, 5])
    for n in range({MAX_STAGES}):
        match kind:
            case "map": stream = stream.map(same)
            case "map and filter": stream = stream.filter(always) if n % 2 else stream.map(same)
            case "filter": stream = stream.filter(always)
            case "take": stream = stream.take(3)
            case "skip": stream = stream.skip(0)
            case "scan": stream = stream.scan(max)
            case "take_while": stream = stream.take_while(always)
            case "reduce": stream = stream.reduce(max)
            case "buffer": stream = stream.buffer(5)
    inner = pyrs.just(1).flat_map(lambda n: stream)
    for way in (stream.collect, lambda: list(stream.to_iterable()), inner.collect):
        try:
            result = way()
            print(result == [3, 4, 5])
        except RecursionError:
            print("RecursionError")

threading.stack_size(512 * 1024)
thread = threading.Thread(target=run, args=sys.argv[1:])
thread.start()
thread.join()
"""


@pytest.mark.parametrize("kind", ["map", "map and filter", "filter", "take", "skip", "scan"])
def test_longest_chain_runs_on_a_small_stack(kind: str) -> None:
    assert output_of(kind) == ["True"] * 3


@pytest.mark.parametrize("kind", ["take_while", "reduce", "buffer"])
def test_longest_chain_of_generators_does_not_crash(kind: str) -> None:
    assert set(output_of(kind)) <= {"True", "False", "RecursionError"}


def output_of(kind: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "add",
    [lambda stream: stream.map(str), lambda stream: stream.take(3), lambda stream: stream.reduce(max)],
)
def test_chain_beyond_the_limit_raises_at_assembly(add: Callable[[Any], Any]) -> None:
    stream: Any = pyrs.from_iterable([3, 4, 5])
    for _ in range(MAX_STAGES):
        stream = add(stream)
    with pytest.raises(RecursionError, match=rf"more than {MAX_STAGES} operators in one chain after .* one function"):
        add(stream)


def test_asynchronous_boundary_starts_a_new_chain() -> None:
    stream = pyrs.range(3)
    for n in range(MAX_STAGES + 100):
        stream = (stream.prefetch(2) if n == MAX_STAGES // 2 else stream).filter(lambda n: True)
    assert stream.collect() == [0, 1, 2]


@pytest.mark.parametrize(
    "add",
    [
        lambda stream: stream.flat_map(pyrs.just),
        lambda stream: stream.concat_map(pyrs.just),
        lambda stream: stream.merge(pyrs.just(1)),
    ],
)
@pytest.mark.parametrize("depth", [70, 90, 150])
def test_nesting_too_deep_for_the_stack_raises_and_does_not_hang(
    add: Callable[[Any], Any], depth: int, dropped: Any
) -> None:
    stream: Any = pyrs.just(1)
    for _ in range(depth):
        stream = add(stream)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # Python's default; other tests in this process may have raised it
    try:
        with uncollected():
            stream.collect(timeout=30)
    except RecursionError:
        pass  # the stream may also complete, if the stack is large enough
    else:
        assert depth < 150
    finally:
        sys.setrecursionlimit(before)
    dropped.errors.clear()  # the RecursionError may also be reported as an error of a Subscriber


@pytest.mark.parametrize(
    "add",
    [
        lambda stream: stream.finally_do(lambda: None),
        lambda stream: stream.do_on_terminate(lambda: None),
        lambda stream: stream.log(),
        lambda stream: stream.default_if_empty(1),
    ],
)
def test_pushed_chain_too_long_for_the_stack_raises_and_signals_at_most_once(add: Callable[[Any], Any]) -> None:
    source: TestPublisher[int] = TestPublisher()
    stream: Any = pyrs.Stream(source)
    for _ in range(600):
        stream = add(stream)
    received: list[Any] = []
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(5000)
        stream.subscribe(on_error=received.append, on_complete=lambda: received.append("complete"))
        sys.setrecursionlimit(1000)  # Python's default
        with uncollected(), pytest.raises(RecursionError):
            source.complete()
    finally:
        sys.setrecursionlimit(before)
    assert [type(each) for each in received] in ([], [RecursionError])
