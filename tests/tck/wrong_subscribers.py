"""Subscribers with one violation each, many from the tests of the official TCK."""

from __future__ import annotations

from threading import Thread
from typing import Any, ClassVar

from pyrs.api import Subscription
from tests.tck.right import Puppet, RightProbed, RightSubscriber, not_none

# Whitebox Subscribers.


class ForgetsToRegister(RightProbed):
    """Does not register its puppet with the probe."""

    def accepted(self, subscription: Subscription) -> None:
        pass


class ForgetsElements(RightProbed):
    """Does not report elements to the probe."""

    def on_next(self, element: Any, /) -> None:
        not_none(element)


class RegistersTwice(RightProbed):
    """Reports each element to the probe twice."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        super().on_next(element)


class RegistersAnother(RightProbed):
    """Reports another element to the probe instead of each received one."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(not_none(element) + 1)


class NeverCancels(RightProbed):
    """Does not cancel when the puppet is called."""

    class puppet(Puppet):  # noqa: N801
        def signal_cancel(self) -> None:
            pass


class NeverRequests(RightProbed):
    """Does not request when the puppet is called."""

    class puppet(Puppet):  # noqa: N801
        def trigger_request(self, elements: int) -> None:
            pass


class RequestsNothing(RightProbed):
    """Calls request(0)."""

    class puppet(Puppet):  # noqa: N801
        def trigger_request(self, elements: int) -> None:
            self.subscription.request(0)


class RequestsOneOnly(RightProbed):
    """Requests one element for each call of the puppet, whatever the number."""

    class puppet(Puppet):  # noqa: N801
        def trigger_request(self, elements: int) -> None:
            self.subscription.request(1)


class RequestsInOnComplete(RightProbed):
    """Calls request in on_complete, before it reports the signal."""

    def on_complete(self) -> None:
        assert self.subscription is not None
        self.subscription.request(1)
        super().on_complete()


class CancelsInOnComplete(RightProbed):
    """Calls cancel in on_complete, before it reports the signal."""

    def on_complete(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()
        super().on_complete()


class RequestsInOnError(RightProbed):
    """Calls request in on_error, and does not report the signal."""

    def on_error(self, error: BaseException, /) -> None:
        assert self.subscription is not None
        self.subscription.request(1)


class CancelsInOnError(RightProbed):
    """Calls cancel in on_error, and does not report the signal."""

    def on_error(self, error: BaseException, /) -> None:
        assert self.subscription is not None
        self.subscription.cancel()


class TakesEverySubscription(RightProbed):
    """Accepts a second Subscription instead of cancelling it."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = not_none(subscription)
        self.accepted(subscription)


class RaisesAfterCancel(RightProbed):
    """Raises if an element arrives after its cancel."""

    cancelled: ClassVar[bool] = False

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class Cancelling(Puppet):
            def signal_cancel(self) -> None:
                subscriber.cancelled = True  # type: ignore[misc]
                super().signal_cancel()

        self.probe.register_on_subscribe(Cancelling(subscription))

    def on_next(self, element: Any, /) -> None:
        if self.cancelled:
            raise RuntimeError("But I thought it's cancelled!")
        super().on_next(element)


class ForgetsTheEnd(RightProbed):
    """Does not report on_complete to the probe."""

    def on_complete(self) -> None:
        pass


class ForgetsTheError(RightProbed):
    """Does not report on_error to the probe."""

    def on_error(self, error: BaseException, /) -> None:
        not_none(error)


class ReportsAnotherError(RightProbed):
    """Reports another error to the probe instead of the received one."""

    def on_error(self, error: BaseException, /) -> None:
        self.probe.register_on_error(RuntimeError("another"))


class RaisesOnError(RightProbed):
    """Raises in on_error."""

    def on_error(self, error: BaseException, /) -> None:
        raise RuntimeError("Wrong, don't do this!") from error


class TakesNone(RightProbed):
    """Ignores None as an argument instead of raising TypeError."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        if element is not None:
            super().on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        if error is not None:
            super().on_error(error)


class RequestsLater(RightProbed):
    """Calls the Subscription after the terminal signal on another thread, which the official TCK does not detect."""

    def later(self) -> None:
        assert self.subscription is not None
        thread = Thread(target=self.subscription.request, args=(1,), daemon=True)
        thread.start()
        thread.join()

    def on_complete(self) -> None:
        super().on_complete()
        self.later()

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.later()


class TriesTheSecond(RightProbed):
    """Requests from a second Subscription, and then cancels that Subscription."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.subscription is not None:
            subscription.request(1)
        super().on_subscribe(subscription)


class RequestsOnAThreadOfItsOwn(RightProbed):
    """Requests the next element on new threads, so that requests may overlap."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        assert self.subscription is not None
        for _ in range(2):
            Thread(target=self.subscription.request, args=(1,), daemon=True).start()


class HoldsTheFirstBack(RightProbed):
    """Processes the first element after the second."""

    first: Any = None

    def on_next(self, element: Any, /) -> None:
        if self.first is None:
            self.first = [not_none(element)]
        else:
            super().on_next(element)
            if self.first:
                super().on_next(self.first.pop())


class SharesTheSubscription(RightProbed):
    """Shares its Subscription with the other Subscribers."""

    shared: ClassVar[list[Subscription]] = []

    def accepted(self, subscription: Subscription) -> None:
        self.shared.append(subscription)
        latest = self

        class Latest(Puppet):
            def trigger_request(self, elements: int) -> None:
                latest.shared[-1].request(elements)

        self.probe.register_on_subscribe(Latest(subscription))


# Blackbox Subscribers.


class Silent(RightSubscriber):
    """Requests nothing."""

    def accepted(self, subscription: Subscription) -> None:
        pass


class Negative(RightSubscriber):
    """Calls request(-1)."""

    def accepted(self, subscription: Subscription) -> None:
        subscription.request(-1)


class RaisesOnNext(RightSubscriber):
    """Raises in on_next."""

    def on_next(self, element: Any, /) -> None:
        raise RuntimeError(f"what shall I do with {not_none(element)}?")


class BlackRequestsInOnComplete(RightSubscriber):
    """Calls request in on_complete."""

    def on_complete(self) -> None:
        assert self.subscription is not None
        self.subscription.request(1)


class BlackCancelsInOnComplete(RightSubscriber):
    """Calls cancel in on_complete."""

    def on_complete(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()


class BlackRequestsInOnError(RightSubscriber):
    """Calls request in on_error."""

    def on_error(self, error: BaseException, /) -> None:
        assert self.subscription is not None
        self.subscription.request(1)


class BlackCancelsInOnError(RightSubscriber):
    """Calls cancel in on_error."""

    def on_error(self, error: BaseException, /) -> None:
        assert self.subscription is not None
        self.subscription.cancel()


class RequestsFromEach(RightSubscriber):
    """Accepts a second Subscription and requests from it."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = not_none(subscription)
        subscription.request(1)


class KeepsEach(RightSubscriber):
    """Accepts a second Subscription instead of cancelling it."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.subscription is None:
            subscription.request(1)
        self.subscription = subscription


class RaisesOnComplete(RightSubscriber):
    """Raises in on_complete."""

    def on_complete(self) -> None:
        raise RuntimeError("It cannot be over!")


class BlackRaisesOnError(RightSubscriber):
    """Raises in on_error."""

    def on_error(self, error: BaseException, /) -> None:
        raise RuntimeError("Wrong, don't do this!") from error


class NoneIsFine(RightSubscriber):
    """Ignores None as an argument instead of raising TypeError."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        pass

    def on_error(self, error: BaseException, /) -> None:
        pass


class AcceptsNoneElements(RightSubscriber):
    """Ignores None as an element."""

    def on_next(self, element: Any, /) -> None:
        if element is not None:
            super().on_next(element)


class BlackRequestsLater(RightSubscriber):
    """Calls request after the terminal signal, on another thread."""

    def later(self) -> None:
        assert self.subscription is not None
        thread = Thread(target=self.subscription.request, args=(1,), daemon=True)
        thread.start()
        thread.join()

    def on_complete(self) -> None:
        self.later()

    def on_error(self, error: BaseException, /) -> None:
        self.later()


class BlackRequestsOnThreads(RightSubscriber):
    """Requests the next element on new threads, so that requests may overlap."""

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        assert self.subscription is not None
        for _ in range(2):
            Thread(target=self.subscription.request, args=(1,), daemon=True).start()


class BlackShares(RightSubscriber):
    """Requests from the Subscription of the latest Subscriber."""

    latest: ClassVar[list[Subscription]] = []

    def accepted(self, subscription: Subscription) -> None:
        self.latest.append(subscription)
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.latest[-1].request(1)
