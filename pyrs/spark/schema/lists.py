"""Take Arrow lists and maps apart, to build them again from other elements."""

from __future__ import annotations

import pyarrow
from pyarrow import compute


def pairs(maps: pyarrow.MapArray) -> pyarrow.ListArray:
    """Return maps as lists of pairs, whose ``flatten`` respects slices and null maps."""
    return maps.cast(pyarrow.list_(pyarrow.struct([maps.type.key_field, maps.type.item_field])))


def offsets(lists: pyarrow.Array) -> pyarrow.Array:
    """Return the start of each list, null for a null list, and the end of the last."""
    valid = lists.is_valid()
    lengths = compute.if_else(valid, compute.list_value_length(lists), 0)
    ends = pyarrow.concat_arrays([pyarrow.array([0], pyarrow.int64()), compute.cumulative_sum(lengths.cast("int64"))])
    starts = compute.if_else(valid, ends.slice(0, len(lists)), None)
    return pyarrow.concat_arrays([starts, ends.slice(len(lists))]).cast(pyarrow.int32())
