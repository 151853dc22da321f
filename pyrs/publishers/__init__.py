"""Sources: functions that return a ``pyrs.Stream``, ``Maybe`` or ``Single``.

The modules:

    basic         from_iterable, range, just, empty, error, never
    deferred      defer, using, from_callable, generate
    asynchronous  from_async_iterable, from_awaitable, from_future, using_when
    creating      create, for code that pushes elements
    timed         interval, timer
    combining     merge, concat, zip, combine_latest
"""
