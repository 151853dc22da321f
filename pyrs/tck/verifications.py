"""The verifications of Publishers and Subscribers.

They consist of their tests and the table of the official TCK.
"""

from __future__ import annotations

from pyrs.tck.beyond_subscriber import BeyondBlackboxTests, BeyondWhiteboxTests
from pyrs.tck.beyond_subscription import BeyondSubscriptionTests
from pyrs.tck.environment import T
from pyrs.tck.expected import BLACKBOX, PUBLISHER, WHITEBOX
from pyrs.tck.publisher_tests import PublisherTests
from pyrs.tck.races import RaceTests
from pyrs.tck.subscriber_tests import BlackboxTests, WhiteboxTests
from pyrs.tck.subscription_tests import SubscriptionTests


class PublisherVerification(
    RaceTests[T],
    BeyondSubscriptionTests[T],
    SubscriptionTests[T],
    PublisherTests[T],
):
    """Tests a Publisher and its Subscriptions.

    Define ``create_publisher`` in a subclass. The 38 tests of the official TCK keep their names; the additional tests
    begin with ``beyond_``.

    Examples:
        >>> import pyrs
        >>> class RangeVerification(PublisherVerification[int]):
        ...     def create_publisher(self, elements):
        ...         return pyrs.range(elements)
        >>> from pyrs.tck import judge
        >>> judge(RangeVerification, "required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled").status
        <Status.PASSED: 'passed'>
    """

    expected = PUBLISHER


class SubscriberWhiteboxVerification(BeyondWhiteboxTests[T], WhiteboxTests[T]):
    """Tests a Subscriber with a probe for its signals and a puppet to control it.

    Define ``create_subscriber`` and ``create_element`` in a subclass. The 27 tests of the official TCK keep their
    names; the additional tests begin with ``beyond_``.
    """

    expected = WHITEBOX


class SubscriberBlackboxVerification(BeyondBlackboxTests[T], BlackboxTests[T]):
    """Tests a Subscriber from outside, which covers less than a whitebox verification.

    Define ``create_subscriber`` and ``create_element`` in a subclass, and ``trigger_request`` if the Subscriber does
    not request on its own. The 26 tests of the official TCK keep their names; the additional tests begin with
    ``beyond_``.
    """

    expected = BLACKBOX
