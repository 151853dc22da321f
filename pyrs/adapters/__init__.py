"""Streams and what other libraries have in their place. Each module imports its library; import the one you use.

futures     the element of a Single as a future of concurrent.futures
queues      queue.Queue, multiprocessing's and asyncio's, read and filled
reactivex   RxPY's Observables
rsocket     the publishers and subscribers of rsocket-py

Examples:
    >>> from pyrs.adapters import futures
    >>> import pyrs
    >>> futures.to_future(pyrs.range(5).count()).result()
    5
"""

from __future__ import annotations

__all__: list[str] = []
