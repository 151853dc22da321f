"""The deadline of ``close``, with a clock that only the waits advance."""

from __future__ import annotations

import pytest
from peer import Peer

from pyrs.jvm.link import connection as connection_module
from tests.waiting import DEADLINE


def test_the_waits_of_close_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link ends two seconds after its socket is shut down, and a Subscriber blocks a worker."""
    connection, now, ended = Peer().connect(), [0.0], iter([False, True])

    def wait(seconds: float, result: bool) -> bool:
        now[0] += seconds
        return result

    monkeypatch.setattr(connection_module, "monotonic", lambda: now[0])
    monkeypatch.setattr(connection, "_has_ended", lambda seconds: wait(min(seconds, 2.0), next(ended)))
    monkeypatch.setattr(connection.executor, "shutdown", lambda seconds: wait(seconds, False))
    assert not connection.close(5.0)
    assert now == [5.0]
    monkeypatch.undo()
    assert connection.close(DEADLINE)
