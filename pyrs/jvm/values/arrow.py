"""Convert Arrow record batches to IPC streams. Only this module imports pyarrow."""

from __future__ import annotations

from typing import Any

from pyrs.errors import ConversionError


def to_ipc(batch: Any) -> bytes:
    """Return the bytes of an IPC stream that holds a RecordBatch."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_ipc(stream: bytes) -> Any:
    """Return the RecordBatch of an IPC stream; its columns are not copied.

    Raises:
        ConversionError: pyarrow is not installed, or the stream does not hold exactly one batch.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise ConversionError(
            "an Arrow batch (io.pyrs.value.ArrowBatch) has no form here: pyarrow is missing"
        ) from error
    with pyarrow.ipc.open_stream(pyarrow.py_buffer(stream)) as reader:
        batches = list(reader)
    if len(batches) != 1:
        raise ConversionError(f"its IPC stream holds {len(batches)} batches, and an element is one: send one in each")
    return batches[0]
