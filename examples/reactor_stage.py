"""Run a Python stage inside a Reactor chain, in a Spark driver.

Run it: python examples/reactor_stage.py
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

import pyrs
from pyrs import jvm

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    # Downloaded from Maven Central on first use.
    .config("spark.jars.packages", "io.projectreactor:reactor-core:3.7.12")
    .getOrCreate()
)


def readings(upstream: pyrs.Stream[str]) -> pyrs.Stream[dict[str, Any]]:
    """Transform a Stream. Java calls it when ``transform`` assembles the chain, not for each element."""
    pairs = upstream.map(lambda line: line.split("="))
    return pairs.filter(lambda pair: len(pair) == 2).map(lambda pair: {"sensor": pair[0], "value": float(pair[1])})


with jvm.connect(spark) as bridge:
    Flux = spark._jvm.reactor.core.publisher.Flux
    lines = Flux.fromIterable(["roof=21.5", "no reading", "cellar=12"])

    # Java operators before and after the Python stage.
    chain = lines.transform(bridge.to_jvm_stage(readings)).take(10)
    for each in chain.collectList().block():
        print(each.getClass().getSimpleName(), each.toString())

spark.stop()
