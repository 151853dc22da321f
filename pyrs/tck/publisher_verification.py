"""The verification of Publishers."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.tck.beyond_publisher import BeyondPublisherTests
from pyrs.tck.expected import PUBLISHER
from pyrs.tck.multicast_tests import MulticastTests
from pyrs.tck.publisher_tests import PublisherTests
from pyrs.tck.races import RaceTests
from pyrs.tck.subscription_tests import SubscriptionTests

__all__ = ["PublisherVerification"]

T = TypeVar("T")


class PublisherVerification(
    RaceTests[T], BeyondPublisherTests[T], SubscriptionTests[T], MulticastTests[T], PublisherTests[T], Generic[T]
):
    """Judges a Publisher and its Subscriptions.

    Write a subclass that defines `create_publisher`. The 38 tests have the names that they have in the Java kit; those
    that begin with ``beyond_`` check rules that the Java kit does not.

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
