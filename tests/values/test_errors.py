"""Conversion of exceptions to wire errors, and of wire errors to exceptions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import pickle
import traceback
from typing import Any

import msgpack
import pytest

from pyrs.errors import ConversionError, JavaError, NonPositiveRequest, NullSignal, ProtocolError, SubscribedTwice
from pyrs.jvm.values.errors import Originals, exception_to_wire, wire_to_exception
from tests.waiting import uncollected


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def java(owner: int = 0, number: int = 5, cause: Any = None, families: tuple[str, ...] = ()) -> list[Any]:
    frames = [["a.B", "c", "B.java", 3], ["a.B", "d", None, -2]]
    return [
        owner,
        number,
        "java.lang.Exception",
        "boom",
        frames,
        cause,
        "java.lang.Exception: boom\n\tat a.B.c",
        [*families],
    ]


def test_a_wire_error_has_the_type_message_frames_and_causes_of_an_exception() -> None:
    try:
        try:
            {}["a"]
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        wire = exception_to_wire(error, Originals())
    owner, number, name, message, frames, cause, text, families = wire
    assert (owner, number, name, message, families) == (0, 2, "ValueError", "outer", ["illegal_argument"])
    assert frames[0][0] == __name__
    assert frames[0][1].endswith("test_a_wire_error_has_the_type_message_frames_and_causes_of_an_exception")
    assert frames[0][2] == __file__
    assert cause[2:4] == ["KeyError", "'a'"]
    assert "direct cause" in text
    assert cause[6] is None


def test_frames_are_innermost_first() -> None:
    def inner() -> None:
        raise OSError("x")

    with pytest.raises(OSError, match="x") as caught:
        inner()
    names = [frame[1].rsplit(".", 1)[-1] for frame in exception_to_wire(caught.value, Originals())[4]]
    assert names == ["inner", "test_frames_are_innermost_first"]


@pytest.mark.parametrize(
    ("error", "family"),
    [
        (NullSignal("x"), "null_signal"),
        (NonPositiveRequest("x"), "illegal_argument"),
        (UnicodeError("x"), "illegal_argument"),
        (asyncio.CancelledError(), "cancelled"),
        (concurrent.futures.CancelledError(), "cancelled"),
        (SubscribedTwice("x"), "illegal_state"),
        (TimeoutError("x"), "timeout"),
        (ConversionError("x"), "conversion"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_standard_errors_name_their_family(error: BaseException, family: str) -> None:
    assert exception_to_wire(error, Originals())[7] == [family]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException, TypeError])
def test_every_kind_of_exception_can_be_sent(kind: type[BaseException]) -> None:
    wire = exception_to_wire(raised(kind("x")), Originals())
    assert wire[2] == kind.__name__
    assert wire[7] == []


def test_returned_exception_is_the_same_object() -> None:
    originals = Originals()
    error = raised(LookupError("mine"))
    wire = exception_to_wire(error, originals)
    wire[0] = 1
    assert wire_to_exception(wire, originals) is error
    wire[1] = 999  # an unknown number, so the error is created from the data
    built = wire_to_exception(wire, originals)
    assert isinstance(built, JavaError)
    assert built.java_class == "LookupError"


def test_a_java_error_has_the_class_message_stack_and_causes_of_a_throwable() -> None:
    error = wire_to_exception(java(cause=java(number=6)), Originals())
    assert isinstance(error, JavaError)
    assert (error.java_class, error.java_message) == ("java.lang.Exception", "boom")
    assert error.java_stack == (("a.B", "c", "B.java", 3), ("a.B", "d", None, -2))
    assert isinstance(error.__cause__, JavaError)
    assert str(error) == "java.lang.Exception: boom"
    if hasattr(error, "add_note"):
        assert "at a.B.c" in "".join(traceback.format_exception(error))


def test_java_error_is_sent_back_as_its_number_even_as_a_cause() -> None:
    originals = Originals()
    error = wire_to_exception(java(), originals)
    assert exception_to_wire(error, originals)[:2] == [1, 5]
    wrapper = RuntimeError("around it")
    wrapper.__cause__ = error
    assert exception_to_wire(wrapper, originals)[5][:2] == [1, 5]
    assert len(originals) == 1  # only the wrapper is kept
    # Over another bridge, the number would name another exception.
    assert exception_to_wire(error, Originals())[0] == 0


def test_a_java_error_can_be_pickled_and_copied() -> None:
    originals = Originals()
    error = wire_to_exception(java(families=("timeout",)), originals)
    received = pickle.loads(pickle.dumps(error))
    assert type(received) is type(error) and str(received) == str(error)
    assert received.java_stack == error.java_stack
    assert exception_to_wire(received, originals)[0] == 0  # another process does not refer to the Throwable
    assert exception_to_wire(copy.deepcopy(error), originals)[:2] == [1, 5]


def test_a_java_error_of_a_standard_family_has_the_python_type() -> None:
    assert isinstance(wire_to_exception(java(families=("illegal_argument",)), Originals()), ValueError)
    assert isinstance(wire_to_exception(java(families=("timeout",)), Originals()), TimeoutError)
    assert isinstance(wire_to_exception(java(families=("conversion",)), Originals()), ConversionError)
    assert type(wire_to_exception(java(families=("something new",)), Originals())) is JavaError
    for family in ("illegal_argument", "timeout", "conversion", ""):
        error = wire_to_exception(java(families=(family,)), Originals())
        assert str(error) == "java.lang.Exception: boom"
        assert isinstance(error, JavaError)


@pytest.mark.parametrize("raised", [RuntimeError, SystemExit, KeyboardInterrupt, RecursionError])
def test_an_exception_whose_str_raises_is_encoded(raised: type[BaseException]) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise raised("no")

    wire = exception_to_wire(Mute(), Originals())
    assert raised.__name__ in wire[3]
    assert msgpack.packb(wire)


def test_huge_messages_and_tracebacks_are_capped() -> None:
    def deep(n: int) -> None:
        if n == 0:
            raise ValueError("\ud800" + "x" * 200_000)
        deep(n - 1)

    with pytest.raises(ValueError) as caught:
        deep(600)
    wire = exception_to_wire(caught.value, Originals())
    assert len(wire[3]) <= 64 * 1024 + 16
    assert wire[3].startswith("\\ud800")
    assert "... cut ..." in wire[3]
    assert len(wire[4]) == 256
    assert len(wire[6]) <= 64 * 1024
    with uncollected(), pytest.raises(RecursionError) as recursion:
        deep(10**6)
    assert len(exception_to_wire(recursion.value, Originals())[4]) == 256


def test_cyclic_and_long_chains_of_causes_are_cut() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    wire = exception_to_wire(one, Originals())
    assert wire[5][5] is None

    chain = ValueError("0")
    for i in range(100):
        following = ValueError(str(i))
        following.__cause__ = chain
        chain = following
    depth, each = 0, exception_to_wire(chain, Originals())
    while each is not None:
        depth, each = depth + 1, each[5]
    assert depth == 16


def test_traceback_of_a_long_chain_shows_its_first_and_last_exceptions() -> None:
    formatted: list[int] = []

    class Counted(Exception):
        def __str__(self) -> str:
            formatted.append(self.args[0])
            return f"number {self.args[0]}"

    error = Counted(0)
    for number in range(1, 1_000):
        later = Counted(number)
        later.__context__ = error
        error = later
    text = exception_to_wire(error, Originals())[6]
    shown = [int(line.split()[-1]) for line in text.splitlines() if "number" in line]
    assert shown == [*range(8), *range(992, 1_000)] and "[984 exceptions are omitted]" in text
    assert len(set(formatted)) == 8 + 16, "also the 16 causes of the wire error"


def test_endless_chain_of_causes_is_cut() -> None:
    class Endless(Exception):
        @property
        def __cause__(self) -> Any:  # type: ignore[override]
            return Endless("no")

    assert "exceptions are omitted" in exception_to_wire(Endless("no"), Originals())[6]


def test_suppressed_context_is_not_a_cause() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            raise ValueError("outer") from None
    except ValueError as error:
        assert exception_to_wire(error, Originals())[5] is None


def test_originals_keep_an_exception_once_and_drop_the_least_recently_used() -> None:
    originals = Originals(capacity=3)
    first, second = ValueError(), ValueError()
    number, other = originals.keep(first), originals.keep(second)
    assert originals.keep(first) == number
    originals.keep(ValueError())
    originals.keep(ValueError())
    assert originals.find(number) is first
    assert originals.find(other) is None
    assert len(originals) == 3
    originals.clear()
    assert originals.find(number) is None


@pytest.mark.parametrize(
    "wire",
    [
        None,
        1,
        [],
        [0, 1],
        java()[:7],
        [0, 1, "x", "y", [["too short"]], None, None, []],
        [0, 1, "x", "y", [["a.B", "c", None, float("inf")]], None, None, []],
        [0, 1, "x", "y", [[b"a.B", "c", None, 1]], None, None, []],
        [0, 1, ["x"], "y", [], None, None, []],
        [0, 1, "x", b"y", [], None, None, []],
        [0, 1.0, "x", "y", [], None, None, []],
        [0, 1, "x", "y", [], None, 7, []],
    ],
)
def test_a_value_that_is_not_an_error_is_a_protocol_error(wire: Any) -> None:
    with pytest.raises(ProtocolError):
        wire_to_exception(wire, Originals())
