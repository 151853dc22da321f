"""Run a server of the standard library on its own thread during a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import TypeVar

from tests.waiting import DEADLINE

ServerT = TypeVar("ServerT", bound=BaseServer)


@contextmanager
def serving(server: ServerT) -> Iterator[ServerT]:
    """Serve until the block ends, and close the server."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="server", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(DEADLINE)
