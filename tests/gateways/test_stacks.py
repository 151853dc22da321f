"""Parsing of printed stack traces."""

from __future__ import annotations

from pyrs.jvm.gateways.base import parse_stack

PRINTED = """java.lang.IllegalStateException: two
lines, at the start
\tat app//a.b.C.<init>(C.java:12)
\tat java.base@17.0.1/java.util.Objects.requireNonNull(Objects.java)
\tat a.b.C$$Lambda$12/0x0000.apply(Unknown Source)
\tat jdk.internal.Native.call(Native Method)
Caused by: java.io.IOException: why
\tat a.b.D.m(D.java:1)
\t... 3 more
"""


def test_parse_stack_returns_the_frames_of_the_first_throwable() -> None:
    assert parse_stack(PRINTED) == (
        ("a.b.C", "<init>", "C.java", 12),
        ("java.util.Objects", "requireNonNull", "Objects.java", -1),
        ("a.b.C$$Lambda$12/0x0000", "apply", None, -1),
        ("jdk.internal.Native", "call", None, -1),
    )


def test_parse_stack_of_a_throwable_without_frames_is_empty() -> None:
    assert parse_stack("java.lang.Error") == ()
