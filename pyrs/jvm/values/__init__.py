"""Python's side of the value table and the error table.

``encoder`` and ``decoder`` convert values to msgpack and back; ``table`` has one function per type that msgpack lacks;
``subclasses`` selects the row of other classes; ``arrow`` and ``shared_batches`` convert Arrow record batches;
``references`` is the interface to the bridge for values that cross by reference; ``errors`` converts exceptions. The
table is documented in docs/values.md and tested with tests/vectors/values.json.
"""
