"""What the bridge costs, measured beside what it replaces: `python -m benchmarks bridge`.

Rivals run in the same process as the bridge and take turns with it, so that a busy machine slows all of them alike.
What each rival and each limit is, is written down in `docs/benchmarks.md`.
"""
