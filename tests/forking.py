"""A child made by fork(), which never goes on as a test run of its own."""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable


def status_of_a_child(work: Callable[[], bool]) -> int:
    """Runs the work in a child; 0 where it says so, 1 where it does not or raises, -14 where it never ends."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # pytest's own handler would raise here
        signal.alarm(30)
        gc.disable()  # what is garbage is the parent's
        status = 1
        try:
            status = 0 if work() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
