"""Routes run at the same time as far as their slots permit."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Lock

import pytest

from tests.conformance import running
from tests.conformance.routes import LONGEST_FIRST, ROUTES, SLOTS, Route
from tests.conformance.running import Result, verify_routes
from tests.waiting import DEADLINE


class Running:
    """Replaces ``verify_all``: each route waits until the test releases it, and then yields its results."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.now: list[str] = []
        self.started = {key: Event() for key in ROUTES}
        self.released = {key: Event() for key in ROUTES}

    def verify_all(self, route: Route, names: list[str]) -> Iterator[Result]:
        with self.lock:
            self.now.append(route.key)
            assert sum(ROUTES[key].slots for key in self.now) <= SLOTS
        self.started[route.key].set()
        self.released[route.key].wait(DEADLINE)
        with self.lock:
            self.now.remove(route.key)
        for name in names:
            yield Result(name, route.key, (1, 0, 0), (0, 0, 0), 0, (), 1.0)


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Running:
    fake = Running()
    monkeypatch.setattr(running, "verify_all", fake.verify_all)
    return fake


def test_every_route_yields_its_results(routes: Running) -> None:
    for event in routes.released.values():
        event.set()
    work = {route.key: ["a", "b"] for route in LONGEST_FIRST}
    assert set(work) == set(ROUTES)
    found = [(result.route, result.entry) for result in verify_routes(work)]
    assert sorted(found) == sorted((key, name) for key in work for name in "ab")


def test_a_route_that_fits_starts_before_an_earlier_one_that_does_not(routes: Running) -> None:
    """The first route is not released, so the third one ends first only if it does not wait for the second one."""
    results = verify_routes({"jpype-rs": ["x"], "python": ["x"], "jpype-flow": ["x"]})
    routes.released["jpype-flow"].set()
    assert next(results).route == "jpype-flow"
    assert not routes.started["python"].is_set(), "the routes exceed the slots"
    for event in routes.released.values():
        event.set()
    assert sorted(result.route for result in results) == ["jpype-rs", "python"]


def test_a_failure_of_a_route_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(route: Route, names: list[str]) -> Iterator[Result]:
        raise RuntimeError("no JVM")
        yield

    monkeypatch.setattr(running, "verify_all", broken)
    with pytest.raises(RuntimeError, match="no JVM"):
        list(verify_routes({"python": ["x"]}))
