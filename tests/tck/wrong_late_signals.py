"""Faulty Subscribers that raise for a signal after their cancel."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyrs.api import Subscription
from tests.tck.judging import Case
from tests.tck.right import Puppet, RightProbed

__all__ = ["CANCELS", "LATE_SIGNALS", "subscriber"]

CANCELS = "beyond_spec206_mustCancelWheneverItIsTold"


def subscriber(name: str, fault: str, base: type[Any], **attributes: Any) -> Any:
    """Return a Subscriber class with a fault."""
    return type(name, (base,), {"__doc__": f"{fault}.", "__module__": __name__, **attributes})


class RaisesLate(RightProbed):
    """Raises for a signal after its cancel."""

    late = ("on_next", 1)

    def __init__(self, probe: Any) -> None:
        super().__init__(probe)
        self.signals: Counter[str] = Counter()
        self.cancelled = False

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class RecordsCancel(Puppet):
            def signal_cancel(self) -> None:
                subscriber.cancelled = True
                super().signal_cancel()

        self.probe.register_on_subscribe(RecordsCancel(subscription))

    def count(self, signal: str) -> None:
        self.signals[signal] += self.cancelled
        if self.cancelled and (signal, self.signals[signal]) == self.late:
            raise RuntimeError("it is cancelled")

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.count("on_next")

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.count("on_error")

    def on_complete(self) -> None:
        super().on_complete()
        self.count("on_complete")


LATE_SIGNALS = [
    Case(CANCELS, subscriber(name, fault, RaisesLate, late=late), message)
    for name, fault, late, message in (
        (
            "RaisesForTheSecondLate",
            "Raises for the second element after its cancel",
            ("on_next", 2),
            "on_next for requested element 2 after its cancel raised RuntimeError: it is cancelled (rule 2.8)",
        ),
        (
            "RaisesForTheThirdLate",
            "Raises for the third element after its cancel",
            ("on_next", 3),
            "on_next for requested element 3 after its cancel raised RuntimeError: it is cancelled (rule 2.8)",
        ),
        (
            "RaisesForALateEnd",
            "Raises for on_complete after its cancel",
            ("on_complete", 1),
            "on_complete after its cancel, which the Publisher may not have noticed yet, raised RuntimeError: "
            "it is cancelled (rule 2.13)",
        ),
        (
            "RaisesForALateError",
            "Raises for on_error after its cancel",
            ("on_error", 1),
            "on_error after its cancel, which the Publisher may not have noticed yet, raised RuntimeError: "
            "it is cancelled (rule 2.13)",
        ),
    )
]
