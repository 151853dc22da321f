"""The operators, a file per family. ``Stream`` has a thin method for each; what it does is here.

transforming   map, scan, with_index, materialize, dematerialize; notification holds what the last two speak of
filtering   filter, take, skip, distinct, ...
folding     to_list, reduce, first, last, ...: one element of all, or one of them
buffering   buffer; windowing and grouping, which stand on splitting, make streams of streams
terminal    for_each, collect, to_iterable
"""
