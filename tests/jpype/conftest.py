"""Every test of this folder runs under ``detect_blocking``."""

from tests.blocking import no_blocked_loop

__all__ = ["no_blocked_loop"]
