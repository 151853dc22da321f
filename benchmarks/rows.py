"""The benchmarks of the bridge. A row compares pyrs with its contenders, and has budgets for the ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks import limits, memory
from benchmarks.budgets import AtLeast, Budget, Faster, Verdict, Within, WithinSum
from benchmarks.contenders import Contenders, range_publisher, rows_publisher
from benchmarks.drivers import Driver
from benchmarks.measure import Contender

MILLION = 1_000_000
NAIVE = 8_000
ARROW_BATCHES = 495
"""The number of Arrow batches of 65,536 rows in 1 GB. As a budget in batches per second it requires 1 GB per second."""


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes:
        name: the argument of ``--only``.
        title: a description of the measurement.
        contenders: creates the measured implementations, of which the first is pyrs ("ours").
        budgets: the bounds of the ratios; each is one line of the table.
        memory: a measurement of memory, if any.
        gateway: "spark", or "jpype", which runs in a child process.
    """

    name: str
    title: str
    contenders: Callable[[Contenders], Sequence[Contender]] = field(default=lambda make: ())
    budgets: Sequence[Budget] = ()
    memory: Callable[[Driver, float], list[Verdict]] | None = None
    gateway: str = "spark"


ROWS = (
    Row(
        "to-python-256",
        "JVM to Python, longs, request(256)",
        lambda make: (
            make.ours_to_python("longs", MILLION),
            make.naive_to_python("longs", NAIVE),
            make.limit_to_python(limits.longs, MILLION),
        ),
        (Faster("naive", 75), Within("limit", 1.5)),
    ),
    Row(
        "telemetry",
        "JVM to Python, longs, request(256), with spans and metrics",
        lambda make: (
            make.instrumented(make.ours_to_python("longs", MILLION)),
            make.ours_to_python("longs", MILLION, name="off"),
        ),
        (Within("off", 1.05),),
    ),
    Row(
        "to-python-1",
        "JVM to Python, longs, request(1)",
        lambda make: (
            make.ours_to_python("longs", MILLION // 2, 1),
            make.naive_to_python("longs", NAIVE // 2, 1),
            make.limit_to_python(limits.longs, MILLION // 2, batch=1),
        ),
        (Faster("naive", 150), Within("limit", 2)),
    ),
    Row(
        "to-jvm",
        "Python to JVM, longs",
        lambda make: (
            make.ours_to_jvm(range_publisher, MILLION),
            make.naive_to_jvm(NAIVE),
            make.limit_to_jvm(limits.longs, MILLION),
        ),
        (Faster("naive", 200), Within("limit", 1.3)),
    ),
    Row(
        "records-to-python",
        "JVM to Python, records of three fields",
        lambda make: (
            make.ours_to_python("records", MILLION // 5),
            make.limit_to_python(limits.records, MILLION // 5),
        ),
        (Within("limit", 1.3),),
    ),
    Row(
        "records-to-jvm",
        "Python to JVM, records of three fields",
        lambda make: (
            make.ours_to_jvm(rows_publisher, MILLION // 5),
            make.limit_to_jvm(limits.Rows, MILLION // 5),
        ),
        (Within("limit", 1.3),),
    ),
    Row(
        "to-iterable",
        "JVM to Python, for element in stream.to_iterable()",
        lambda make: (
            make.terminal("ours", MILLION // 2, lambda stream: sum(1 for _ in stream.to_iterable())),
            make.terminal("collect", MILLION // 2, lambda stream: len(stream.collect())),
        ),
        (Within("collect", 1.3),),
    ),
    Row(
        "map-filter-collect",
        "JVM to Python, stream.map(f).filter(g).collect()",
        lambda make: (
            make.terminal("ours", MILLION // 2, lambda stream: len(limits.transformed(stream).collect())),
            make.limit_of_comprehension(MILLION // 2),
        ),
        (Within("limit", 1.3),),
    ),
    Row(
        "stage",
        "A Python stage between two Java stages",
        lambda make: (
            make.stage(MILLION // 2),
            make.ours_to_python("longs", MILLION // 2, name="to-python"),
            make.ours_to_jvm(range_publisher, MILLION // 2, name="to-jvm"),
        ),
        (WithinSum(("to-python", "to-jvm"), 1.2),),
    ),
    Row(
        "references",
        "JVM to Python, unused references",
        lambda make: (
            make.ours_to_python("objects", MILLION // 5),
            make.ours_to_python("longs", MILLION, name="longs"),
        ),
        (Within("longs", 2.5),),
        memory.references_stay_flat,
    ),
    Row(
        "exact",
        "JVM to Python, exact demand, request(1)",
        lambda make: (
            make.ours_to_python("longs", NAIVE, 1, exact=True),
            make.naive_to_python("longs", NAIVE // 2, 1),
        ),
        (Faster("naive", 2),),
    ),
    Row(
        "busy",
        "JVM to Python, with a busy Python thread",
        lambda make: (
            make.ours_to_python("longs", MILLION // 2, busy=True),
            make.limit_to_python(limits.longs, MILLION // 2, busy=True),
        ),
        (AtLeast(MILLION),),
    ),
    Row(
        "streams",
        "1,000 streams of 1,000, compared with one of 1,000,000",
        lambda make: (
            make.many_streams(1_000, MILLION),
            make.ours_to_python("longs", MILLION, name="one stream"),
        ),
        (Within("one stream", 2),),
    ),
    Row(
        "arrow-to-python",
        "JVM to Python, Arrow batches of 65,536 rows, 1 GB",
        lambda make: make.arrow_to_python(ARROW_BATCHES),
        (Within("limit", 1.2), AtLeast(ARROW_BATCHES)),
    ),
    Row(
        "arrow-to-jvm",
        "Python to JVM, Arrow batches of 65,536 rows, 1 GB",
        lambda make: make.arrow_to_jvm(ARROW_BATCHES),
        (Within("limit", 1.2), AtLeast(ARROW_BATCHES)),
    ),
    Row("idle-streams", "10,000 streams without elements", memory=memory.idle_streams),
    Row("stalled-to-python", "A Subscriber in Python stops requesting", memory=memory.stalled_to_python),
    Row("stalled-megabytes", "The same with elements of 1 MB", memory=memory.stalled_with_megabytes),
    Row("stalled-to-jvm", "A Subscriber in Java stops requesting", memory=memory.stalled_to_jvm),
    Row(
        "jpype",
        "JPype, publisher on a foreign Java thread, request(256)",
        lambda make: (
            make.ours_to_python("foreignLongs", MILLION),
            make.naive_to_python("foreignLongs", NAIVE),
            make.limit_to_python(limits.longs, MILLION),
        ),
        (Faster("naive", 50),),
        gateway="jpype",
    ),
)
