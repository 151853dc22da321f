"""The sources: functions that return the :class:`pyrs.Stream` of a Publisher that begins a stream.

basic        from_iterable, range, just, empty, error, never
asynchronous from_async_iterable, from_awaitable, from_future
deferred     defer, using, from_callable, generate
"""
