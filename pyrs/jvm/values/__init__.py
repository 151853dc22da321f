"""The Python half of the value table and the error table.

``encoder`` and ``decoder`` convert values to msgpack and back; ``table`` has one function per type that msgpack lacks;
``subclasses`` selects the row of other classes; ``references`` is the interface to the bridge for values that cross by
reference; ``errors`` converts exceptions. The table is documented in docs/values.md and tested with
tests/vectors/values.json.
"""

from __future__ import annotations

from pyrs.jvm.values.decoder import ValueDecoder, home_handles, owned_handles
from pyrs.jvm.values.encoder import ValueEncoder
from pyrs.jvm.values.errors import Originals, exception_to_wire, wire_to_exception
from pyrs.jvm.values.references import References

__all__ = [
    "Originals",
    "References",
    "ValueDecoder",
    "ValueEncoder",
    "exception_to_wire",
    "home_handles",
    "owned_handles",
    "wire_to_exception",
]
