"""The encoding of Python values, and the values that are refused."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import sys
import uuid
import weakref
import zoneinfo
from typing import Any

import msgpack
import numpy
import pyarrow
import pytest

from pyrs.errors import ConversionError
from pyrs.jvm.buffers import Buffers
from pyrs.jvm.values.decoder import ValueDecoder
from pyrs.jvm.values.encoder import ValueEncoder
from tests.values.value_cases import Colour, OfPeer, Plain, Recorder
from tests.waiting import collected, uncollected


@dataclasses.dataclass
class Record:
    number: int


class Access(enum.Flag):
    READ = 1
    WRITE = 2


def encode(value: object) -> bytes:
    return ValueEncoder(Recorder()).encode(value)


def refusal(value: object) -> str:
    encoder = ValueEncoder(Recorder())
    with uncollected(), pytest.raises(Exception) as caught:  # some of the values exhaust the stack
        encoder.encode(value)
    explained = encoder.explain(value, caught.value)
    assert isinstance(explained, ConversionError)
    return str(explained)


def is_reference(value: object) -> bool:
    extension = msgpack.unpackb(encode(value))
    return isinstance(extension, msgpack.ExtType) and extension.code == 16


def test_encoding_a_plain_value_calls_no_python_function() -> None:
    encode, entered = ValueEncoder(Recorder()).encode, []

    def profile(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            entered.append(frame.f_code.co_name)

    with uncollected():  # finalizers of unrelated objects would be recorded too
        sys.setprofile(profile)
        try:
            encode(5)
            encode([1, "a", {"b": 2.5}])
        finally:
            sys.setprofile(None)
    assert entered == []


@pytest.mark.parametrize(
    "value",
    [
        Plain(),
        Record(1),
        object(),
        range(3),
        1j,
        numpy.arange(2),
        numpy.complex64(1),
        len,
        Plain,
        collections.deque([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_a_conversion_crosses_by_reference(value: object) -> None:
    references = Recorder()
    ValueEncoder(references).encode(value)
    assert references.owned == [value] if not isinstance(value, numpy.ndarray) else len(references.owned) == 1
    assert is_reference(value)


@pytest.mark.parametrize("text", ["\ud800", "a\udc00", "\udfff\ud800"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    assert "a str cannot be converted" in refusal(text)
    assert "lone surrogate" in refusal(text)
    assert "a list cannot be converted" in refusal([text])
    assert "lone surrogate" in refusal({text: 1})


@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_decimals_that_java_lacks_are_refused(value: str) -> None:
    assert "decimal.Decimal" in refusal(decimal.Decimal(value))
    assert "java.math.BigDecimal" in refusal(decimal.Decimal(value))


def test_times_that_java_lacks_are_refused() -> None:
    assert "ZoneOffset" in refusal(dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=19))))
    assert "ZoneOffset" in refusal(dt.time(1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))))
    assert "NaT" in refusal(numpy.datetime64("NaT", "s"))
    assert "NaT" in refusal(numpy.timedelta64("NaT", "s"))


@pytest.mark.parametrize("first", [dt.datetime.min, dt.datetime.max])
@pytest.mark.parametrize("hours", [-18, 0, 18])
def test_the_earliest_and_latest_datetime_survive_a_round_trip(first: dt.datetime, hours: int) -> None:
    for value in (first, first.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))):
        assert ValueDecoder(Recorder()).decode(encode(value)) == value


@pytest.mark.parametrize("first", [dt.datetime.min, dt.datetime.max])
@pytest.mark.parametrize("name", ["Asia/Tokyo", "America/New_York"])
def test_the_earliest_and_latest_datetime_of_a_zone_survive_a_round_trip(first: dt.datetime, name: str) -> None:
    """Two of the four instants lie outside of Python's years in UTC."""
    value = first.replace(tzinfo=zoneinfo.ZoneInfo(name))
    back = ValueDecoder(Recorder()).decode(encode(value))
    assert (back.replace(tzinfo=None), back.tzinfo) == (first, value.tzinfo)


def test_numpy_times_finer_and_coarser_than_a_microsecond_are_converted() -> None:
    def back(value: object) -> Any:
        return ValueDecoder(Recorder()).decode(encode(value))

    assert back(numpy.datetime64("2024-02-29T00:00:00.000001999", "ns")) == dt.datetime(2024, 2, 29, 0, 0, 0, 1)
    assert back(numpy.datetime64("2024-02")) == dt.date(2024, 2, 1)
    assert back(numpy.timedelta64(2, "h")) == dt.timedelta(hours=2)
    assert "numpy.datetime64" in refusal(numpy.datetime64("20000-01-01", "s"))


@pytest.mark.parametrize(
    "value",
    [
        numpy.datetime64(2**61, "s"),
        numpy.datetime64(2**62, "Y"),
        numpy.datetime64(2**60, "D"),
        numpy.timedelta64(2**62, "ms"),
        numpy.timedelta64(2**60, "h"),
    ],
    ids=repr,
)
def test_numpy_times_that_overflow_are_refused(value: Any) -> None:
    assert "outside of the range of Python's datetime" in refusal(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.datetime64("2024", "Y"), dt.date(2024, 1, 1)),
        (numpy.timedelta64(3, "Y"), dt.timedelta(days=3 * 365.2425)),
        (numpy.timedelta64(-7, "as"), dt.timedelta(microseconds=-1)),  # rounded down
    ],
)
def test_numpy_times_in_the_coarsest_and_finest_units_are_converted(value: Any, expected: object) -> None:
    assert ValueDecoder(Recorder()).decode(encode(value)) == expected


class Amount(decimal.Decimal):
    def __str__(self) -> str:
        return format(self, ".2f")


class Level(int):
    def __int__(self) -> int:
        return 7


class Ratio(float):
    def __float__(self) -> float:
        return 7.0


class Payload(bytearray):
    def __bytes__(self) -> bytes:
        return b"7"


class Identifier(uuid.UUID):
    @property
    def bytes(self) -> bytes:
        return b"7"  # the peer ends the link for a UUID of another length than 16


class Moment(dt.datetime):
    """Has the arithmetic of pendulum, which takes only its own classes."""

    def __sub__(self, other: object) -> Any:
        raise AttributeError("the other object is no Moment")


class Span(dt.timedelta):
    """Has the arithmetic of pendulum, and its microseconds: both parts of a negative duration are negative."""

    @property
    def microseconds(self) -> int:  # type: ignore[override]
        return -500_000

    def __floordiv__(self, other: object) -> Any:
        raise AttributeError("the other object is no Span")


PARIS = zoneinfo.ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Moment(1969, 12, 31, 23, 59, 58, 500_000), dt.datetime(1969, 12, 31, 23, 59, 58, 500_000)),
        (Moment(1950, 1, 2, 3, 4, 5, 6, PARIS), dt.datetime(1950, 1, 2, 3, 4, 5, 6, PARIS)),
        (Span(seconds=-1.5), dt.timedelta(seconds=-1.5)),
        (Amount("1.23456"), decimal.Decimal("1.23456")),
        (Level(5), 5),
        (Level(2**70), 2**70),
        (Ratio(5), 5.0),
        (Payload(b"5"), b"5"),
        (Identifier(int=5), uuid.UUID(int=5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_crosses_by_its_value_and_not_by_its_conversion_methods(value: object, expected: object) -> None:
    assert ValueDecoder(Recorder()).decode(encode(value)) == expected


def test_a_nameless_flag_is_refused_and_a_named_one_is_converted_to_its_name() -> None:
    assert ValueDecoder(Recorder()).decode(encode(Access.READ)) == "READ"
    assert "Access" in refusal(Access(0))
    assert ValueDecoder(Recorder()).decode(encode({Colour.RED: Colour.RED})) == {"RED": "RED"}


def cyclic() -> list[object]:
    looped: list[Any] = []
    looped.append(looped)
    mapped: dict[str, Any] = {}
    mapped["self"] = mapped
    ordered: collections.OrderedDict[str, Any] = collections.OrderedDict()
    ordered["self"] = [ordered]
    paired: tuple[Any, ...] = ([],)
    paired[0].append(paired)
    doubled: list[Any] = []
    doubled += [doubled, doubled]
    return [looped, mapped, ordered, paired, doubled]


@pytest.mark.parametrize("value", cyclic(), ids=["list", "dict", "OrderedDict", "tuple", "twice"])
def test_cyclic_containers_are_an_error(value: object) -> None:
    text = refusal(value)
    assert "contains itself" in text
    assert type(value).__name__ in text


def test_sets_within_sets_have_a_limit() -> None:
    nested: frozenset[Any] = frozenset()
    for _ in range(300):
        nested = frozenset([nested])
    assert "frozenset" in refusal(nested)


def test_an_encoder_is_usable_after_an_error() -> None:
    encoder = ValueEncoder(Recorder())
    for bad in ("\ud800", cyclic()[0], {frozenset(["\ud800"])}):
        with pytest.raises(Exception) as caught:
            encoder.encode(bad)
        encoder.explain(bad, caught.value)
        assert encoder.encode({1}) == encode({1})


def test_handles_of_an_element_that_cannot_be_encoded_are_released() -> None:
    references = Recorder()
    encoder = ValueEncoder(references)
    bad = [Plain(), {"a": Plain()}, OfPeer(), "\ud800", Plain()]
    with pytest.raises(UnicodeEncodeError) as caught:
        encoder.encode(bad)
    encoder.explain(bad, caught.value)
    assert sorted(references.disowned) == [7, 8]


def test_a_value_that_raises_when_it_is_converted_is_refused() -> None:
    class RaisingItems(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("from items")

    text = refusal(RaisingItems())
    assert "RaisingItems" in text
    assert "from items" in text


def test_a_local_class_is_released_with_its_encoder() -> None:
    class Local:
        pass

    encoder = ValueEncoder(Recorder())
    encoder.encode(Local())
    gone = weakref.ref(Local)
    del Local, encoder
    collected(lambda: gone() is None)


def test_fifty_megabytes_survive_a_round_trip() -> None:
    value = bytes(50_000_000)
    assert ValueDecoder(Recorder()).decode(encode(value)) == value


def test_a_bytearray_is_copied_when_it_is_encoded() -> None:
    reused = bytearray(b"a")
    body = encode(reused)
    reused[0] = 0
    assert ValueDecoder(Recorder()).decode(body) == b"a"


def test_large_arrow_batches_after_the_first_element_are_not_copied() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"n": list(range(50_000)), "s": ["text"] * 50_000})
    encoder = ValueEncoder(Recorder())
    first = encoder.encode_element(batch)
    second = encoder.encode_element(batch)
    assert isinstance(second, Buffers)
    assert b"".join(second.parts) == first
    assert len(second) == len(first)
    column = batch.column(0).buffers()[1]
    assert any(pyarrow.py_buffer(part).address == column.address for part in second.parts)
    assert isinstance(encoder.encode_element([batch]), bytes)
    assert isinstance(encoder.encode_element(batch.slice(0, 9)), bytes)
    assert encoder.encode_element("text") == b"\xa4text"
