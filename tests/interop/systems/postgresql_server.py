"""A PostgreSQL server of its own: a temporary folder, a free loopback port, a password that is in no command line."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.interop.systems import debian
from tests.interop.systems.servers import START_SECONDS, ended_with_the_tests, free_port

DEBIAN = Path("/usr/lib/postgresql")
USER = "pyrs"
OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=20 -c port={port}"
)


@dataclass(frozen=True)
class Server:
    """Where it listens, and who may in."""

    port: int
    user: str
    password: str = field(repr=False)


@contextlib.contextmanager
def postgresql() -> Iterator[Server]:
    """Starts one and stops it."""
    programs = install()
    folder = Path(tempfile.mkdtemp(prefix="pyrs-postgresql-"))
    server = Server(free_port(), USER, secrets.token_urlsafe(16))
    try:
        password = folder / "password"
        password.write_text(server.password, encoding="utf-8")
        run = _runner(folder, password)
        data, log = folder / "data", folder / "log"
        run(
            programs / "initdb",
            "-D",
            data,
            "-U",
            USER,
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "-E",
            "UTF8",
            "-N",
        )
        control = partial(run, programs / "pg_ctl", "-D", data, "-w", "-t", START_SECONDS)
        control("-l", log, "-o", OPTIONS.format(port=server.port), "start")
        try:
            postmaster = int((data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
            with ended_with_the_tests(postmaster):  # its processes end when it has
                yield server
        finally:
            control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def install() -> Path:
    """Where its programs are; installed where they are missing."""

    def newest() -> Path | None:
        found = [*DEBIAN.glob("*/bin/initdb")]
        return max(found, key=lambda program: int(program.parts[-3])).parent if found else None

    debian.need("postgresql", newest() is not None)
    programs = newest()
    if programs is None:
        raise FileNotFoundError(f"no initdb below {DEBIAN}, though the package is there")
    return programs


def _runner(folder: Path, password: Path) -> Callable[..., None]:
    """Runs a program of PostgreSQL's; they refuse to be root, so root runs them as the package's own user."""
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        identity = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        for path in (folder, password):
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def run(*command: object) -> None:
        # To a file: the server inherits it, and a pipe would stay open for as long as it runs.
        with (folder / "output").open("w+b") as output:
            done = subprocess.run(
                [*map(str, command)],
                check=False,
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=START_SECONDS,
                **identity,
            )
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{command[0]} failed: {output.read()[-2000:].decode('utf-8', 'replace')}")

    return run
