"""The value table and the error table, Python's half: what Python values are on the link, and back.

``references`` says what values that travel by reference need of the bridge; ``encoder`` and ``decoder`` turn values
into msgpack and back; ``table`` has one function per type for the rows that msgpack does not have by itself; ``errors``
carries exceptions. The table in words is docs/values.md; the same rows as data are tests/vectors/values.json.
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
