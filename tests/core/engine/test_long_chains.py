"""How many operators one chain over an iterable may have: iterators written in C nest on the C stack, unguarded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs._core.iterating import MOST_STAGES
from tests.waiting import uncollected

# Run in a process of its own, for what it finds would be a crash. A thread's stack is the smallest that is usual:
# Python asks for more where the system's default, as that of macOS, is so small.
PROGRAM = f"""
import sys, threading
import pyrs

def same(element):
    return len([element]) and sorted([element])[0]

def always(element):
    return True

def run(kind):
    stream = pyrs.from_iterable([3, 4, 5])
    for n in range({MOST_STAGES}):
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
def test_the_longest_chain_runs_on_a_small_stack(kind: str) -> None:
    assert printed(kind) == ["True"] * 3


@pytest.mark.parametrize("kind", ["take_while", "reduce", "buffer"])
def test_the_longest_chain_of_generators_ends_no_process(kind: str) -> None:
    assert set(printed(kind)) <= {"True", "False", "RecursionError"}


def printed(kind: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "add",
    [lambda stream: stream.map(str), lambda stream: stream.take(3), lambda stream: stream.reduce(max)],
)
def test_a_longer_one_is_an_error_where_it_is_made(add: Callable[[Any], Any]) -> None:
    stream: Any = pyrs.from_iterable([3, 4, 5])
    for _ in range(MOST_STAGES):
        stream = add(stream)
    with pytest.raises(RecursionError, match=rf"more than {MOST_STAGES} operators in one chain behind .* one function"):
        add(stream)


def test_what_is_begun_anew_counts_anew() -> None:
    stream = pyrs.range(3)
    for n in range(MOST_STAGES + 100):
        stream = (stream.prefetch(2) if n == MOST_STAGES // 2 else stream).filter(lambda n: True)
    assert stream.collect() == [0, 1, 2]


@pytest.mark.parametrize(
    "add",
    [
        lambda stream: stream.flat_map(pyrs.just),
        lambda stream: stream.concat_map(pyrs.just),
        lambda stream: stream.merge(pyrs.just(1)),
    ],
)
@pytest.mark.parametrize("height", [70, 90, 150])
def test_a_tower_that_is_too_high_for_the_stack_raises_and_keeps_nobody_waiting(
    add: Callable[[Any], Any], height: int, dropped: Any
) -> None:
    stream: Any = pyrs.just(1)
    for _ in range(height):
        stream = add(stream)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # what Python begins with; others in this process may have raised it
    try:
        with uncollected():
            stream.collect(timeout=30)
    except RecursionError:
        pass  # where the stack is enough, all is well too
    else:
        assert height < 150
    finally:
        sys.setrecursionlimit(before)
    dropped.errors.clear()  # on the way out it may leave what takes it for a Subscriber's error
