"""The class loader that receives the jar, for each set of classes that the JVM has already loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from pyrs.errors import JvmUnavailable, VersionMismatch
from pyrs.jvm.gateways.jars import Jars
from pyrs.jvm.gateways.loading import LOADER_PROPERTY, load_entry
from tests.forking import status_of_a_child
from tests.gateways.fake_java import (
    CHILD_LOADER,
    ENTRY,
    JPYPE_LOADER,
    PUBLISHER,
    SPARK_CHILD_FIRST,
    SPARK_LOADER,
    FakeJava,
    Loader,
)
from tests.waiting import DEADLINE, on_threads

JARS = Jars(Path("/package/pyrs.jar"), Path("/package/reactive-streams-1.0.4.jar"))
OURS = "pyrs.jar"
FALLBACK = "reactive-streams-1.0.4.jar"


def test_a_fork_while_the_jvm_starts_does_not_block_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the parent holds a lock, and does not exist in the child."""
    jpype = pytest.importorskip("pyrs.jvm.gateways.jpype")
    monkeypatch.setattr(jpype.jpype, "isJVMStarted", lambda: False)  # another test may have started a JVM

    def answers() -> bool:
        with pytest.raises(JvmUnavailable, match="no JVM runs in this process"):
            jpype.running_gateway()
        return True

    def starts(stay: Callable[[], None]) -> None:
        with jpype._starting:
            stay()

    assert status_of_a_child_while(starts, answers) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_the_jar_is_loaded_does_not_block_the_child() -> None:
    def loads(before_put: Callable[[], None] = lambda: None) -> bool:
        java = FakeJava(Loader(JPYPE_LOADER, Loader()))
        java.before_put = before_put
        load(java)
        return LOADER_PROPERTY in java.properties

    assert status_of_a_child_while(loads, loads) == 0


def status_of_a_child_while(busy: Callable[[Callable[[], None]], object], work: Callable[[], bool]) -> int:
    """Fork while a thread is inside ``busy``, and return the status of the child.

    ``busy`` calls its argument, which returns after the fork.
    """
    inside, forked = Event(), Event()

    def stay() -> None:
        inside.set()
        forked.wait(DEADLINE)

    with on_threads(lambda: busy(stay)):
        assert inside.wait(DEADLINE)
        try:
            return status_of_a_child(work)
        finally:
            forked.set()


def load(java: FakeJava) -> object:
    return load_entry(java, JARS, "0.1.0")


@pytest.mark.parametrize("kind", [SPARK_LOADER, SPARK_CHILD_FIRST])
def test_spark_loader_receives_both_jars(kind: tuple[str, ...]) -> None:
    context = Loader(kind, Loader())
    java = FakeJava(context)
    load(java)
    assert java.added == [(context, OURS), (context, FALLBACK)]
    assert java.properties[LOADER_PROPERTY] is context


def test_jpype_loader_receives_reactive_streams_and_a_child_loader_the_jar() -> None:
    context = Loader(JPYPE_LOADER, Loader())
    java = FakeJava(context)
    load(java)
    child = java.properties[LOADER_PROPERTY]
    assert isinstance(child, Loader)
    assert (child.parent, child.classes, context.classes) == (context, {ENTRY}, {PUBLISHER})


def test_reactive_streams_of_spark_jars_is_used() -> None:
    context = Loader(SPARK_LOADER, Loader(), {PUBLISHER})
    java = FakeJava(context)
    load(java)
    assert java.added == [(context, OURS)]


def test_reactive_streams_of_the_class_path_is_used() -> None:
    context = Loader(SPARK_LOADER, Loader(classes={PUBLISHER}))
    java = FakeJava(context)
    load(java)
    assert java.added == [(context, OURS)]


def test_the_loader_of_all_sessions_is_preferred_to_that_of_one() -> None:
    shared = Loader(SPARK_LOADER, Loader())
    java = FakeJava(Loader(SPARK_LOADER, shared))
    load(java)
    assert java.added == [(shared, OURS), (shared, FALLBACK)]


def test_the_loader_of_one_session_is_used_if_it_alone_sees_reactive_streams() -> None:
    session = Loader(SPARK_LOADER, Loader(SPARK_LOADER, Loader()), {PUBLISHER})
    java = FakeJava(session)
    load(java)
    assert java.added == [(session, OURS)]


def test_an_application_loader_receives_a_child_loader() -> None:
    context = Loader()
    java = FakeJava(context)
    load(java)
    child = java.properties[LOADER_PROPERTY]
    assert isinstance(child, Loader)
    assert (child.names, child.parent, child.classes) == (CHILD_LOADER, context, {ENTRY, PUBLISHER})


def test_the_child_loader_has_no_second_reactive_streams() -> None:
    java = FakeJava(Loader(classes={PUBLISHER}))
    load(java)
    child = java.properties[LOADER_PROPERTY]
    assert isinstance(child, Loader)
    assert child.classes == {ENTRY}


def test_a_jar_that_is_visible_is_used() -> None:
    context = Loader(SPARK_LOADER, Loader(), {ENTRY, PUBLISHER})
    java = FakeJava(context)
    load(java)
    assert java.added == []
    assert java.properties[LOADER_PROPERTY] is context


def test_reactive_streams_is_added_to_the_loader_of_a_visible_jar() -> None:
    context = Loader(SPARK_LOADER, Loader(), {ENTRY})
    java = FakeJava(context)
    load(java)
    assert java.added == [(context, FALLBACK)]


def test_a_jar_that_cannot_see_reactive_streams_is_refused() -> None:
    java = FakeJava(Loader(SPARK_LOADER, Loader(classes={ENTRY}), {PUBLISHER}))
    with pytest.raises(
        JvmUnavailable, match=r"put reactive-streams-1\.0\.4\.jar on the same class path, or remove pyrs\.jar"
    ):
        load(java)


def test_the_second_bridge_shares_the_first_copy() -> None:
    java = FakeJava(Loader())
    load(java)
    added = list(java.added)
    java.context = Loader(SPARK_LOADER)  # another thread, another context
    load(java)
    assert java.added == added


def test_a_process_that_loses_the_race_uses_the_copy_of_the_first() -> None:
    first = Loader(CHILD_LOADER, None, {ENTRY, PUBLISHER})
    java = FakeJava(Loader())
    java.before_put = lambda: java.properties.setdefault(LOADER_PROPERTY, first)
    entry = load(java)
    assert getattr(entry, "loader", None) is first


def test_another_version_in_the_jvm_is_refused() -> None:
    java = FakeJava(Loader(SPARK_LOADER, None, {ENTRY, PUBLISHER}), version="0.0.9")
    with pytest.raises(
        VersionMismatch, match=r"pyrs\.jar 0\.0\.9 and this Python process runs pyrs 0\.1\.0\. .*restart"
    ):
        load(java)


@pytest.mark.parametrize(("specification", "version"), [("1.8", "Java 8"), ("9", "Java 9"), ("10", "Java 10")])
def test_an_old_java_is_refused_before_the_jar_is_touched(specification: str, version: str) -> None:
    java = FakeJava(Loader(SPARK_LOADER), java=specification)
    with pytest.raises(JvmUnavailable, match=f"runs {version}; pyrs needs Java 11"):
        load(java)
    assert (java.added, java.properties) == ([], {})


@pytest.mark.parametrize("specification", ["11", "17", "25", "25-ea"])
def test_a_supported_java_is_accepted(specification: str) -> None:
    java = FakeJava(Loader(SPARK_LOADER), java=specification)
    load(java)
    assert java.properties[LOADER_PROPERTY] is java.context


def test_a_jvm_that_cannot_read_the_jars_is_reported() -> None:
    java = FakeJava(Loader(SPARK_LOADER), readable=False)
    with pytest.raises(
        JvmUnavailable, match=r"cannot read /package/pyrs\.jar: pyrs needs a JVM that runs on this machine"
    ):
        load(java)
    assert LOADER_PROPERTY not in java.properties
