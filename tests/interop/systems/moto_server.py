"""An S3 server: moto from PyPI, in a separate virtual environment.

moto is not among the packages for development: without its extra ``server`` it already installs 28 packages, including
its own version of boto, and only the tests of the AWS SDK use it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.interop.systems.servers import free_port, listening, running
from tests.interop.systems.system import ROOT

# For S3 alone moto_server needs only these two packages of its extra "server".
PACKAGES = ("moto[s3]==5.1.22", "flask==3.1.3", "flask-cors==6.0.5")
FOLDER = ROOT / "build" / "moto"
INSTALL_SECONDS = 300

# After "Expect: 100-continue" both http.server and werkzeug answer, and the SDK mistakes the second answer for
# the response.
START = """
from werkzeug.serving import WSGIRequestHandler
WSGIRequestHandler.handle_expect_100 = lambda handler: True
import sys
from moto.server import main
main(sys.argv[1:])
"""


@contextlib.contextmanager
def moto_server(folder: Path) -> Iterator[int]:
    """Start a server without buckets and yield its port."""
    python = install()
    port = free_port()
    with running([str(python), "-c", START, "-H", "127.0.0.1", "-p", str(port)], folder, lambda: listening(port)):
        yield port


def install() -> Path:
    """Return the Python with moto; install moto if it is missing."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / "installed"
    wanted = "\n".join(PACKAGES)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print("pyrs: installing moto with pip", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True, timeout=INSTALL_SECONDS)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True, timeout=INSTALL_SECONDS)
        stamp.write_text(wanted, encoding="utf-8")
    return python
