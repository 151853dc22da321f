"""The sources: functions that return the :class:`pyrs.Stream` of a Publisher that begins a stream.

basic        from_iterable, range, just, empty, error, never
deferred     defer, using, from_callable, generate
"""
