"""Run code in a forked child process that never continues the test run."""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable


def status_of_a_child(work: Callable[[], bool]) -> int:
    """Run ``work`` in a forked child process, and return the exit status of the child.

    Returns:
        0 if ``work`` returns True, 1 if it returns False or raises, -14 (SIGALRM) if it does not return in 30 seconds.
    """
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the handler of pytest-timeout would raise in the child
        signal.alarm(30)
        gc.disable()  # the garbage belongs to the parent
        status = 1
        try:
            status = 0 if work() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
