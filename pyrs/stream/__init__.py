"""Stream: a Publisher with operators, in one module per operator family.

These modules define the public methods; ``pyrs/operators`` implements the operators. The other modules:

    family      the base class of all families
    stream      Stream, which combines all families; Maybe, Single, GroupedStream and ConnectableStream, which its
                operators return
    parallel    ParallelStream, which parallel returns
    awaiting    AsyncSubscriber, the type of a Subscriber with coroutine methods
    explaining  the result of Stream.explain, as text and as SVG
    traits      the demand, the buffers and the threads of operators, for Stream.explain
    advice      messages for method names that other libraries use
"""
