"""Nothing is cut in half by a Ctrl-C."""

from __future__ import annotations

import threading

import pytest

from pyrs.jvm.gateways.shield import Shield
from tests.interrupts import interrupter
from tests.waiting import DEADLINE


def test_the_main_thread_hands_over_and_gets_the_result() -> None:
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
def test_what_the_task_raises_is_raised_where_it_was_asked(error: BaseException) -> None:
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


def test_a_task_that_blocks_does_not_hold_up_the_next() -> None:
    shield = Shield(lambda: None)
    release, waiting = threading.Event(), threading.Event()
    shield._executor.execute(lambda: (waiting.set(), release.wait(DEADLINE), None)[2])
    assert waiting.wait(DEADLINE)
    assert shield.run(lambda: 7) == 7
    release.set()
