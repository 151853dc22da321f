"""CallbackSubscriber: a Subscriber that calls the given functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NoReturn

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs._core.validation import checked_callable, checked_integer, checked_natural
from pyrs.api import Subscriber, Subscription, T
from pyrs.errors import NullSignal


class CallbackSubscriber(IteratorConsumer[T], Subscriber[T], Subscription):
    """A Subscriber that calls the given callables.

    It is also the Subscription that ``subscribe`` returns. A Publisher may call ``on_subscribe`` on another thread;
    requests before that wait for the Subscription. If ``on_next`` raises, the stream is cancelled (§2.13). The error of
    any callable is reported as dropped; an interrupt or exit propagates. An error signal without an ``on_error``
    callable is reported as dropped too.

    Args:
        request: the first request; None for unbounded demand, 0 for none.

    Rules: 2.1, 2.4, 2.5, 2.13, 3.6, 3.7.
    """

    def __init__(
        self,
        on_next: Callable[[T], object] | None,
        on_error: Callable[[BaseException], object] | None,
        on_complete: Callable[[], object] | None,
        request: int | None,
    ) -> None:
        for name, callback in (("on_next", on_next), ("on_error", on_error), ("on_complete", on_complete)):
            if callback is not None:
                checked_callable(callback, name)
        self._next = on_next
        self._error = on_error
        self._complete = on_complete
        first = UNBOUNDED if request is None else min(checked_natural(request, "request"), UNBOUNDED)
        # The requests that wait for the Subscription. An empty deque would take 760 bytes for each subscription.
        self._unsent = [first] if first else []
        self._subscription: Subscription | None = None
        self._over = False
        # Makes ``consume`` stop: after a terminal signal, a cancel or an illegal request (3.9). Set after upstream was
        # called, because a source regards the end of ``consume`` as that of its iterator, unless it is cancelled.
        self._stops = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        if self._subscription is not None or self._over:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        if self._over:  # cancelled since the check above, on another thread
            self._subscription = None  # type: ignore[unreachable]
            subscription.cancel()
        else:
            self._send_requests()

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._over:
            hooks.discard((), element)
        elif self._next is not None:
            try:
                self._next(element)
            except BaseException as error:
                self.cancel()
                hooks.report(error, "raised by the on_next callback")

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        action = self._next if self._next is not None else lambda element: None  # a callable may be false
        taken = 0
        for element in iterator:
            if element is None:
                raise null_element()
            taken += 1
            try:
                action(element)
            except BaseException as error:
                self.cancel()
                hooks.report(error, "raised by the on_next callback")
                action = partial(hooks.discard, ())  # if another thread is inside ``cancel``, elements follow
            if taken == limit or self._stops:
                break
        return taken

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._end()
        if self._error is None:
            hooks.on_error_dropped(error, "subscribe() was called without on_error")
            return
        try:
            self._error(error)
        except BaseException as raised:
            hooks.report(raised, "raised by the on_error callback")

    def on_complete(self) -> None:
        self._end()
        if self._complete is not None:
            try:
                self._complete()
            except BaseException as error:
                hooks.report(error, "raised by the on_complete callback")

    def request(self, n: int, /) -> None:
        n = min(checked_integer(n, "n"), UNBOUNDED)  # 3.17: the maximum of a Java long
        subscription = self._subscription
        if subscription is not None:
            subscription.request(n)
            if n <= 0:
                self._stops = True
        elif not self._over:
            self._unsent.append(n)
            if self._subscription is not None:  # stored since the first check, so on_subscribe may not send this n
                self._send_requests()

    def _send_requests(self) -> None:
        unsent = self._unsent
        while unsent:
            try:
                n = unsent.pop(0)
            except IndexError:  # another thread has just sent the last one
                return
            self.request(n)

    def cancel(self) -> None:
        if self._over:
            return
        self._over = True
        subscription = self._subscription  # read last: on_subscribe checks ``_over`` after it has stored it
        try:
            if subscription is not None:
                subscription.cancel()
        finally:
            self._end()

    @property
    def dispose(self) -> NoReturn:
        """Raise an AttributeError that names ``cancel``, for users of RxPY and Reactor."""
        raise AttributeError("a Subscription has no dispose(): use cancel()", name="dispose", obj=self)

    @property
    def unsubscribe(self) -> NoReturn:
        """Raise an AttributeError that names ``cancel``, for users of RxJS."""
        raise AttributeError("a Subscription has no unsubscribe(): use cancel()", name="unsubscribe", obj=self)

    def __repr__(self) -> str:
        subscription = self._subscription
        if subscription is None:
            return f"<CallbackSubscriber: {'over' if self._over else 'not subscribed yet'}>"
        return f"<CallbackSubscriber: {subscription!r}>"

    def _end(self) -> None:
        self._over = self._stops = True
        self._subscription = None
