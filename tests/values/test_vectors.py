"""The Python side encodes and decodes the shared value vectors; a test of the Java side reads the same file."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest

from pyrs.errors import ConversionError, ProtocolError
from pyrs.jvm.values.decoder import ValueDecoder
from pyrs.jvm.values.encoder import ValueEncoder
from tests.values.value_cases import VECTORS, Recorder, same, value_of


def rows(key: str, values: Container[object] | None = None) -> Any:
    """Return a mark that runs a test for each vector with this key, and with one of these values."""
    found = [row for row in VECTORS if key in row and (values is None or row[key] in values)]
    assert found
    return pytest.mark.parametrize("row", found, ids=lambda row: row["name"])


@rows("python")
def test_a_value_is_encoded_as_recorded(row: dict[str, Any]) -> None:
    for expression in [row["python"], *row.get("also_python", [])]:
        encoder = ValueEncoder(Recorder())
        assert encoder.encode(value_of(expression)).hex() == row["hex"], expression


@rows("python")
def test_bytes_are_decoded_as_recorded(row: dict[str, Any]) -> None:
    expected = value_of(row.get("python_back", row["python"]))
    for body in (bytes.fromhex(row["hex"]), bytearray.fromhex(row["hex"]), memoryview(bytes.fromhex(row["hex"]))):
        assert same(ValueDecoder(Recorder()).decode(body), expected)


@rows("python")
def test_the_value_survives_in_a_batch(row: dict[str, Any]) -> None:
    expected = value_of(row.get("python_back", row["python"]))
    # ``decode_entries`` accepts null, which is a value but not an element.
    elements, error = ValueDecoder(Recorder()).decode_entries(b"\x92" + bytes.fromhex(row["hex"]) * 2)
    assert error is None
    assert same(elements, [expected, expected])


@rows("python_reads")
def test_bytes_that_only_java_writes_are_decoded(row: dict[str, Any]) -> None:
    assert same(ValueDecoder(Recorder()).decode(bytes.fromhex(row["hex"])), value_of(row["python_reads"]))


@rows("unconvertible_in", ("python", "both"))
def test_bytes_without_a_python_value_raise_conversion_error(row: dict[str, Any]) -> None:
    with pytest.raises(ConversionError, match="cannot be converted"):
        ValueDecoder(Recorder()).decode(bytes.fromhex(row["hex"]))


@rows("malformed")
def test_malformed_bytes_raise_protocol_error(row: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        ValueDecoder(Recorder()).decode(bytes.fromhex(row["hex"]))
