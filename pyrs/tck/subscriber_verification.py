"""The verifications of Subscribers."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.tck.beyond_subscriber import BeyondBlackboxTests, BeyondWhiteboxTests
from pyrs.tck.blackbox_tests import BlackboxTests
from pyrs.tck.expected import BLACKBOX, WHITEBOX
from pyrs.tck.whitebox_tests import WhiteboxTests

T = TypeVar("T")


class SubscriberWhiteboxVerification(BeyondWhiteboxTests[T], WhiteboxTests[T], Generic[T]):
    """Tests a Subscriber with a probe for its signals and a puppet to control it.

    Define ``create_subscriber`` and ``create_element`` in a subclass. The 27 tests of the official TCK keep their
    names; the additional tests begin with ``beyond_``.
    """

    expected = WHITEBOX


class SubscriberBlackboxVerification(BeyondBlackboxTests[T], BlackboxTests[T], Generic[T]):
    """Tests a Subscriber from outside, which covers less than a whitebox verification.

    Define ``create_subscriber`` and ``create_element`` in a subclass, and ``trigger_request`` if the Subscriber does
    not request on its own. The 26 tests of the official TCK keep their names; the additional tests begin with
    ``beyond_``.
    """

    expected = BLACKBOX
