"""Run the JVM examples of a page in one process: ``python -m tests.project.pasted PAGE``.

A process has one JVM, so later examples attach to it and add their packages to its class path. Examples with a Spark
session are left out: tests/project/test_docs_run.py runs them in a driver.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from tests.project.examples import Recorder, differences, jvm_examples


def main(page: str) -> int:
    """Run the examples; return 1 if the output of one differs from the page."""
    wrong = []
    for example in jvm_examples(page):
        if "SparkSession" in example.code:
            continue
        name = f"{example.page}:{example.line}"
        recorder = Recorder(name)
        with redirect_stdout(recorder):
            exec(compile(example.code, name, "exec"), {"__name__": "__main__"})
        wrong += [f"{name}: {difference}" for difference in differences(example.code, recorder.printed)]
        print("ran", name, flush=True)
    print(*wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
