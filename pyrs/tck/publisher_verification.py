"""The verification of Publishers."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.tck.beyond_demand import BeyondDemandTests
from pyrs.tck.beyond_publisher import BeyondPublisherTests
from pyrs.tck.expected import PUBLISHER
from pyrs.tck.interleaving import InterleavingTests
from pyrs.tck.multicast_tests import MulticastTests
from pyrs.tck.publisher_tests import PublisherTests
from pyrs.tck.races import RaceTests
from pyrs.tck.subscription_tests import SubscriptionTests

T = TypeVar("T")


class PublisherVerification(
    RaceTests[T],
    InterleavingTests[T],
    BeyondDemandTests[T],
    BeyondPublisherTests[T],
    SubscriptionTests[T],
    MulticastTests[T],
    PublisherTests[T],
    Generic[T],
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
