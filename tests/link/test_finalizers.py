"""Finalizers of the user: inside the methods of a link's tables, and on the threads of a link."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType as PythonFrame
from types import SimpleNamespace
from typing import Any

import pytest
from interleaving import Stepped

from pyrs.jvm.codec import LinkReferences
from pyrs.jvm.link.handles import Handles
from pyrs.jvm.values.errors import Originals
from tests.waiting import DEADLINE


def run_after_each_call(owner: type[Any], finalizer: Callable[[], object], use: Callable[[], object]) -> None:
    """Run ``use``, and a finalizer after each call inside the methods of a class.

    From Python 3.12 on, the garbage collector may run after a call, and it runs finalizers on the same thread.
    """
    codes = {method.__code__ for method in vars(owner).values() if hasattr(method, "__code__")}
    failures: list[BaseException] = []
    finalized: list[str] = []

    def profile(frame: PythonFrame, event: str, argument: object) -> None:
        inside = frame if event == "c_return" else frame.f_back if event == "return" else None
        if inside is not None and inside.f_code in codes:
            sys.setprofile(None)
            try:
                finalizer()
            finally:
                sys.setprofile(profile)
            finalized.append(inside.f_code.co_name)

    def task() -> None:
        sys.setprofile(profile)
        try:
            use()
        except BaseException as error:
            failures.append(error)
        finally:
            sys.setprofile(None)

    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the finalizer waits for a lock that its own thread holds"
    assert not failures, failures
    assert finalized


class TestHandles:
    @pytest.fixture
    def handles(self) -> Handles:
        return Handles()

    @pytest.fixture
    def finalizer(self, handles: Handles) -> Callable[[], object]:
        """Return a finalizer that exports and releases two objects; the test exports one of them, too."""
        self.shared = object()

        def run() -> None:
            for target in (object(), self.shared):
                handle = handles.own(target)
                handles.pin([handle])
                handles.unpin([handle])
                handles.released(handle, 1)

        return run

    def test_finalizer_inside_own_loses_no_receipt(self, handles: Handles, finalizer: Callable[[], object]) -> None:
        counts: dict[int, int] = {}

        def use() -> None:
            for target in (object(), self.shared, object(), self.shared):
                handle = handles.own(target)
                assert handles.local(handle) is target
                counts[handle] = counts.get(handle, 0) + 1

        run_after_each_call(Handles, finalizer, use)
        assert len(handles) == 3
        assert [handles.released(handle, count) is not None for handle, count in counts.items()] == [True] * 3
        assert len(handles) == 0

    def test_finalizer_inside_released_loses_no_object(self, handles: Handles, finalizer: Callable[[], object]) -> None:
        exported = [handles.own(target) for target in (object(), self.shared, object())]

        def use() -> None:
            handles.pin(exported)
            assert handles.unpin(exported) == []
            assert all(handles.released(handle, 1) is not None for handle in exported)

        run_after_each_call(Handles, finalizer, use)
        assert len(handles) == 0

    def test_nested_releases_return_the_object_once(self, handles: Handles) -> None:
        handle = handles.own(self)
        found: list[object] = []

        def finalizer() -> None:
            found.append(handles.released(handle, 1))

        run_after_each_call(Handles, finalizer, lambda: found.append(handles.released(handle, 1)))
        assert [each for each in found if each is not None] == [self]
        assert len(handles) == 0

    def test_finalizer_inside_clear_keeps_the_pinned_object(
        self, handles: Handles, finalizer: Callable[[], object]
    ) -> None:
        exported = [handles.own(target) for target in (object(), self.shared, object())]
        handles.pin(exported[:1])
        removed: list[object] = []
        run_after_each_call(Handles, finalizer, lambda: removed.extend(handles.clear()))
        assert len(removed) == 2
        assert len(handles) == 1
        assert len(handles.unpin(exported)) == 1
        assert len(handles) == 0


def test_finalizer_inside_keep_loses_no_error() -> None:
    originals = Originals(3)

    def use() -> None:
        for _ in range(20):
            error = KeyError()
            assert originals.find(originals.keep(error)) in (error, None)

    run_after_each_call(Originals, lambda: originals.keep(ValueError()), use)
    assert len(originals) == 3 == len(originals._numbers)


def test_finalizers_of_unwritten_elements_run_after_the_write() -> None:
    """A finalizer that blocks must not keep the role of the writer, for which every stream would wait."""
    session = Stepped()
    session.codec = LinkReferences(session, SimpleNamespace(is_java_object=lambda value: False), SimpleNamespace())
    written: list[bool] = []

    class Finalized:
        def __del__(self) -> None:
            written.append(not session.outbox._writing.locked())

    stream = session.subscribe_peer(7)
    stream.on_subscribe(SimpleNamespace(request=lambda n: None, cancel=lambda: None))
    stream.requested(10)
    session.run()
    stream.on_next(Finalized())
    stream.on_next([Finalized(), Finalized()])
    stream.cancelled()
    session.run()
    assert written == [True] * 3
    assert len(session.handles) == 0
