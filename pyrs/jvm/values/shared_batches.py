"""Receive Arrow record batches from a JVM in this process without a copy.

The batches use the Arrow C Data Interface. The link carries the handle of a batch. A control call makes the JVM move
the batch to C structs of Python; no address is read from a frame. If the handle is released before the move, the JVM
releases the batch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from pyrs.errors import ConversionError

SHARED_BATCH: Final = 7
"""The kind of a shared batch in a reference."""
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ArrowSchema(ctypes.Structure):
    _fields_ = (("before", ctypes.c_uint64 * 7), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p))


class _ArrowArray(ctypes.Structure):
    _fields_ = (("before", ctypes.c_uint64 * 8), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p))


def received(handle: int, move: Callable[[int, int, int], object], release: Callable[[int], object]) -> Any:
    """Return the RecordBatch of a handle.

    It uses the JVM's buffers, and releases them when it is destroyed.

    Args:
        handle: The handle of the batch.
        move: Makes the JVM move the batch to an ArrowArray and an ArrowSchema.
        release: Releases the handle.

    Raises:
        ConversionError: pyarrow is not installed.
    """
    array, schema = _ArrowArray(), _ArrowSchema()
    try:
        from pyarrow import RecordBatch

        move(handle, ctypes.addressof(array), ctypes.addressof(schema))
        return RecordBatch._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))
    except ImportError as error:
        raise ConversionError("a shared Arrow batch cannot be converted here: pyarrow is missing") from error
    except BaseException:
        # An interrupt may occur between the move and ``_import_from_c``, which clears both structs.
        for struct in (array, schema):
            if struct.release:
                _Release(struct.release)(ctypes.addressof(struct))
        raise
    finally:
        release(handle)
