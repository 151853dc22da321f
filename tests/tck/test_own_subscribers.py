"""pyrs' Subscribers before the referee: each item below is one test of the kit."""

from __future__ import annotations

from typing import Any

from pyrs._core.callbacks import CallbackSubscriber
from pyrs.api import Subscription
from pyrs.tck import SubscriberBlackboxVerification, SubscriberWhiteboxVerification, WhiteboxProbe
from pyrs.testing import TestSubscriber
from tests.tck.right import Puppet


class _Probed(TestSubscriber[Any]):
    """Tells the probe what it was told."""

    def __init__(self, probe: WhiteboxProbe[Any]) -> None:
        super().__init__()
        self._probe = probe

    def on_subscribe(self, subscription: Subscription, /) -> None:
        first = self.subscription is None
        super().on_subscribe(subscription)
        if first:
            self._probe.register_on_subscribe(Puppet(subscription))

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self._probe.register_on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self._probe.register_on_error(error)

    def on_complete(self) -> None:
        super().on_complete()
        self._probe.register_on_complete()


class WhiteboxTestSubscriberVerification(SubscriberWhiteboxVerification[int]):
    def create_subscriber(self, probe: WhiteboxProbe[int]) -> Any:
        return _Probed(probe)

    def create_element(self, n: int) -> int:
        return n


class BlackboxTestSubscriberVerification(SubscriberBlackboxVerification[int]):
    def create_subscriber(self) -> Any:
        return TestSubscriber()

    def create_element(self, n: int) -> int:
        return n

    def trigger_request(self, subscriber: Any) -> None:
        subscriber.request(1)


class CallbackSubscriberVerification(SubscriberBlackboxVerification[int]):
    """What `subscribe(on_next=...)` makes, asking for everything."""

    def create_subscriber(self) -> Any:
        return CallbackSubscriber(lambda element: None, lambda error: None, lambda: None, None)

    def create_element(self, n: int) -> int:
        return n


class LimitedCallbackSubscriberVerification(SubscriberBlackboxVerification[int]):
    """What `subscribe(on_next=..., request=3)` makes."""

    def create_subscriber(self) -> Any:
        return CallbackSubscriber(lambda element: None, lambda error: None, lambda: None, 3)

    def create_element(self, n: int) -> int:
        return n
