"""Run the fault campaigns: fuzz, soak, chaos and races.

``python -m tests.campaigns [CAMPAIGN ...] [--minutes N] [--frames N] [--threads N] [--seed S]``
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence

from tests.campaigns import chaos, fuzz, races, soak
from tests.campaigns.reporting import Violation, log

CAMPAIGNS = ("fuzz", "soak", "chaos", "races")


def run(name: str, seed: int, minutes: float, frames: int | None, threads: int) -> str | None:
    """Run one campaign. Return its violation, or None."""
    options = f"--minutes {minutes:g}" if frames is None or name != "fuzz" else f"--frames {frames}"
    if name == "soak":
        options += f" --threads {threads}"
    log(f"{name}: seed {seed}; replay: python -m tests.campaigns {name} {options} --seed {seed}")
    try:
        if name == "fuzz":
            fuzz.run(seed, minutes, frames)
        elif name == "soak":
            soak.run(seed, minutes, threads)
        elif name == "chaos":
            chaos.run(seed, minutes)
        else:
            races.run(minutes)
    except Violation as violation:
        return str(violation)
    return None


def main(words: Sequence[str] | None = None) -> int:
    """Run the chosen campaigns. Return 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description="Run the fault campaigns.")
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=f"{', '.join(CAMPAIGNS)}; all by default")
    parser.add_argument("--minutes", type=float, default=20.0, help="the time of each campaign (default 20)")
    parser.add_argument("--frames", type=int, help="fuzz this number of frames on each side, instead of --minutes")
    parser.add_argument("--threads", type=int, default=32, help="the threads of soak on each gateway (default 32)")
    parser.add_argument("--seed", type=int, help="repeat the run with this seed; races uses no seed")
    options = parser.parse_args(words)
    unknown = set(options.campaigns) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"no such campaign: {', '.join(sorted(unknown))}; choose from {', '.join(CAMPAIGNS)}")
    violations = {}
    for name in options.campaigns or CAMPAIGNS:
        seed = options.seed if options.seed is not None else secrets.randbelow(2**32)
        violation = run(name, seed, options.minutes, options.frames, options.threads)
        if violation is not None:
            violations[name] = violation
            log(f"{name}: VIOLATION with seed {seed}: {violation}")
        else:
            log(f"{name}: passed with seed {seed}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
