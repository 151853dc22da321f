"""Run a PostgreSQL server in a temporary folder, on a free loopback port."""

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
from tests.interop.systems.servers import START_SECONDS, free_port, killed_with_the_tests

DEBIAN = Path("/usr/lib/postgresql")
USER = "pyrs"
OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=20 -c port={port}"
)


@dataclass(frozen=True)
class Server:
    """The port and the credentials of a running server."""

    port: int
    user: str
    password: str = field(repr=False)


@contextlib.contextmanager
def postgresql() -> Iterator[Server]:
    """Run a server with a password for the duration of the context."""
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
            with killed_with_the_tests(postmaster):  # its child processes exit with it
                yield server
        finally:
            control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def install() -> Path:
    """Return the folder of PostgreSQL's programs; install them if they are missing."""

    def newest() -> Path | None:
        found = [*DEBIAN.glob("*/bin/initdb")]
        return max(found, key=lambda program: int(program.parts[-3])).parent if found else None

    debian.need("postgresql", newest() is not None)
    programs = newest()
    if programs is None:
        raise FileNotFoundError(f"no initdb below {DEBIAN}, although the package postgresql is installed: reinstall it")
    return programs


def _runner(folder: Path, password: Path) -> Callable[..., None]:
    """Return a function that runs a program of PostgreSQL.

    PostgreSQL refuses to run as root, so root runs the program as the user postgres.
    """
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        identity = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        for path in (folder, password):
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def run(*command: object) -> None:
        # The output goes to a file: the server inherits it, and would keep a pipe open.
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
