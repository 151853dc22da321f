"""AsyncSubscriber: the type of a Subscriber with coroutine methods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from pyrs.api import Subscription

T_contra = TypeVar("T_contra", contravariant=True)


class AsyncSubscriber(Protocol[T_contra]):
    """A Subscriber whose methods may be coroutine functions.

    ``Stream.subscribe`` accepts it, and awaits its methods sequentially on one asyncio loop. The rules of a
    ``Subscriber`` apply.

    Examples:
        >>> import asyncio, pyrs
        >>> class Printer(pyrs.AsyncSubscriber[int]):
        ...     def __init__(self):
        ...         self.done = asyncio.Event()
        ...     async def on_subscribe(self, subscription):
        ...         subscription.request(2)
        ...     async def on_next(self, element):
        ...         await asyncio.sleep(0)
        ...         print(element)
        ...     async def on_error(self, error):
        ...         self.done.set()
        ...     async def on_complete(self):
        ...         self.done.set()
        >>> async def main():
        ...     printer = Printer()
        ...     pyrs.range(2).subscribe(printer)
        ...     await printer.done.wait()
        >>> asyncio.run(main())
        0
        1
    """

    @abstractmethod
    def on_subscribe(self, subscription: Subscription, /) -> Awaitable[None] | None:
        """Receive the Subscription; see ``Subscriber.on_subscribe``."""

    @abstractmethod
    def on_next(self, element: T_contra, /) -> Awaitable[None] | None:
        """Receive an element; see ``Subscriber.on_next``."""

    @abstractmethod
    def on_error(self, error: BaseException, /) -> Awaitable[None] | None:
        """Receive the error; see ``Subscriber.on_error``."""

    @abstractmethod
    def on_complete(self) -> Awaitable[None] | None:
        """Receive the completion; see ``Subscriber.on_complete``."""
