"""Run the demo: a Spark driver, the pipeline, the race, the checks of the counts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pyrs import __version__
from pyrs._demo.driver import REACTOR, DemoError, naive_jvm, ratings_file, spark_driver
from pyrs._demo.pipeline import BUFFER, Java, Pipeline, flux_of
from pyrs._demo.report import (
    DEMAND,
    Check,
    ExpectedCounts,
    NaiveSubscriber,
    checks_of,
    expected_of,
    race,
    show_checks,
    show_demand,
    show_stages,
)
from pyrs._demo.screen import DIAGRAM, Screen
from pyrs._demo.stages import PatientSubscriber, RatingProcessor
from pyrs.jvm import Bridge, connect

_DEADLINE_SECONDS = 120.0
_TICK_SECONDS = 0.5
_WINDOW = 64


@dataclass(frozen=True)
class Size:
    """The amount of data in the demo.

    Args:
        laps: the number of passes of the ratings through the pipeline.
        batch: the number of elements that the Subscriber requests at a time.
        rest_seconds: the pause of the Subscriber after each batch.
        race_laps: the number of passes over the bridge in the race, a measurement of speed.
        naive_laps: the same for the naive proxy, which is slower.
    """

    laps: int = 4
    batch: int = 32
    rest_seconds: float = 0.08
    race_laps: int = 1000
    naive_laps: int = 4


def show(screen: Screen, size: Size) -> list[Check]:
    """Run the demo and return every count with its expected value.

    Raises:
        DemoError: a requirement is missing, or a stream failed or did not end in time.
        PyrsError: the bridge failed.
    """
    screen.say(f"pyrs {__version__}: Reactive Streams across Python and the JVM\n")
    screen.say("Starting a local Spark driver (the first run downloads Reactor from Maven Central) ...")
    file = ratings_file()
    with spark_driver() as spark:
        table = spark.read.text(str(file))
        expected = expected_of(table)
        # `as` is a Python keyword.
        lines = getattr(table._jdf, "as")(spark._jvm.org.apache.spark.sql.Encoders.STRING()).collectAsList()
        screen.say(f"Spark {spark.version} is running, with {REACTOR} and without pyrs.")
        screen.say(f"It has read the {expected.lines:,} MovieLens ratings of the pyspark package, {file.name}.")
        # A small window makes back pressure visible with so little data.
        with connect(spark, max_prefetch=_WINDOW, name="pipeline") as bridge:
            screen.say(f"pyrs has connected to that driver and prefetches at most {_WINDOW} elements:\n  {bridge!r}")
            checks = _pipeline(screen, bridge, spark._jvm, lines, expected, size)
        with connect(spark, name="race") as bridge:
            checks += _race(screen, bridge, spark, lines, expected, size)
    show_checks(screen, checks)
    return checks


def _pipeline(
    screen: Screen, bridge: Bridge, jvm: Java, lines: Java, expected: ExpectedCounts, size: Size
) -> list[Check]:
    screen.title(f"1. The pipeline: {size.laps} x {expected.lines:,} ratings to a slow Subscriber")
    screen.say(DIAGRAM.format(batch=size.batch, buffer=BUFFER))
    processor = RatingProcessor()
    subscriber = PatientSubscriber(size.batch, lambda rating: rating["stars"], size.rest_seconds, processor.kept)
    pipeline = Pipeline(bridge, jvm, processor, subscriber)
    begun = time.monotonic()
    pipeline.start(lines, size.laps)
    screen.progress_head()
    ended = False
    while not ended:
        ended = subscriber.ended.wait(_TICK_SECONDS)
        seconds, now = time.monotonic() - begun, pipeline.progress()
        screen.progress(seconds, now)
        if not ended and seconds > _DEADLINE_SECONDS:
            raise DemoError(f"the pipeline did not end within {_DEADLINE_SECONDS:.0f} seconds: {now}")
    if subscriber.error is not None:
        raise DemoError(f"the pipeline failed: {subscriber.error!r}") from subscriber.error
    show_stages(screen, pipeline)
    show_demand(screen, bridge, pipeline, size.batch)
    return checks_of(pipeline, expected, size.laps)


def _race(
    screen: Screen, bridge: Bridge, spark: SparkSession, lines: Java, expected: ExpectedCounts, size: Size
) -> list[Check]:
    screen.title("2. The race: the same Flux into the same Python Subscriber, without pauses")
    screen.say(
        f"The Subscriber of pyrs and that of the naive proxy request {DEMAND} lines at a time. The naive proxy is a\n"
        "Python object behind Py4J's callback server, with one callback per signal. It has a JVM of its own,\n"
        "because pyrs starts no callback server in the driver.\n"
    )
    jvm = spark._jvm
    race(bridge.from_jvm(flux_of(jvm, lines, size.naive_laps)).subscribe)  # warm-up
    bridged, rate = race(bridge.from_jvm(flux_of(jvm, lines, size.race_laps)).subscribe)
    screen.fact("pyrs", f"{rate:>11,.0f} elements per second  ({bridged.count:,} lines)")
    with naive_jvm(spark) as other:
        path = other.java.io.File(str(ratings_file())).toPath()
        flux = flux_of(other, other.java.nio.file.Files.readAllLines(path), size.naive_laps)
        race(lambda subscriber: flux.subscribe(NaiveSubscriber(subscriber)))
        naive, naive_rate = race(lambda subscriber: flux.subscribe(NaiveSubscriber(subscriber)))
    screen.fact("naive Py4J proxy", f"{naive_rate:>11,.0f} elements per second  ({naive.count:,} lines)")
    screen.fact("", f"{rate / naive_rate:>11,.0f} times as fast")
    return [
        Check("lines in the race, pyrs", bridged.count, size.race_laps * expected.lines),
        Check("stars in the race, pyrs", bridged.stars, size.race_laps * expected.stars),
        Check("lines in the race, naive", naive.count, size.naive_laps * expected.lines),
        Check("stars in the race, naive", naive.stars, size.naive_laps * expected.stars),
    ]
