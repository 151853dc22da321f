"""Batches, handles and Arrow."""

from __future__ import annotations

import sys

import msgpack
import pyarrow
import pytest

from pyrs.errors import ConversionError, ProtocolError
from pyrs.jvm.values import ValueDecoder, ValueEncoder, owned_handles
from tests.values.value_cases import OfPeer, Plain, Recorder

BAD = msgpack.ExtType(3, (10**9).to_bytes(8, "big"))  # a LocalDate that Python has no year for


def test_elements_before_one_without_a_form_are_kept() -> None:
    for bad in (BAD, [1, BAD], {"a": BAD}, {"a": [BAD, BAD]}):
        elements, error = ValueDecoder(Recorder()).decode_batch(msgpack.packb([1, "two", bad, 4]))
        assert elements == [1, "two"]
        assert isinstance(error, ConversionError)
        assert "java.time.LocalDate" in str(error)


def test_a_decoder_goes_on_after_an_error() -> None:
    decoder = ValueDecoder(Recorder())
    for body in (msgpack.packb([BAD]), b"\xc1", b"\x81\x91\x01\x02", msgpack.packb([BAD, msgpack.ExtType(99, b"")])):
        with pytest.raises((ConversionError, ProtocolError)):
            decoder.decode(body)
        assert decoder.decode_batch(b"\x91\x01") == ([1], None)


def test_a_batch_is_an_array() -> None:
    with pytest.raises(ProtocolError, match="no msgpack array"):
        ValueDecoder(Recorder()).decode_batch(b"\x01")


def test_handles_of_a_dropped_body_once_for_each_receipt() -> None:
    references = Recorder()
    one, other = Plain(), Plain()
    body = ValueEncoder(references).encode([one, [other, one], {other: 1, "k": {one}}, OfPeer(), b"x", {(1,)}])
    assert sorted(owned_handles(body)) == [7, 7, 7, 8, 8]
    received = Recorder()
    ValueDecoder(received).decode(body)
    assert sorted(received.received) == sorted(owned_handles(body))
    assert owned_handles(b"\xc1") == []


def test_an_arrow_batch_both_ways() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"a": [1, 2, None], "b": ["x", "y", "z"]})
    body = ValueEncoder(Recorder()).encode([batch])
    (back,) = ValueDecoder(Recorder()).decode(body)
    assert back.equals(batch)
    assert back.schema.equals(batch.schema)


def test_an_arrow_batch_without_pyarrow_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pyarrow.RecordBatch.from_pydict({"a": [1]})
    body = ValueEncoder(Recorder()).encode(batch)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConversionError, match="pyarrow is missing"):
        ValueDecoder(Recorder()).decode(body)


def test_deep_nesting_never_crashes() -> None:
    with pytest.raises(ProtocolError):
        ValueDecoder(Recorder()).decode(b"\x91" * 5_000 + b"\x01")
    nested = b"\x90"
    for _ in range(3_000):
        nested = b"\x91" + msgpack.packb(msgpack.ExtType(9, nested))
    with pytest.raises(ConversionError, match="within 32 others"):
        ValueDecoder(Recorder()).decode(nested)
    assert owned_handles(nested) == []
