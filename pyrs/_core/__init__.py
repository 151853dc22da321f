"""The machinery: where the rules are kept. Stdlib only; it knows neither asyncio nor the JVM.

A source that is pulled, and synchronous operators:

    demand        how demand adds up
    states        the life of a Subscription as a transition table
    subscription  a source's Subscription: exact demand, serial signals, bounded recursion, one terminal signal
    iterating     the Subscription of a stream over an iterable
    stage         a synchronous operator: over an iterator, and for elements that are pushed
    fusion        chains of stages as one iterator chain
    pushed_chain  the same stages as one Subscriber over any other Publisher

Operators over several sources, with a buffer, a clock or a thread:

    arbiter       sequential sources behind one Subscription
    drain         the drain loop: one thread at a time does the work that all threads bring
    operator      what the user called, on which source, and where
    coordinator   a drain loop, and the Subscription of whoever is signalled on it
    inputs        the Subscribers through which a coordinator takes its upstreams
    refill        the demand of a consumer with a bounded buffer
    overflow      what becomes of an element for which there is no room

Several Subscribers:

    hub           one source, many Subscribers: aligned to the slowest
    replay        a hub that keeps what it signalled, for those who come later

What all of them use:

    blocking      which thread waits for a stream: a loop that runs there stands still
    callbacks     a Subscriber made of callables
    context       context variables of whoever subscribed, in every callback
    executor      daemon threads that grow with blocked work
    guard         catches a foreign Publisher or Subscriber that breaks a rule
    hooks         where errors and elements go that nobody can receive
    sites         where an operator was assembled, and how an error comes to say so
    display       reprs of streams, functions and values
    validation    checks of arguments
"""
