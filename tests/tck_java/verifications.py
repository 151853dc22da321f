"""Verifications for the command line."""

from __future__ import annotations

from typing import Any

from pyrs.tck import PublisherVerification, TestEnvironment
from tests.tck.right import RightFailedPublisher, RightPublisher
from tests.tck.wrong_publishers import OneTooMany


class Right(PublisherVerification[Any]):
    # The official TCK checks once whether a Subscriber was released; Python's collection must be complete by then.
    environment = TestEnvironment(
        timeout=3.0, no_signals_timeout=0.02, reference_timeout=3.0, hook_timeout=30.0, deadline=90.0
    )

    def create_publisher(self, elements: int) -> Any:
        return RightPublisher(elements)

    def create_failed_publisher(self) -> Any:
        return RightFailedPublisher()


class Wrong(Right):
    environment = TestEnvironment(timeout=1.0, no_signals_timeout=0.02, hook_timeout=30.0, deadline=90.0)

    def create_publisher(self, elements: int) -> Any:
        return OneTooMany(elements)
