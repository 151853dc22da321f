"""Both sides process the corpus, and each campaign runs for a minute."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrs.errors import ProtocolError
from pyrs.jvm.link.frames import FrameDecoder, FrameType, frame
from tests.campaigns import fuzz_inputs, fuzz_python, guided, soak
from tests.campaigns.__main__ import CAMPAIGNS, main
from tests.campaigns.chaos import Proxy
from tests.campaigns.fuzz_java import Dialled, JavaFuzz
from tests.campaigns.fuzz_python import Conversation
from tests.link.plain_session import LinkSession
from tests.waiting import DEADLINE

CORPUS = json.loads((Path(__file__).parent / "corpus.json").read_text(encoding="utf-8"))
FRAMES = 20_000
inputs = pytest.mark.parametrize("entry", CORPUS, ids=[entry["name"].replace(" ", "-") for entry in CORPUS])


@inputs
def test_python_accepts_or_refuses_each_input_as_recorded(entry: dict[str, Any]) -> None:
    session, decoder = LinkSession(), FrameDecoder()
    try:
        for message in decoder.feed(bytes.fromhex(entry["hex"])):
            session.receive(message)
    except ProtocolError as error:
        assert not entry["accepted"], error
        assert "malformed" in str(error)
    else:
        assert entry["accepted"]


@pytest.fixture(scope="module")
def java() -> Iterator[JavaFuzz]:
    with ExitStack() as stack:
        yield JavaFuzz(0, stack)


@inputs
def test_java_accepts_or_refuses_each_input_as_recorded(java: JavaFuzz, entry: dict[str, Any]) -> None:
    token = secrets.token_bytes(32)
    control: Any = java.gateway.open(token, {"name": "corpus"})
    try:
        dialled = Dialled(control.port(), token)
        dialled.send(bytes.fromhex(entry["hex"]) + frame(FrameType.CALL, 1 << 40, b"\x92\x00\x91\x01"))
        assert bool(dialled.read(1 << 40)) == entry["accepted"], dialled.goaway
        dialled.close()
    finally:
        control.close()
    java.check()


def test_the_guided_corpus_violates_no_invariant_of_python() -> None:
    inputs = fuzz_inputs.committed()
    assert inputs
    for data in inputs:
        Conversation("guided").receive(fuzz_inputs.reads_of(data))


def test_the_java_target_of_the_guided_fuzz_compiles(tmp_path: Path) -> None:
    """It calls classes of the jar that are not public API, so a rename there breaks it."""
    guided.compile_java_target(tmp_path)
    assert list(tmp_path.rglob("FrameFuzz.class"))


def test_input_of_the_guided_fuzzers_is_decoded_to_the_bytes_of_a_connection() -> None:
    short, other_id = frame(FrameType.NEXT, 3, b"\x91\x01"), frame(FrameType.CALL, 1 << 40, b"\x92\x00\x90")
    for data in (short, short + other_id, frame(FrameType.CANCEL, 1_000), b"\0\0", b""):
        assert b"".join(fuzz_inputs.reads_of(fuzz_inputs.input_of(data))) == data
    in_pieces = bytes((fuzz_inputs.RAW | 1 << 1,)) + bytes(20)
    assert [len(read) for read in fuzz_inputs.reads_of(in_pieces)] == [8, 8, 4]


def test_a_mutated_input_keeps_the_size_of_a_read_and_is_decoded_without_loss() -> None:
    random, size = Random(7), 3 << 1
    for data in fuzz_inputs.generated(7, 20):
        data = bytes((data[0] | size,)) + data[1:]
        for _ in range(20):
            data = fuzz_inputs.mutated_input(random, data)
            content = b"".join(fuzz_inputs.reads_of(data))
            assert data[0] & ~fuzz_inputs.RAW == size
            assert data[1:] == (content if data[0] & fuzz_inputs.RAW else fuzz_inputs.input_of(content)[1:])


def test_random_frames_violate_no_invariant_of_python() -> None:
    fuzz_python.fuzz(secrets.randbelow(2**32), None, FRAMES)


@pytest.mark.parametrize("limits", [(None, 1 << 40), (1 << 40, None)])
def test_the_proxy_cuts_a_connection_that_does_not_reach_its_limit(limits: tuple[int | None, int | None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(DEADLINE)
        proxy = Proxy(server.getsockname()[1], limits, 0.0, reset=False, seconds=0.01)
        with socket.create_connection(("127.0.0.1", proxy.port), DEADLINE) as near, server.accept()[0] as far:
            far.settimeout(DEADLINE)
            assert near.recv(1) == far.recv(1) == b""


def test_the_replay_command_of_soak_repeats_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[tuple[int, float, int]] = []
    monkeypatch.setattr(soak, "run", lambda *arguments: runs.append(arguments))
    assert main(["soak", "--minutes", "0.5", "--threads", "8"]) == 0
    command = capsys.readouterr().err.splitlines()[0].partition("replay: python -m tests.campaigns ")[2]
    assert main(command.split()) == 0
    assert runs[0] == runs[1]


@pytest.mark.campaign
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign_finds_no_violation_in_a_minute(name: str) -> None:
    assert main([name, "--minutes", "1"]) == 0
