"""The operators, a file per family. ``Stream`` has a thin method for each; what it does is here.

transforming   map
filtering   filter, take
terminal    for_each, collect, to_iterable
"""
