"""The verifications of Subscribers."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.tck.beyond_subscriber import BeyondBlackboxTests, BeyondWhiteboxTests
from pyrs.tck.blackbox_tests import BlackboxTests
from pyrs.tck.expected import BLACKBOX, WHITEBOX
from pyrs.tck.whitebox_tests import WhiteboxTests

__all__ = ["SubscriberBlackboxVerification", "SubscriberWhiteboxVerification"]

T = TypeVar("T")


class SubscriberWhiteboxVerification(BeyondWhiteboxTests[T], WhiteboxTests[T], Generic[T]):
    """Judges a Subscriber that tells a probe what it receives, and lets itself be moved by a puppet.

    Write a subclass that defines `create_subscriber` and `create_element`. 27 tests have the names that they have in
    the Java kit; those that begin with ``beyond_`` check rules that the Java kit does not.
    """

    expected = WHITEBOX


class SubscriberBlackboxVerification(BeyondBlackboxTests[T], BlackboxTests[T], Generic[T]):
    """Judges a Subscriber from outside, which shows less than a whitebox verification.

    Write a subclass that defines `create_subscriber` and `create_element`, and `trigger_request` if the Subscriber does
    not request by itself. 26 tests have the names that they have in the Java kit; those that begin with ``beyond_``
    check rules that the Java kit does not.
    """

    expected = BLACKBOX
