"""The engine that enforces the rules, without asyncio and without the JVM.

Towards the Subscriber:

    demand        the arithmetic of demand; the requests of a consumer with a bounded buffer
    states        the life cycle of a Subscription as a transition table
    downstream    the Subscription of one Subscriber: demand, cancel, terminal signals
    drain         the drain loop: any thread adds work, one thread at a time does it
    serial        a Subscription that signals from a drain loop
    source        the Subscription of a source that produces on the thread that requests

Synchronous operators:

    stage         a synchronous operator, for an iterator and for pushed elements
    fusion        a chain of stages as one iterator chain
    iterating     the Publisher and the Subscription of a stream over an iterable
    pushed_chain  the same stages as one Subscriber over any other Publisher

Operators with several sources, a buffer, a clock or a thread:

    operator      a Publisher with the call, the source and the call site of an operator
    coordinator   the engine of operators with several inputs
    arbiter       the engine of operators that switch from one source to the next
    inputs        the Subscribers of the sources
    overflow      the strategies for elements without demand

Several Subscribers:

    hub           multicast: the base class, and the hub that is aligned to the slowest Subscriber
    replay        the hub with a history for later Subscribers

Shared by all:

    blocked_threads  the event loops whose threads are blocked on a stream
    callbacks     a Subscriber that calls the given functions
    context       context variables in every callback
    display       reprs of streams, functions and values
    executor      a pool of daemon threads, which grows while tasks block
    guard         detects foreign Publishers and Subscribers that break a rule
    hooks         receivers of dropped errors and elements
    observation   lets telemetry observe subscriptions
    saving        the state of operators, read from one subscription and written into another
    sites         where an operator was assembled, and the notes on its errors
    temporary     folders that are removed when the process exits
    validation    checks of arguments
"""
