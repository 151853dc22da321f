"""The sources: functions that return the ``pyrs.Stream`` of a Publisher that begins a stream.

basic         from_iterable, range, just, empty, error, never
deferred      defer, using, from_callable, generate
asynchronous  from_async_iterable, from_awaitable, from_future
creating      create, which is pushed into
timed         interval, timer
combining     merge, concat, zip, combine_latest
"""
