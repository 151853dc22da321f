"""Adapters between streams and other libraries.

Importing a module also imports the library that the module adapts:

    futures     the element of a Single as a ``concurrent.futures.Future``
    queues      ``queue``, ``multiprocessing`` and asyncio queues as sources and as targets
    reactivex   RxPY Observables
    rsocket     publishers and subscribers of rsocket-py

Examples:
    >>> from pyrs.adapters import futures
    >>> import pyrs
    >>> futures.to_future(pyrs.range(5).count()).result()
    5
"""

from __future__ import annotations

__all__: list[str] = []
