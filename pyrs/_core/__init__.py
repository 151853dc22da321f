"""The engine that enforces the rules, without asyncio and without the JVM.

Towards the Subscriber:

    demand        the arithmetic of demand
    states        the life of a Subscription as a transition table
    downstream    the Subscription of one Subscriber: demand, cancel, terminal signals
    drain         the drain loop: one thread at a time does the work that all threads bring
    serial        a Subscription that signals from a drain loop
    source        the Subscription of a source that produces on the thread that requests

Synchronous operators:

    stage         what an operator does to an iterator, and to pushed elements
    fusion        a chain of stages as one iterator chain
    iterating     the Publisher and the Subscription of a stream over an iterable
    pushed_chain  the same stages as one Subscriber over any other Publisher

Operators with several sources, a buffer, a clock or a thread:

    operator      what the user called, on which source, and where
    coordinator   the engine of operators with several inputs
    arbiter       the engine of operators that switch from one source to the next
    inputs        the Subscribers that receive the sources
    prefetch      how much a consumer with a bounded buffer requests, and when
    overflow      the strategies for elements without demand

Several Subscribers:

    hub           multicast, aligned to the slowest Subscriber
    replay        a hub with a history for later Subscribers

Shared by all:

    blocking      threads that wait for a stream
    callbacks     a Subscriber made of callables
    context       context variables in every callback
    display       reprs of streams, functions and values
    executor      daemon threads that grow with blocked work
    guard         detects foreign Publishers and Subscribers that break a rule
    hooks         receivers of dropped errors and elements
    observation   lets telemetry observe subscriptions
    saving        the state of operators, read from one subscription and written into another
    sites         where an operator was assembled, and the notes on its errors
    validation    checks of arguments
"""
