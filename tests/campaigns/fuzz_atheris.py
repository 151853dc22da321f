"""Fuzz the Python half of the link with atheris, which mutates the inputs that reach new branches.

``tests.campaigns.guided`` starts it in a process of its own, with the options of libFuzzer. With the path of an input
it runs that input alone. The invariants are those of ``fuzz_python``.
"""

from __future__ import annotations

import logging
import sys

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["pyrs.jvm.link", "pyrs.jvm.values", "pyrs.jvm.codec"]):
    import pyrs
    from tests.campaigns.fuzz_inputs import reads_of
    from tests.campaigns.fuzz_python import Conversation, check_dropped


def one_input(data: bytes) -> None:
    """Run one input as a conversation. The Subscribers act as their fixed seed says."""
    dropped: list[tuple[BaseException, str]] = []
    pyrs.set_error_hook(lambda error, where: dropped.append((error, where)))
    Conversation("guided").receive(reads_of(data))
    for error, where in dropped:
        check_dropped(error, where)


def main() -> None:
    """Run libFuzzer, which ends the process."""
    logging.disable(logging.CRITICAL)
    pyrs.set_element_hook(lambda count, where: None)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
