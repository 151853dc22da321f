"""Processors with one fault each, on the side of the Subscriber, of the Publisher or between them."""

from __future__ import annotations

from typing import Any

from pyrs.api import Subscriber, Subscription
from tests.tck.judging import Case
from tests.tck.right import not_none
from tests.tck.test_processors import ALL_SUBSCRIBERS, AT_ONCE, LONG_AGO, SECOND, RightProcessor
from tests.tck.test_wrong_publishers import COMPLETES, LESS, RIGHT_NUMBER
from tests.tck.test_wrong_subscribers import NULL

__all__ = ["PROCESSORS"]

AFTER_END = "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnComplete"
AFTER_ERROR = "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnError"
CANCELS = "beyond_spec206_mustCancelWheneverItIsTold"
ORDER = "beyond_spec211_mustProcessSignalsInTheirOrder"
SEPARATE = "beyond_spec111_mustSeparateItsSubscribers"
HAPPY = "required_exerciseWhiteboxHappyPath"


class CompletesInsteadOfError(RightProcessor):
    """Completes its Subscribers when its input fails."""

    def on_error(self, error: BaseException, /) -> None:
        self.finish(not_none(error) and None)


class KeepsTheEndBack(RightProcessor):
    """Does not forward on_complete."""

    def on_complete(self) -> None:
        pass


class NeverFails(RightProcessor):
    """Does not forward on_error."""

    def on_error(self, error: BaseException, /) -> None:
        not_none(error)


class DropsEachSecond(RightProcessor):
    """Forwards each second element only."""

    forwards = False

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.forwards = not self.forwards
        if self.forwards:
            super().on_next(element)


class SwapsPairs(RightProcessor):
    """Forwards the elements of each pair in reverse."""

    previous: Any = None

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        if self.previous is None:
            self.previous = element
        else:
            previous, self.previous = self.previous, None
            super().on_next(element)
            super().on_next(previous)


class ForwardsToTheFirst(RightProcessor):
    """Forwards elements to its first Subscriber only."""

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        for branch in self.branches[:1]:
            branch.take(element)


class ForwardsToTheLatest(RightProcessor):
    """Forwards elements to its latest Subscriber only."""

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        for branch in self.branches[-1:]:
            branch.take(element)


class FailsTheLatest(RightProcessor):
    """Signals the error to its latest Subscriber only."""

    def finish(self, error: BaseException | None) -> None:
        self.end, self.upstream = (error,), None
        for branch in self.branches[-1:]:
            branch.finish(self.end)


class KeepsItsInput(RightProcessor):
    """Does not cancel its input when its Subscriber cancels."""

    def left(self, branch: Any) -> None:
        with self.lock:
            self.branches.remove(branch)


class AcceptsNone(RightProcessor):
    """Accepts None as an element."""

    def on_next(self, element: Any, /) -> None:
        if element is not None:
            super().on_next(element)


class AcceptsNoneAsError(RightProcessor):
    """Accepts None as an error."""

    def on_error(self, error: BaseException, /) -> None:
        if error is not None:
            super().on_error(error)


class AcceptsNoneAsSubscription(RightProcessor):
    """Accepts None as a Subscription."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)


class ReplacesItsInput(RightProcessor):
    """Cancels its Subscription when it receives another one, and uses the new one."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        before, self.upstream = self.upstream, not_none(subscription)
        if before is not None:
            before.cancel()
        self.pull()


class RequestsOneShort(RightProcessor):
    """Requests one element less than its Subscribers have requested."""

    def want(self, total: int) -> None:
        super().want(total - 1)


class CompletesEarly(RightProcessor):
    """Completes with the second element."""

    count = 0

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.count += 1
        if self.count == 2:
            self.finish(None)


class CompletesTheSecond(RightProcessor):
    """Completes its second Subscriber without on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if self.branches:
            subscriber.on_complete()
        else:
            super().subscribe(subscriber)


class CompletesAfterError(RightProcessor):
    """Signals on_complete after on_error."""

    def on_error(self, error: BaseException, /) -> None:
        subscribers = [branch.subscriber for branch in self.branches]
        super().on_error(error)
        for subscriber in subscribers:
            assert subscriber is not None
            subscriber.on_complete()


class FailsAfterCompletion(RightProcessor):
    """Signals on_error after on_complete."""

    def on_complete(self) -> None:
        subscribers = [branch.subscriber for branch in self.branches]
        super().on_complete()
        for subscriber in subscribers:
            assert subscriber is not None
            subscriber.on_error(RuntimeError("one more"))


class DropsTheBacklog(RightProcessor):
    """Drops an element for a Subscriber that has two buffered elements."""

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        for branch in list(self.branches):
            if len(branch.waiting) < 2:
                branch.take(element)


class EndOvertakesTheBacklog(RightProcessor):
    """Completes each Subscriber at once, and drops the elements that this Subscriber has not requested."""

    def on_complete(self) -> None:
        for branch in list(self.branches):
            branch.waiting.clear()
        super().on_complete()


PROCESSORS = [
    Case(AT_ONCE, CompletesInsteadOfError, ""),
    Case(COMPLETES, KeepsTheEndBack, "did not receive the expected on_complete"),
    Case(AT_ONCE, NeverFails, "the Processor did not forward the error within 1500 ms (rule 4.2)"),
    Case(LESS, DropsEachSecond, "did not receive the expected element"),
    Case(ORDER, SwapsPairs, "reported on_next(1) instead of on_next(0)"),
    Case(LONG_AGO, ForwardsToTheFirst, ""),
    Case(LONG_AGO, ForwardsToTheLatest, ""),
    Case(ALL_SUBSCRIBERS, FailsTheLatest, "the Processor did not forward the error within 1500 ms (rule 4.2)"),
    Case(CANCELS, KeepsItsInput, "before any request, the Subscriber did not cancel within 1500 ms (rule 2.6)"),
    Case(NULL.format("onNext"), AcceptsNone, "on_next(None) did not raise TypeError"),
    Case(NULL.format("onError"), AcceptsNoneAsError, "on_error(None) did not raise TypeError"),
    Case(NULL.format("onSubscribe"), AcceptsNoneAsSubscription, "on_subscribe(None) did not raise TypeError"),
    Case(SECOND, ReplacesItsInput, "did not cancel the second Subscription within 1500 ms (rule 2.5)"),
    Case(RIGHT_NUMBER, RequestsOneShort, "published no element after the first request"),
    Case(HAPPY, CompletesEarly, ""),
    Case(LONG_AGO, CompletesTheSecond, ""),
    Case(SEPARATE, DropsTheBacklog, "after the end of the input received 0, 1 of 0, 1, 2: a Processor with a buffer"),
    Case(SEPARATE, EndOvertakesTheBacklog, "after the end of the input received none of 0, 1, 2: a Processor with a"),
    Case(AFTER_ERROR, CompletesAfterError, "received on_complete after on_error, which is the last signal (rule 1.7)"),
    Case(AFTER_END, FailsAfterCompletion, "received on_error after on_complete, which is the last signal (rule 1.7)"),
]
