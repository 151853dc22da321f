"""Stream: a Publisher with operators, in one module per operator family.

The modules hold the public methods; ``pyrs/operators`` implements the operators. The other modules:

    family      the base class of all families
    stream      Stream, which combines all families and has the terminal operations; Single, GroupedStream and
                ConnectableStream, which its operators return
    parallel    ParallelStream, which parallel returns
    advice      messages for method names that other libraries use
"""
