"""The mirrors, which are the bridge's Java objects for Python objects, verified by the official TCK.

In the other tables, the official TCK verifies the Python object directly. Here it verifies the mirror with its window
and its guards, the link, and the Python object behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyrs
from pyrs import sinks
from pyrs.tck import Family, JavaReferee
from pyrs.tck._java.hooks import Hooks
from pyrs.tck.verification import Verification
from pyrs.testing import TestSubscriber
from tests.conformance.entry import Entry, blackbox, failed_stream, numbers, processor, publisher
from tests.conformance.feeding import fed, submitted
from tests.conformance.machine import machine
from tests.conformance.options import SLOWEST
from tests.conformance.sources import LATE, ONE_SUBSCRIBER
from tests.conformance.subscribers import ONE_INPUT, Through

if TYPE_CHECKING:
    from pyrs.jvm.gateways.base import Java
    from pyrs.tck._java.scope import Scope

__all__ = ["MIRRORS", "MirrorReferee"]

_MAKE = {
    "create_publisher": "new_publisher",
    "create_failed_publisher": "create_failed_publisher",
    "create_subscriber": "new_subscriber",
    "create_identity_processor": "new_processor",
}


class MirrorReferee(JavaReferee):
    """Runs the official TCK in a child of the mirrors' class loader, so that both use the same interfaces.

    Args:
        jvm: the Spark session of the JVM; None for the JVM in this process.
    """

    def __init__(self, jvm: object | None, family: Family) -> None:
        self.bridge = machine().bridge
        super().__init__(jvm, family)

    def give(self, java_object: object) -> int:
        """Store an object in the JVM for the TCK, and return the number that the hook answers with."""
        return int(str(self._gateway.with_java(lambda java: java.call(self._entry, "give", java_object))))

    def is_java(self, thing: object) -> bool:
        return self._gateway.is_java_object(thing)

    def _hooks_of(self, subject: Verification) -> Hooks:
        return _MirrorHooks(subject, self)

    def _parent_loader(self, java: Java) -> object:
        mirror = self.bridge.to_jvm(pyrs.empty())
        return java.call(java.call(mirror, "getClass"), "getClassLoader")


class _MirrorHooks(Hooks):
    """Passes the mirrors of the objects that the hooks create."""

    def __init__(self, subject: Any, referee: MirrorReferee) -> None:
        super().__init__(subject)
        self._referee = referee

    def call(self, scope: Scope, hook: str, arguments: list[Any]) -> Any:
        if hook == "create_element":
            return self._subject.create_element(*arguments)  # elements are values, which need no mirror
        if hook not in _MAKE:
            return super().call(scope, hook, arguments)
        created = getattr(self._subject, _MAKE[hook])(*arguments)
        if created is None:
            return None
        if not self._referee.is_java(created):
            created = self._referee.bridge.to_jvm(created, exact=getattr(type(self._subject), "exact", False))
        return self._referee.give(created)


def _exactly(entry: Entry) -> Entry:
    """Make the mirror forward the demand exactly."""
    entry.verification.exact = True  # type: ignore[attr-defined]
    return entry


def _staged(elements: int) -> Any:
    """Return the result of a Java function that is implemented in Python."""
    bridge, java = machine()
    stage = bridge.to_jvm_stage(lambda stream: stream.map(lambda n: n + 1))
    flux = java.static("reactor.core.publisher.Flux", "range", 0, min(elements, 2**31 - 1))
    return java.call(stage, "apply", flux)


class _Latest:
    """The Subscriber behind the latest mirror. The TCK passes the mirror to ``trigger``, which needs the Subscriber."""

    subscriber: Any = None

    @classmethod
    def make(cls) -> Any:
        cls.subscriber = TestSubscriber()
        return cls.subscriber

    @classmethod
    def request(cls, mirror: object) -> None:
        cls.subscriber.request(1)


MIRRORS: list[Entry] = [
    publisher("mirror of range", numbers, subset=True),
    _exactly(publisher("mirror of range, exact", numbers)),
    publisher(
        "mirror of a sink",
        lambda n: fed(sinks.unicast(16), n),
        skips=ONE_SUBSCRIBER,
    ),
    publisher("mirror of a SubmissionPublisher", submitted, skips=LATE),
    publisher("mirror of a function from stream to stream", _staged, failed=None, max_elements=2**31 - 1),
    blackbox("mirror of a TestSubscriber", _Latest.make, trigger=_Latest.request, subset=True),
    _exactly(blackbox("mirror of a TestSubscriber, exact", _Latest.make, trigger=_Latest.request)),
    processor(
        "mirror of map as a Processor",
        lambda: Through(lambda stream: stream.map(lambda n: n)),
        failed=failed_stream,
        subscribers=1,
        skips=ONE_INPUT,
    ),
    processor(
        "mirror of publish as a Processor",
        lambda: Through(lambda stream: stream.publish(16).ref_count()),
        failed=failed_stream,
        coordinates=True,
        skips=SLOWEST,
    ),
]
