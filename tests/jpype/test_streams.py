"""The live streams of a bridge: ``streams``, ``show`` and ``serve_status``."""

from __future__ import annotations

import inspect
import io
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import _top, jvm
from pyrs.jvm import status
from pyrs.jvm.streams import Streams
from tests.waiting import eventually, recording

PUBLISHER = "java.util.concurrent.SubmissionPublisher"
SINGLE_TYPES = "io.pyrs.invoke.SingleTypes"


def line() -> int:
    """Return the line number of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_streams_of_both_directions_show_the_lines_of_their_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with jvm.launch(name="shown") as bridge:
        numbers, assembled = pyrs.never().map(str), line()
        bridge.java_class(SINGLE_TYPES).toFuture(bridge.to_jvm(numbers))
        publisher = bridge.java_class(PUBLISHER)()
        stream, converted = bridge.from_jvm(publisher), line()
        subscriber = recording(3)
        stream.subscribe(subscriber)

        eventually(lambda: sorted(each.demand > 0 for each in bridge.streams()) == [True, True], bridge.show)
        by_direction = {each.direction: each for each in bridge.streams()}
        outbound, inbound = by_direction["to JVM"], by_direction["to Python"]
        assert outbound.name == "never().map(str)"
        assert outbound.site is not None and (outbound.site.file, outbound.site.line) == (__file__, assembled)
        assert inbound.site is not None and (inbound.site.file, inbound.site.line) == (__file__, converted)
        assert (inbound.state, inbound.demand) == ("live", 3)

        bridge.show()
        shown = capsys.readouterr().out
        assert shown.startswith("shown, open; live streams: 2") and f"test_streams.py:{converted}" in shown

        bridge.serve_status()
        bridge.serve_status()  # a second call has no effect
        assert len(list((tmp_path / "pyrs").iterdir())) == 1
        printed = io.StringIO()
        assert _top.run(once=True, file=printed) == 0
        assert printed.getvalue().count("shown, open") == 1 and f"test_streams.py:{converted}" in printed.getvalue()

        subscriber.cancel()
        eventually(lambda: [each.direction for each in bridge.streams()] == ["to JVM"], bridge.show)
    assert list((tmp_path / "pyrs").iterdir()) == []


def test_serve_status_during_close_leaves_no_status_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with jvm.launch() as bridge:

        class ClosesFirst(status.StatusServer):
            def __init__(self, *arguments: Any) -> None:
                bridge.close()  # as another thread may do, after serve_status found the bridge open
                super().__init__(*arguments)

        monkeypatch.setattr(status, "StatusServer", ClosesFirst)
        bridge.serve_status()
        assert list((tmp_path / "pyrs").iterdir()) == []


def test_a_stage_has_the_line_of_its_function() -> None:
    with jvm.launch() as bridge:
        seen: list[Streams] = []

        def stage(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            return stream.do_on_next(lambda _: seen.append(bridge.streams()))

        publisher = bridge.java_class(PUBLISHER)()
        applied = bridge.from_jvm(bridge.to_jvm_stage(stage).apply(publisher.java))
        collected = recording(1)
        applied.subscribe(collected)
        publisher.submit(1)
        collected.await_count(1)
        (site,) = [each.site for each in seen[0] if each.direction == "to Python"]
        assert site is not None and (site.file, site.line) == (__file__, stage.__code__.co_firstlineno)
        collected.cancel()
