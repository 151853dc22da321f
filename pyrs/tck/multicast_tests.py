"""The TCK's tests of several Subscribers, from reactive-streams-tck (MIT-0)."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.api import Publisher
from pyrs.tck.manual import ManualSubscriber
from pyrs.tck.publisher_hooks import PublisherHooks, publisher_test

T = TypeVar("T")


class MulticastTests(PublisherHooks[T], Generic[T]):
    """The tests of §1.11, which is optional."""

    @publisher_test(1, optional=True)
    def optional_spec111_maySupportMultiSubscribe(self, publisher: Publisher[T]) -> None:
        """A Publisher may support two Subscribers at the same time."""
        first, second = self._subscribers(publisher, 2)
        try:
            self.env.verify_no_async_errors()
        finally:
            self._cancel(first, second)

    @publisher_test(1, optional=True)
    def optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals(
        self, publisher: Publisher[T]
    ) -> None:
        """Each of two Subscribers should receive an element or on_complete."""
        first, second = self._subscribers(publisher, 2)
        # The Publisher may be unicast or multicast, so either Subscriber may receive the element.
        first.request_next_element_or_end_of_stream()
        second.request_next_element_or_end_of_stream()
        try:
            self.env.verify_no_async_errors()
        finally:
            self._cancel(first, second)

    @publisher_test(5, completes=True, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingOneByOne(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that request in turn should receive the same elements."""
        first, second, third = self._subscribers(publisher, 3)
        got: list[list[T]] = [[], [], []]
        # Pairs of a Subscriber and the number of elements that it requests; 0 expects the end.
        turns = ((0, 1), (1, 2), (0, 1), (2, 3), (2, 1), (2, 1), (2, 0), (1, 3), (1, 0), (0, 2), (0, 1), (0, 0))
        subscribers = (first, second, third)
        for who, count in turns:
            name = f"{self.name_of(publisher)} did not"
            if count:
                subscribers[who].request(count)
                got[who] += subscribers[who].next_elements(
                    count, f"{name} publish the requested {count} elements to Subscriber {who + 1}"
                )
            else:
                subscribers[who].request_end_of_stream(f"{name} signal on_complete to Subscriber {who + 1}")
        self._assert_same(got)

    @publisher_test(3, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfront(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that request all at once should receive the same elements."""
        self._assert_same(self._many_upfront(self._subscribers(publisher, 3)))

    @publisher_test(3, completes=True, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfrontAndCompleteAsExpected(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that request all at once should receive the same stream."""
        subscribers = self._subscribers(publisher, 3)
        got = self._many_upfront(subscribers)
        for subscriber in subscribers:
            subscriber.expect_completion()
        self._assert_same(got)

    def _subscribers(self, publisher: Publisher[T], count: int) -> list[ManualSubscriber[T]]:
        return [self.new_manual_subscriber(publisher) for _ in range(count)]

    def _many_upfront(self, subscribers: list[ManualSubscriber[T]]) -> list[list[T]]:
        for subscriber in subscribers:
            subscriber.request(4)  # one element more than there are, because some Publishers complete only on a request
        return [subscriber.next_elements(3) for subscriber in subscribers]

    def _assert_same(self, got: list[list[T]]) -> None:
        for at in range(len(got) - 1):
            if got[at] != got[at + 1]:
                raise AssertionError(
                    f"Subscribers {at + 1} and {at + 2} must receive the same elements in the same order, "
                    f"but received {got[at]} and {got[at + 1]}"
                )

    def _cancel(self, first: ManualSubscriber[T], second: ManualSubscriber[T]) -> None:
        try:
            first.cancel()
        finally:
            second.cancel()
