"""Fuzz the Python side of the link with atheris, which mutates the inputs that reach new branches.

``tests.campaigns.guided`` starts this program in a separate process, with the options of libFuzzer. If an argument is
the path of an input, the program runs only that input. The invariants are those of ``fuzz_python``.
"""

from __future__ import annotations

import logging
import sys
from random import Random

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["pyrs.jvm.link", "pyrs.jvm.values", "pyrs.jvm.codec"]):
    import pyrs
    from tests.campaigns.fuzz_inputs import mutated_input, reads_of
    from tests.campaigns.fuzz_python import Conversation, check_dropped


BYTES = 0.3
"""The probability that a mutation changes bytes; the other mutations change frames."""


def one_input(data: bytes) -> None:
    """Run one input as a conversation. The actions of the Subscribers depend on a fixed seed."""
    dropped: list[tuple[BaseException, str]] = []
    pyrs.set_error_hook(lambda error, where: dropped.append((error, where)))
    Conversation("guided").receive(reads_of(data))
    for error, where in dropped:
        check_dropped(error, where)


def mutate(data: bytes, limit: int, seed: int) -> bytes:
    """Mutate the bytes as libFuzzer does, or the frames as the random campaign does."""
    random = Random(seed)
    if random.random() < BYTES or not data:
        return bytes(atheris.Mutate(data, limit))
    return mutated_input(random, data)[:limit]


def main() -> None:
    """Run libFuzzer, which ends the process."""
    logging.disable(logging.CRITICAL)
    pyrs.set_element_hook(lambda count, where: None)
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
