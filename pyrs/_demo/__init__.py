"""Stream MovieLens ratings through Spark's JVM and Python.

Run it with ``python -m pyrs demo``. The JVM is that of a Spark driver.
"""

from __future__ import annotations

import sys
import traceback

from pyrs._demo.driver import DemoError
from pyrs._demo.screen import Screen
from pyrs._demo.show import Size, show
from pyrs.errors import PyrsError

__all__ = ["Size", "main"]


def main(size: Size | None = None) -> int:
    """Run the demo; return 0 only if every count equals the count by Spark SQL."""
    screen = Screen()
    try:
        wrong = [check for check in show(screen, size or Size()) if not check.right]
        failure = f"{len(wrong)} of the counts are wrong; {wrong[0]}" if wrong else ""
    except KeyboardInterrupt:
        screen.finish_line()
        print("pyrs demo: interrupted", file=sys.stderr)
        return 130
    except (DemoError, PyrsError) as error:
        failure = str(error)
    except Exception as error:
        if error is screen.error:
            raise  # the command line reports that standard output cannot be written
        traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"
    screen.finish_line()
    if failure:
        print(f"pyrs demo: FAILED: {failure}", file=sys.stderr)
    return int(bool(failure))
