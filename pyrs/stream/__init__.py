"""Stream: a Publisher with operators. Thin: a method an operator, a file a family; what they do is in pyrs/operators.

family      what each family stands on
stream      Stream itself: all families, and the endings: subscribe, for_each, collect, to_iterable, async for
single      Single: a Stream of one element, which can be awaited
"""
