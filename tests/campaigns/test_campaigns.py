"""The corpus on both halves, and each campaign for a minute."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pyrs.errors import ProtocolError
from pyrs.jvm.link.frames import FrameDecoder, FrameType, frame
from tests.campaigns import fuzz_python
from tests.campaigns.__main__ import CAMPAIGNS, main
from tests.campaigns.fuzz_java import Dialled, JavaFuzz
from tests.campaigns.fuzz_python import FuzzSession

CORPUS = json.loads((Path(__file__).parent / "corpus.json").read_text(encoding="utf-8"))
FRAMES = 20_000
inputs = pytest.mark.parametrize("entry", CORPUS, ids=[entry["name"].replace(" ", "-") for entry in CORPUS])


@inputs
def test_python_accepts_or_refuses(entry: dict[str, Any]) -> None:
    session, decoder = FuzzSession(), FrameDecoder()
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
def test_java_accepts_or_refuses(java: JavaFuzz, entry: dict[str, Any]) -> None:
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


def test_the_python_half_withstands_some_frames() -> None:
    fuzz_python.fuzz(secrets.randbelow(2**32), None, FRAMES)


@pytest.mark.campaign
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_one_minute(name: str) -> None:
    assert main([name, "--minutes", "1"]) == 0
