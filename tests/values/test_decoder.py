"""The decoder of values: batches, handles, Arrow batches and malformed input."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

import msgpack
import pyarrow
import pytest

from pyrs.errors import ConversionError, NullSignal, ProtocolError
from pyrs.jvm.values import references as types
from pyrs.jvm.values.decoder import ValueDecoder, handles_in
from pyrs.jvm.values.encoder import ValueEncoder
from tests.values.value_cases import OfPeer, Plain, Recorder

BAD = msgpack.ExtType(3, (10**9).to_bytes(8, "big"))  # a LocalDate whose year Python does not support


def test_elements_before_an_unconvertible_one_are_kept() -> None:
    for bad in (BAD, [1, BAD], {"a": BAD}, {"a": [BAD, BAD]}):
        elements, error = ValueDecoder(Recorder()).decode_batch(msgpack.packb([1, "two", bad, 4]))
        assert elements == [1, "two"]
        assert isinstance(error, ConversionError)
        assert "java.time.LocalDate" in str(error)


def test_a_decoder_is_usable_after_an_error() -> None:
    decoder = ValueDecoder(Recorder())
    for body in (msgpack.packb([BAD]), b"\xc1", b"\x81\x91\x01\x02", msgpack.packb([BAD, msgpack.ExtType(99, b"")])):
        with pytest.raises((ConversionError, ProtocolError)):
            decoder.decode(body)
        assert decoder.decode_batch(b"\x91\x01") == ([1], None)


def test_a_batch_that_is_not_an_array_is_refused() -> None:
    with pytest.raises(ProtocolError, match="not a msgpack array"):
        ValueDecoder(Recorder()).decode_batch(b"\x01")


def test_handles_in_returns_a_handle_once_for_each_receipt() -> None:
    references = Recorder()
    one, other = Plain(), Plain()
    body = ValueEncoder(references).encode([one, [other, one], {other: 1, "k": {one}}, OfPeer(), b"x", {(1,)}])
    assert sorted(handles_in(body, types.SENDER_OWNS)) == [7, 7, 7, 8, 8]
    received = Recorder()
    ValueDecoder(received).decode(body)
    assert sorted(received.received) == sorted(handles_in(body, types.SENDER_OWNS))
    assert handles_in(b"\xc1", types.SENDER_OWNS) == []


def test_arrow_batch_survives_a_round_trip() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"a": [1, 2, None], "b": ["x", "y", "z"]})
    body = ValueEncoder(Recorder()).encode([batch])
    (back,) = ValueDecoder(Recorder()).decode(body)
    assert back.equals(batch)
    assert back.schema.equals(batch.schema)


def test_a_large_arrow_batch_uses_the_received_bytes() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"a": list(range(50_000))})
    body = memoryview(bytearray(msgpack.packb([0])[:1] + ValueEncoder(Recorder()).encode(batch)))
    elements, error = ValueDecoder(Recorder()).decode_batch(body)
    assert error is None
    assert elements[0].equals(batch)
    received = pyarrow.py_buffer(body)
    column = elements[0].column(0).buffers()[1]
    assert received.address < column.address < received.address + received.size


def test_a_large_message_without_an_arrow_batch_leaves_the_decoder_usable() -> None:
    whole = msgpack.packb([msgpack.ExtType(types.ARROW, bytes(70_000))])
    decoder = ValueDecoder(Recorder())
    elements, error = decoder.decode_batch(memoryview(whole))
    assert elements == []
    assert isinstance(error, ConversionError)
    assert decoder.decode_batch(b"\x91\1") == ([1], None)
    for body in (whole[:-1], whole + b"\0"):
        with pytest.raises((ConversionError, ProtocolError)):
            decoder.decode_batch(memoryview(body))
    assert decoder.decode_batch(memoryview(msgpack.packb(["x" * 70_000]))) == (["x" * 70_000], None)


def test_error_for_an_arrow_batch_without_pyarrow_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pyarrow.RecordBatch.from_pydict({"a": [1]})
    body = ValueEncoder(Recorder()).encode(batch)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConversionError, match="pyarrow is missing"):
        ValueDecoder(Recorder()).decode(body)


def test_deep_nesting_never_crashes() -> None:
    with pytest.raises(ConversionError, match="StackError"):
        ValueDecoder(Recorder()).decode(b"\x91" * 5_000 + b"\x01")
    nested = b"\x90"
    for _ in range(3_000):
        nested = b"\x91" + msgpack.packb(msgpack.ExtType(9, nested))
    with pytest.raises(ConversionError, match="within 32 others"):
        ValueDecoder(Recorder()).decode(nested)
    assert handles_in(nested, types.SENDER_OWNS) == []


@pytest.mark.parametrize("count", [1, 15, 16, 1_024, 70_000])
def test_batch_of_only_objects_decodes_like_any_other(count: int) -> None:
    handles = [7 * number + 1 for number in range(count)]
    values = [msgpack.ExtType(16, struct.pack(">BQ", 0, handle)) for handle in handles]
    quick, plain = Recorder(), Recorder()
    body = msgpack.packb(values)
    assert ValueDecoder(quick).decode_batch(body) == (ValueDecoder(plain).decode(body), None)
    assert quick.received == plain.received == handles


@pytest.mark.parametrize("odd", [1, b"\xc7\x09\x10\x00" + b"12345678", [1], "reference of another kind"])
@pytest.mark.parametrize("place", [0, 5, 9])
def test_batch_of_objects_and_one_other_value_decodes(odd: object, place: int) -> None:
    values: list[object] = [msgpack.ExtType(16, struct.pack(">BQ", 0, number)) for number in range(9)]
    values.insert(place, msgpack.ExtType(16, struct.pack(">BQ", 2, 5)) if isinstance(odd, str) else odd)
    body = msgpack.packb(values)
    quick, plain = Recorder(), Recorder()
    assert ValueDecoder(quick).decode_batch(body)[0] == ValueDecoder(plain).decode(body)
    assert quick.received == plain.received


@pytest.mark.parametrize("place", [0, 1, 2])
def test_null_element_is_an_error_after_the_elements_before_it(place: int) -> None:
    elements: list[object] = [-64, "two"]  # -64 contains the byte of a null
    elements.insert(place, None)
    before, error = ValueDecoder(Recorder()).decode_batch(msgpack.packb(elements))
    assert before == elements[:place]
    assert isinstance(error, NullSignal)
    assert ValueDecoder(Recorder()).decode_entries(msgpack.packb(elements)) == (elements, None)


@pytest.mark.parametrize("seconds", [0, 2**33, -1])
@pytest.mark.parametrize("filler", [b"", b"\xff" * 5_000, b"x" * 140_000], ids=["small", "many bytes of 255", "large"])
@pytest.mark.parametrize("wrap", [lambda moment: moment, lambda moment: {"a": (moment,)}])
def test_msgpack_timestamp_is_rejected(seconds: int, filler: bytes, wrap: Callable[[object], object]) -> None:
    body = msgpack.packb([filler, wrap(msgpack.Timestamp(seconds, 5 if seconds < 0 else 0))])
    with pytest.raises(ProtocolError, match="extension type -1"):
        ValueDecoder(Recorder()).decode_batch(body)
    similar_bytes = [filler, b"\xd6\xff\xff\xff", -1, "\xff"]
    assert ValueDecoder(Recorder()).decode_batch(msgpack.packb(similar_bytes)) == (similar_bytes, None)


@pytest.mark.parametrize("size", [4, 8, 12])
@pytest.mark.parametrize("header", [b"\xc7", b"\xc8\x00", b"\xc9\x00\x00\x00"], ids=["8 bits", "16 bits", "32 bits"])
def test_msgpack_timestamp_is_rejected_for_each_length_header(header: bytes, size: int) -> None:
    body = b"\x91" + header + bytes([size]) + b"\xff" + bytes(size)
    with pytest.raises(ProtocolError, match="extension type -1"):
        ValueDecoder(Recorder()).decode_batch(body)


def test_unconvertible_value_is_found_at_any_depth() -> None:
    body = b"\x91" * 900 + msgpack.packb(BAD)
    elements, error = ValueDecoder(Recorder()).decode_batch(body)
    assert elements == []
    assert isinstance(error, ConversionError)


class Hostile:
    """An object that raises when it is hashed."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __hash__(self) -> int:
        raise self.error


@pytest.mark.parametrize("error", [ValueError("hashed"), ProtocolError("hashed"), SystemExit(3), RecursionError()])
@pytest.mark.parametrize("place", ["key", "set"])
def test_an_object_that_cannot_be_hashed_fails_the_value(error: BaseException, place: str) -> None:
    references = Recorder()
    references.local = lambda handle: Hostile(error)  # type: ignore[method-assign]
    returned = msgpack.ExtType(17, struct.pack(">BQ", 0, 5))
    value = {returned: 1} if place == "key" else msgpack.ExtType(9, msgpack.packb([returned]))
    # The decoder cannot distinguish a ProtocolError that a key raises from its own error for malformed bytes.
    expected = ProtocolError if isinstance(error, ProtocolError) and place == "key" else ConversionError
    with pytest.raises(expected):
        ValueDecoder(references).decode(msgpack.packb(value))


def test_handles_after_an_unhashable_key_are_released() -> None:
    references = Recorder()
    references_of_peer = [msgpack.ExtType(16, struct.pack(">BQ", 0, handle)) for handle in (5, 6, 6)]
    body = msgpack.packb([references_of_peer[0], msgpack.ExtType(9, msgpack.packb([references_of_peer[1]]))])
    body = b"\x94" + body[1:] + b"\x81\x91\x01\x02" + msgpack.packb(references_of_peer[2])
    with pytest.raises(ConversionError, match="unhashable"):
        ValueDecoder(references).decode(body)
    assert sorted(references.received) == [5, 6, 6]
