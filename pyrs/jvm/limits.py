"""The limits of the bridge, from the file that both sides read."""

from __future__ import annotations

from importlib.resources import files


def _read(text: str) -> dict[str, int]:
    lines = (line.partition(" = ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: int(value) for name, _, value in lines}


LIMITS = _read(files("pyrs.jvm").joinpath("limits.properties").read_text(encoding="utf-8"))
