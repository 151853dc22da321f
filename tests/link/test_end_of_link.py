"""The end of a link: the deadline of ``close``, and the reason that Subscribers receive."""

from __future__ import annotations

import pytest
from peer import Peer
from plain_session import PlainSession

import pyrs
from pyrs.errors import LinkBroken
from pyrs.jvm.link import connection as connection_module
from pyrs.jvm.link.frames import GoAway
from tests.waiting import DEADLINE, recording


def test_the_waits_of_close_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link ends two seconds after its socket is shut down, and a Subscriber blocks a worker.

    Only the waits advance the clock.
    """
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


def test_reason_of_a_broken_link_is_the_first_goaway() -> None:
    peer, recorder = Peer(), recording(1)
    connection = peer.connect()
    connection.session.subscribe(peer.session.handles.own(pyrs.never()), recorder)
    connection.session.call(0, deadline_seconds=DEADLINE)
    peer.send(peer.session.goaway(GoAway.INTERNAL_ERROR, "the cause"))
    peer.send(peer.session.goaway(GoAway.CLOSING, "closing"))
    peer.kill()
    assert "the cause (code 1)" in str(recorder.await_error(LinkBroken))
    connection.close()


def test_each_subscriber_receives_an_error_of_its_own() -> None:
    """A raised error keeps the frames of its thread alive, and would show those of all others in its traceback."""
    session, recorders = PlainSession(), [recording(0) for _ in range(3)]
    for recorder in recorders[:2]:
        session.subscribe(4, recorder)
    session.lost(LinkBroken("gone"))
    session.subscribe(4, recorders[2])
    errors = [recorder.error for recorder in recorders]
    assert list(map(repr, errors)) == ["LinkBroken('gone')"] * 3
    assert len({id(error) for error in [*errors, session.end_error]}) == 4
