"""Verify the ``subset`` rows that need a JVM, and two others with the official TCK, through this process's gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge
from pyrs.tck import Family, JavaReferee, Status, SubscriberBlackboxVerification, beyond_subscription, verify
from tests.conformance.entry import Entry, publisher
from tests.conformance.jvm_implementations import JVM_IMPLEMENTATIONS
from tests.conformance.machine import opened
from tests.conformance.mirrors import MIRRORS, MirrorReferee
from tests.conformance.registry import OURS
from tests.conformance.routes import ROUTES
from tests.conformance.running import TEST_LONG_RUN, TEST_PATIENCE, verify_entry
from tests.interop.harness import Java
from tests.tck.judging import verify_concurrently
from tests.waiting import DEADLINE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAMILIES = {"rs": Family.REACTIVE_STREAMS, "flow": Family.FLOW}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in TEST_PATIENCE.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(beyond_subscription, "_LONG_RUN", TEST_LONG_RUN)


@pytest.fixture
def quick_tck(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the timeouts after which the official TCK checks the error of §3.9 and the references of §3.13."""
    for variable in ("DEFAULT_TIMEOUT_MILLIS", "PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS"):
        monkeypatch.setenv(variable, "1000")


@pytest.fixture
def collecting(connected: tuple[Bridge, Java]) -> Iterator[None]:
    """Run the JVM's garbage collector repeatedly: the official TCK runs it once, and waits a tenth of a second.

    A Scope does this for Python objects, but not for mirrors, which are Java objects.
    """
    stopped = Event()

    def collect() -> None:
        while not stopped.wait(1):
            connected[1].static("java.lang.System", "gc")

    thread = Thread(target=collect, name="collecting", daemon=True)
    thread.start()
    yield
    stopped.set()
    thread.join(DEADLINE)


@pytest.mark.one_gateway
@pytest.mark.parametrize(
    "entry", [entry for entry in JVM_IMPLEMENTATIONS if entry.subset], ids=lambda entry: entry.name
)
def test_a_jvm_implementation_has_no_problem(
    entry: Entry, connected: tuple[Bridge, Java], carrier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if issubclass(entry.verification, SubscriberBlackboxVerification):
        # The test must wait for requests of a thread in the JVM before it sends the terminal signal.
        monkeypatch.setenv("DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS", "500")
    with opened(*connected):
        result = verify_entry(entry, ROUTES[f"python-{carrier}"], verify)
    assert result.problems(entry) == []
    assert sum(result.tck + result.beyond) + result.untested == len(entry.verification.test_names())


@pytest.mark.one_gateway
@pytest.mark.parametrize("family", ["rs", "flow"])
@pytest.mark.parametrize("entry", [entry for entry in MIRRORS if entry.subset], ids=lambda entry: entry.name)
def test_a_mirror_has_no_problem(
    entry: Entry,
    family: str,
    connected: tuple[Bridge, Java],
    carrier: str,
    session: Any,
    quick_tck: None,
    collecting: None,
) -> None:
    route = ROUTES[f"mirror-{carrier}-{family}"]
    with opened(*connected):
        referee = MirrorReferee(session, FAMILIES[family])
        # The hooks of a blackbox mirror share the latest Subscriber, so its tests run sequentially.
        shared = issubclass(entry.verification, SubscriberBlackboxVerification)
        result = verify_entry(entry, route, referee.verify if shared else partial(verify_concurrently, referee))
    assert result.problems(entry) == []
    assert sum(result.tck) + result.untested == len(entry.verification.expected)


def test_the_official_tck_receives_the_mirror_itself(connected: tuple[Bridge, Java], session: Any) -> None:
    silent = publisher("silent", lambda n: pyrs.never())
    with opened(*connected):
        verdict = MirrorReferee(session, FAMILIES["rs"]).judge(
            silent.verification, "required_createPublisher3MustProduceAStreamOfExactly3Elements"
        )
    assert verdict.status is Status.FAILED
    assert "Publisher PythonPublisher[python object" in verdict.reason


@pytest.mark.parametrize("family", ["rs", "flow"])
@pytest.mark.parametrize("name", ["range", "TestSubscriber"])
def test_a_row_of_pyrs_has_no_problem(
    name: str, family: str, tck: Callable[[str], Any], carrier: str, quick_tck: None
) -> None:
    entry = next(entry for entry in OURS if entry.name == name)
    route = ROUTES[f"{carrier}-{family}"]
    result = verify_entry(entry, route, partial(verify_concurrently, tck(family)))
    assert result.problems(entry) == []
    assert sum(result.tck) + result.untested == len(entry.verification.expected)


@pytest.fixture
def session(machine: Any, carrier: str) -> Any:
    return None if carrier == "jpype" else machine[0].args[0]


@pytest.fixture
def tck(session: Any) -> Callable[[str], Any]:
    return lambda family: JavaReferee(session, FAMILIES[family])
