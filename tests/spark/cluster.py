"""Executors without pyrs, and a standalone cluster of two workers with separate addresses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
WORKERS = ("127.0.0.2", "127.0.0.3")


def python_without_pyrs(folder: Path) -> str:
    """Return an interpreter with the packages of this one, except for editable installations, such as pyrs."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = str(folder / "bin" / "python")
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    # Python does not read the .pth files of a folder that a .pth file names.
    (Path(packages) / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code = "import pandas, pyarrow, pyspark\ntry:\n    import pyrs\nexcept ImportError:\n    print('absent')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=100, cwd=folder)
    assert done.stdout == "absent\n", f"this test needs pyrs as an editable installation: {done.stderr}"
    return python


def environment(python: str) -> dict[str, str]:
    """Return the environment of a Spark process whose executors run the given interpreter."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_REMOTE")}
    return {**kept, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}


@contextmanager
def standalone(folder: Path, python: str) -> Iterator[str]:
    """Start a master and two workers; yield the URL of the master. Stop all of them on exit."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [(f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
    for host in WORKERS:
        work = folder / host
        work.mkdir(parents=True)
        arguments = ("--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(work))
        commands.append((f"{deploy}.worker.Worker", *arguments, url))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for i, command in enumerate(commands):
            with open(folder / f"{i}.log", "wb") as log:
                processes.append(
                    subprocess.Popen(
                        [HOME / "bin" / "spark-class", *command],
                        env=environment(python),
                        stdout=log,
                        stderr=log,
                        cwd=folder,
                        start_new_session=True,
                    )
                )
        yield url
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait(60)
