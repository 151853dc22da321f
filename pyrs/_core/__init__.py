"""The machinery: where the rules are kept. Stdlib only; it knows neither asyncio nor the JVM.

states        the life of a Subscription as a transition table
demand        how demand adds up
subscription  a source's Subscription: exact demand, serial signals, bounded recursion, one terminal signal
iterating     the Subscription of a stream over an iterable
fusion        chains of synchronous stages as one iterator chain
staged        the same stages as one Subscriber over any other Publisher
callbacks     a Subscriber made of callables
refill        the demand of a consumer with a bounded buffer
drain         one body at a time, however many ask
context       context variables of whoever subscribed, in every callback
hub           one source, many Subscribers: aligned to the slowest
replay        a hub that keeps what it signalled, for those who come later
executor      daemon threads that grow with blocked work
guard         catches a foreign Publisher or Subscriber that breaks a rule
hooks         where errors and elements go that nobody can receive
text          how streams are shown, and arguments checked
"""
