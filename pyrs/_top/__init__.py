"""Show the live streams of the processes that serve their status.

The command is ``python -m pyrs top``.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from pyrs._core.sites import Site
from pyrs.jvm.status import MAX_FILE, PATH, checked_folder, status_folder
from pyrs.jvm.streams import Rates, StreamStatus, cells, text_table, title

__all__ = ["BridgeStatus", "as_dicts", "read_all", "run", "with_rates"]

_SECONDS = 5.0
_MAX_ANSWER = 16 << 20
_CLEAR = "\x1b[H\x1b[2J"
_NONE = "no process serves its status: call bridge.serve_status() in the process with the bridge"


class BridgeStatus(NamedTuple):
    """The answer of one bridge, or the reason that there is none."""

    pid: int
    name: str
    state: str
    streams_live: int = 0
    dropped: int = 0
    streams: tuple[StreamStatus, ...] = ()


def run(
    *,
    once: bool = False,
    as_json: bool = False,
    interval: float = 1.0,
    file: TextIO | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> int:
    """Print the table once or after each interval, and return the exit code.

    The exit code is 1 if the table is printed once, with ``once`` or ``as_json``, and no process serves its status.
    """
    file = file or sys.stdout
    rates = Rates()
    try:
        while True:
            bridges = with_rates(list(read_all(status_folder())), rates)
            if as_json:
                print(json.dumps(as_dicts(bridges, StreamStatus._asdict), indent=2), file=file)
            else:
                is_screen = file.isatty() and not once
                lines = list(_lines(bridges))
                if is_screen:
                    size = shutil.get_terminal_size()
                    lines = [line[: size.columns] for line in lines[: size.lines - 1]]
                print(_CLEAR * is_screen + "\n".join(lines), file=file, flush=True)
            if once or as_json:
                return int(not bridges)
            wait(interval)
    except KeyboardInterrupt:
        return 0


def read_all(folder: Path) -> Iterator[BridgeStatus]:
    """Yield the status of each bridge that has a file in the folder.

    Raises:
        PermissionError: the path is not a folder that only this user can access.
    """
    try:
        files = sorted(checked_folder(folder).glob("*.json"))
    except FileNotFoundError:
        return
    seen: Counter[tuple[int, str]] = Counter()
    for file in files:
        try:
            found = _read_file(file)
        except (OSError, ValueError, RecursionError):
            continue  # removed since it was listed, or not a status file
        if not _is_alive(found["pid"]):
            with suppress(OSError):
                file.unlink()
            continue
        try:
            bridge = _fetch(found)
        except (OSError, HTTPException, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            state = f"status cannot be read ({type(error).__name__})"
            bridge = BridgeStatus(found["pid"], _clean(found["name"]), state)
        seen[bridge.pid, bridge.name] += 1
        number = seen[bridge.pid, bridge.name]
        # The process and the name identify a bridge in the page, and its streams in the computation of rates.
        yield bridge if number == 1 else bridge._replace(name=f"{bridge.name} ({number})")


def _read_file(path: Path) -> dict[str, Any]:
    """Return the content of a status file."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        private = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077)
        if not stat.S_ISREG(found.st_mode) or not private:
            raise ValueError(f"{path} is not a file that only this user can read")
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError(f"{path} is longer than {MAX_FILE} bytes")
    content = json.loads(data)
    kinds = {"pid": int, "port": int, "token": str, "name": str}
    if not isinstance(content, dict) or any(type(content.get(key)) is not kind for key, kind in kinds.items()):
        raise ValueError(f"{path} is not a status file")
    if content["pid"] < 1 or not 0 < content["port"] < 1 << 16:
        raise ValueError(f"{path} has no valid process or port")
    return content


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # os.kill ends the process there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, PermissionError):  # PermissionError: another user's process has the id
        return False
    return True


def _fetch(found: dict[str, Any]) -> BridgeStatus:
    # HTTPConnection uses no proxy and follows no redirect. The address is constant, so the file cannot choose the host.
    with closing(HTTPConnection("127.0.0.1", found["port"], timeout=_SECONDS)) as connection:
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {found['token']}"})
        response = connection.getresponse()
        data = response.read(_MAX_ANSWER + 1)
    if response.status != 200 or len(data) > _MAX_ANSWER:
        raise ValueError(f"status {response.status}, {len(data)} bytes")
    answer = json.loads(data)
    return BridgeStatus(
        found["pid"],
        _clean(answer["name"]),
        _clean(answer["state"]),
        int(answer["streams_live"]),
        int(answer["dropped"]),
        tuple(_stream(each) for each in answer["streams"]),
    )


def _stream(given: dict[str, Any]) -> StreamStatus:
    values = {key: given[key] for key in StreamStatus._fields}
    for key in ("direction", "name", "state"):
        values[key] = _clean(values[key])
    for key in ("id", "demand", "in_flight", "buffered", "elements", "dropped"):
        values[key] = int(values[key])
    for key in ("rate", "seconds"):
        values[key] = float(values[key])
    if values["site"] is not None:
        file, line = values["site"]
        values["site"] = Site(_clean(file), int(line))
    return StreamStatus(**values)


def _clean(text: object) -> str:
    """Return the text without control characters, which a terminal would execute."""
    return "".join(each if each.isprintable() else "?" for each in str(text))


def with_rates(bridges: list[BridgeStatus], rates: Rates) -> list[BridgeStatus]:
    """Replace each stream's average rate by its rate since the previous table."""
    counts = [
        ((bridge.pid, bridge.name, stream.id), stream.elements, stream.seconds)
        for bridge in bridges
        for stream in bridge.streams
    ]
    measured = iter(rates.rates(counts))
    return [
        bridge._replace(streams=tuple(stream._replace(rate=next(measured)) for stream in bridge.streams))
        for bridge in bridges
    ]


def as_dicts(bridges: list[BridgeStatus], of_stream: Callable[[StreamStatus], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bridges, with their streams, as dicts for JSON."""
    return [{**bridge._asdict(), "streams": list(map(of_stream, bridge.streams))} for bridge in bridges]


def _lines(bridges: list[BridgeStatus]) -> Iterator[str]:
    if not bridges:
        yield _NONE
    for place, bridge in enumerate(bridges):
        if place:
            yield ""
        yield f"process {bridge.pid}, {title(bridge.name, bridge.state, bridge.streams_live, bridge.dropped)}"
        yield from text_table([cells(stream) for stream in bridge.streams])
        hidden = bridge.streams_live - len(bridge.streams)
        if bridge.streams and hidden > 0:
            yield f"and {hidden:,} more"
