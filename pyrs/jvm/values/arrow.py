"""Convert Arrow record batches to IPC streams and back, with pyarrow."""

from __future__ import annotations

from typing import Any

from pyrs.errors import ConversionError
from pyrs.jvm.buffers import Buffer


class _Sink:
    """A file that keeps the buffers that pyarrow writes, without copying columns."""

    closed = False

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def write(self, buffer: Any) -> int:
        self.buffers.append(buffer if type(buffer) is bytes else memoryview(buffer).cast("B"))
        return len(buffer)

    def flush(self) -> None:
        """Do nothing: the buffers are complete."""

    def close(self) -> None:
        """Do nothing: the buffers remain."""


def ipc_buffers(batch: Any) -> list[Buffer]:
    """Return the buffers of a RecordBatch's IPC stream, without copying columns."""
    import pyarrow

    sink = _Sink()
    with pyarrow.ipc.new_stream(pyarrow.PythonFile(sink, mode="w"), batch.schema) as writer:
        writer.write_batch(batch)
    return sink.buffers


def from_ipc(stream: bytes | memoryview) -> Any:
    """Return the RecordBatch of an IPC stream, whose columns refer to the bytes.

    Raises:
        ConversionError: pyarrow is not installed, or the stream does not hold exactly one batch.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise ConversionError(
            "an Arrow batch (io.pyrs.value.ArrowBatch) cannot be converted here: pyarrow is missing"
        ) from error
    with pyarrow.ipc.open_stream(pyarrow.py_buffer(stream)) as reader:
        batches = list(reader)
    if len(batches) != 1:
        raise ConversionError(f"its IPC stream holds {len(batches)} batches: send each batch as a separate element")
    return batches[0]
