"""A Ctrl-C does not interrupt shielded work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from pyrs.jvm import Bridge
from pyrs.jvm.gateways import shield as module
from pyrs.jvm.gateways.shield import Shield, Workers
from tests.forking import status_of_a_child
from tests.interrupts import Raising, interrupter
from tests.link.peer import Peer
from tests.waiting import DEADLINE, eventually


def test_the_main_thread_receives_the_result_of_a_worker() -> None:
    ended: list[str] = []
    shield = Shield(lambda: ended.append(threading.current_thread().name))
    name = shield.run(lambda: threading.current_thread().name)
    assert name.startswith("pyrs-gateway-")
    assert ended == [name]


def test_other_threads_run_inline() -> None:
    shield = Shield(lambda: None)
    ran_on: list[int] = []
    thread = threading.Thread(target=lambda: ran_on.append(shield.run(threading.get_ident)))
    thread.start()
    thread.join(DEADLINE)
    assert ran_on == [thread.ident]


def test_a_shielded_task_inside_another_runs_inline() -> None:
    shield = Shield(lambda: None)
    outer, inner = shield.run(lambda: (threading.get_ident(), shield.run(threading.get_ident)))
    assert outer == inner


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_an_exception_of_the_task_reaches_the_caller(error: BaseException) -> None:
    def task() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        Shield(lambda: None).run(task)
    assert caught.value is error


def test_an_interrupt_ends_the_wait_and_not_the_task() -> None:
    release, finished = threading.Event(), threading.Event()

    def task() -> None:
        interrupts.strike()
        assert release.wait(DEADLINE)
        finished.set()

    with interrupter() as interrupts, pytest.raises(KeyboardInterrupt):
        Shield(lambda: None).run(task)
    assert not finished.is_set()
    release.set()
    assert finished.wait(DEADLINE)


def test_a_blocked_task_does_not_delay_the_next() -> None:
    shield = Shield(lambda: None)
    release, waiting = threading.Event(), threading.Event()
    shield._workers.execute(lambda: (waiting.set(), release.wait(DEADLINE), None)[2])
    assert waiting.wait(DEADLINE)
    assert shield.run(lambda: 7) == 7
    release.set()


@pytest.mark.parametrize("is_idle", [True, False], ids=["idle worker", "new worker"])
def test_an_interrupt_at_any_line_of_execute_strands_no_task(is_idle: bool) -> None:
    line = 0
    while True:
        line += 1
        workers = Workers()
        done: SimpleQueue[int] = SimpleQueue()
        if is_idle:
            workers.execute(lambda done=done: done.put(0))  # type: ignore[misc]
            assert done.get(timeout=DEADLINE) == 0
            eventually(lambda workers=workers: len(workers._idle) == 1)  # type: ignore[misc]
        with Raising((Workers.execute,), line) as raising, suppress(KeyboardInterrupt):
            workers.execute(lambda: None)
        hold = threading.Event()
        # Occupies a worker, so that the next task needs another one.
        workers.execute(lambda hold=hold: hold.wait(DEADLINE))  # type: ignore[misc]
        workers.execute(lambda done=done: done.put(1))  # type: ignore[misc]
        assert done.get(timeout=DEADLINE) == 1, raising.place
        hold.set()
        if not raising.reached:
            assert line > 3
            return


def test_an_idle_worker_ends_and_leaves_no_idle_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.02)
    workers = Workers()
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    for _ in range(3):
        workers.execute(lambda: threads.put(threading.current_thread()))
        threads.get(timeout=DEADLINE).join(DEADLINE)
        assert not workers._idle


def test_task_runs_inline_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 starts no thread while exit handlers run, and a handler may use a bridge."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert Shield(lambda: None).run(threading.get_ident) == threading.get_ident()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_workers_of_its_parent() -> None:
    shield = Shield(lambda: None)
    assert shield.run(lambda: 5) == 5  # the worker of this task is idle afterwards
    assert status_of_a_child(lambda: shield.run(lambda: 6) == 6) == 0


class OpenedOnce:
    """A gateway that opens a bridge to a Peer."""

    name = "peer"

    def __init__(self, opened: Callable[[], object]) -> None:
        self._shield = Shield(lambda: None)
        self._opened = opened
        self.closed = threading.Event()

    def open(self, token: bytes, options: object) -> Any:
        self.peer = Peer(token)
        self._opened()
        return SimpleNamespace(port=lambda: self.peer.port, close=self.closed.set)

    def shield(self, task: Callable[[], Any]) -> Any:
        return self._shield.run(task)

    def describe(self) -> str:
        return "a peer"

    def detach_thread(self) -> None:
        pass


def test_an_interrupt_while_a_bridge_opens_leaves_no_link() -> None:
    def strike() -> None:
        interrupts.strike()
        eventually(lambda: not interrupts.due)  # otherwise the bridge might be open before the interrupt arrives

    with interrupter() as interrupts:
        gateway: Any = OpenedOnce(strike)
        with pytest.raises(KeyboardInterrupt):
            Bridge(gateway)
    assert gateway.peer.ended.wait(DEADLINE)


def test_an_interrupt_after_the_opening_of_a_bridge_leaves_no_link() -> None:
    gateway: Any = OpenedOnce(lambda: None)
    shield = gateway.shield

    def interrupted(task: Callable[[], Any]) -> None:
        shield(task)
        raise KeyboardInterrupt

    gateway.shield = interrupted
    with pytest.raises(KeyboardInterrupt):
        Bridge(gateway)
    assert gateway.peer.ended.wait(DEADLINE)


def test_an_interrupt_at_any_line_of_the_opening_of_a_bridge_leaves_no_link() -> None:
    line = 0
    while True:
        line += 1
        gateway: Any = OpenedOnce(lambda: None)
        with Raising((Bridge.__init__,), line) as raising:
            try:
                bridge = Bridge(gateway)
            except KeyboardInterrupt:
                peer = getattr(gateway, "peer", None)  # None before the opening
                assert peer is None or peer.ended.wait(DEADLINE), raising.place
                continue
        assert not raising.reached and line > 10
        assert bridge.close(DEADLINE)
        return
