"""decode and split_lines: models, chunk boundaries, demand, limits and errors."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.errors import BufferOverflow
from pyrs.testing import TestPublisher, TestSubscriber, Violation
from tests.core.modelling import DEMANDS, WAYS, Counting, agrees, quick
from tests.core.support import notes_of, subscribe

CHUNKS = st.lists(st.text("aé\n\r", max_size=5), max_size=6)
ENCODED = st.lists(st.binary(max_size=4), max_size=6)


def lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if text else []


@quick
@given(chunks=CHUNKS, demands=DEMANDS)
def test_split_lines_matches_universal_newlines(chunks: list[str], demands: list[int]) -> None:
    expected = lines_of("".join(chunks))
    agrees(lambda s: s.split_lines(), chunks, expected, demands)
    encoded = [chunk.encode() for chunk in chunks]
    agrees(lambda s: s.split_lines(), encoded, [line.encode() for line in expected], demands)


@quick
@given(chunks=ENCODED, errors=st.sampled_from(["strict", "replace", "ignore", "surrogateescape"]))
def test_decode_matches_the_decoding_of_all_bytes(chunks: list[bytes], errors: str) -> None:
    try:
        expected: Any = b"".join(chunks).decode("utf-8", errors)
    except UnicodeDecodeError:
        expected = UnicodeDecodeError
    for way, source in WAYS.items():
        try:
            decoded: Any = "".join(source(chunks).decode(errors=errors).collect())
        except UnicodeDecodeError:
            decoded = UnicodeDecodeError
        assert decoded == expected, way


@quick
@given(text=st.text("aé€😀", max_size=8), size=st.integers(1, 3), demands=DEMANDS)
def test_decode_emits_each_character_with_its_last_byte(text: str, size: int, demands: list[int]) -> None:
    encoded = text.encode("utf-16")
    chunks = [encoded[start : start + size] for start in range(0, len(encoded), size)]
    decoder = codecs.getincrementaldecoder("utf-16")()
    expected = [part for part in map(decoder.decode, chunks) if part]
    agrees(lambda s: s.decode("utf-16"), chunks, expected, demands)


@quick
@given(chunks=CHUNKS, most=st.integers(1, 3), demand=st.sampled_from([1, 2, pyrs.UNBOUNDED]))
def test_overlong_line_fails_after_the_lines_before_it(chunks: list[str], most: int, demand: int) -> None:
    lines = lines_of("".join(chunks))
    overlong = next((place for place, line in enumerate(lines) if len(line) > most), None)
    for way, source in WAYS.items():
        subscriber = subscribe(source(chunks).split_lines(max_length=most), 0)
        for _ in range(len(lines) + 1):
            subscriber.request(demand)
        subscriber.await_end()
        assert subscriber.elements == lines[:overlong], way
        assert isinstance(subscriber.error, BufferOverflow if overlong is not None else type(None)), way
        subscriber.assert_rules()


def test_error_of_an_overlong_line_names_the_limit_and_cancels_upstream() -> None:
    source = TestPublisher[bytes]()
    subscriber = subscribe(source.stream().split_lines(max_length=3))
    source.next(b"a\nab", b"cd")
    error = subscriber.await_error()
    assert str(error) == "a line is longer than 3 bytes: pass a greater max_length, or None for no limit"
    assert "in split_lines(max_length=3)" in notes_of(error)[0]
    assert subscriber.elements == [b"a"]
    source.assert_cancelled(1)


def test_overlong_line_behind_an_undemanded_one_cancels_upstream_and_names_split_lines() -> None:
    source = TestPublisher[str]()
    events: list[str] = []
    stream = (
        source.stream().do_on_error(lambda error: events.append("error")).do_on_cancel(lambda: events.append("cancel"))
    )
    subscriber = subscribe(stream.split_lines(max_length=3), 1)
    source.next("a\nb\nlong\n")
    subscriber.request(1)
    assert "in split_lines(max_length=3)" in notes_of(subscriber.assert_error(BufferOverflow))[0]
    assert subscriber.elements == ["a", "b"]
    assert events == ["cancel"]


def test_split_lines_requests_a_chunk_when_no_line_is_left() -> None:
    counting = Counting(["a\nb\n", "c", "d\n", "e\n"])
    subscriber = subscribe(counting.stream().split_lines(), 1)
    assert (subscriber.elements, counting.requests) == (["a"], [1])
    subscriber.request(1)
    assert (subscriber.elements, counting.requests) == (["a", "b"], [1])
    subscriber.request(1)
    assert (subscriber.elements, counting.requests) == (["a", "b", "cd"], [1, 1, 1])
    subscriber.request(pyrs.UNBOUNDED)
    assert subscriber.await_complete() == ["a", "b", "cd", "e"]
    assert counting.requests == [1, 1, 1, pyrs.UNBOUNDED]


def test_unbounded_request_inside_on_next_emits_the_lines_of_an_endless_source() -> None:
    received: list[str] = []

    class Taking(TestSubscriber[str]):
        def on_next(self, element: str, /) -> None:
            received.append(element)
            if len(received) == 1:
                self.request(pyrs.UNBOUNDED)
            if len(received) == 100:
                self.cancel()

    subscriber = Taking(0)
    pyrs.generate(lambda: 0, lambda n: ("a\nb\n", n)).concat(pyrs.empty()).split_lines().subscribe(subscriber)
    subscriber.request(1)
    assert len(received) == 100


def test_error_follows_the_complete_lines_and_discards_the_rest() -> None:
    for source in (pyrs.just("a\nb"), pyrs.just("a\nb").concat(pyrs.empty())):
        subscriber = subscribe(source.concat(pyrs.error(ValueError("planned"))).split_lines(), 1)
        assert subscriber.elements == ["a"]
        assert str(subscriber.await_error()) == "planned"


@pytest.mark.parametrize("way", WAYS)
def test_wrong_elements_fail_the_stream(way: str) -> None:
    wrong: list[tuple[list[Any], Callable[[Any], Any], str]] = [
        (["a"], lambda s: s.decode(), "decode takes a stream of bytes, not of str"),
        ([3], lambda s: s.split_lines(), "split_lines takes a stream of str or bytes, not of int"),
        (["a", b"b"], lambda s: s.split_lines(), "split_lines takes a stream of str, like the first element, not of"),
    ]
    for elements, operate, message in wrong:
        with pytest.raises(TypeError, match=message):
            operate(WAYS[way](elements)).collect()


def test_buffers_are_accepted_as_bytes() -> None:
    chunks = [bytearray(b"a\nb"), memoryview(b"\nc")]
    assert pyrs.from_iterable(chunks).split_lines().collect() == [b"a", b"b", b"c"]  # type: ignore[misc]
    assert pyrs.from_iterable(chunks).decode().collect() == ["a\nb", "\nc"]  # type: ignore[misc]


def test_wrong_arguments_raise() -> None:
    chunks = pyrs.just(b"")
    with pytest.raises(LookupError, match="unknown encoding"):
        chunks.decode("klingon")
    with pytest.raises(LookupError, match="unknown error handler"):
        chunks.decode(errors="klingon")
    with pytest.raises(ValueError, match="max_length must be at least 1"):
        chunks.split_lines(max_length=0)


@pytest.mark.parametrize(
    ("chunks", "error"),
    [(["a\nb\ntoo lo", "ng\nc\n"], BufferOverflow), (["a\nb\nc", b"d\n", "e\n"], TypeError)],
    ids=["too long", "wrong type"],
)
def test_split_lines_emits_no_part_of_a_line_after_a_failure(chunks: list[Any], error: type[Exception]) -> None:
    source = TestPublisher[Any](Violation.REQUEST_OVERFLOW)
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    source.stream().split_lines(max_length=5).subscribe(subscriber)
    source.next(*chunks)
    source.complete()
    subscriber.request(9)
    assert subscriber.elements == ["a", "b"]
    assert isinstance(subscriber.error, error)
