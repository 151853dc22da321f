"""Apache Cassandra: the recipe of docs/recipes/cassandra.md.

Run it: python examples/recipes/cassandra.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["com.datastax.oss:java-driver-core:4.17.0"]


def names(host: str, port: int = 9042) -> list[str]:
    with jvm.launch(packages=PACKAGES) as bridge:
        session = connect(bridge, host, port, "datacenter1")
        try:
            found = rows(bridge, session, "SELECT name FROM shop.customers WHERE country = ?", "NL")
            return found.map(lambda customer: customer["name"]).collect(timeout=60)
        finally:
            session.close()


def connect(bridge: Bridge, host: str, port: int, datacenter: str, *, request_seconds: int = 10) -> JavaObject:
    """Open a session, which the caller closes.

    It owns the connections; one session for each process and cluster is enough.

    Args:
        request_seconds: the timeout of a request, or a page; the driver's default is 2.
    """
    timeout = bridge.java_class("com.datastax.oss.driver.api.core.config.DefaultDriverOption").REQUEST_TIMEOUT
    settings = bridge.java_class("com.datastax.oss.driver.api.core.config.DriverConfigLoader").programmaticBuilder()
    settings.withDuration(timeout, bridge.java_class("java.time.Duration").ofSeconds(request_seconds))
    address = bridge.java_class("java.net.InetSocketAddress")(host, port)
    builder = bridge.java_class("com.datastax.oss.driver.api.core.CqlSession").builder()
    builder = builder.addContactPoint(address).withLocalDatacenter(datacenter).withConfigLoader(settings.build())
    session: JavaObject = builder.build()
    return session


def rows(
    bridge: Bridge, session: JavaObject, query: str, *parameters: Any, page_size: int = 1000
) -> pyrs.Stream[dict[str, Any]]:
    """Return the rows as dicts by column name; each subscription runs the query.

    Args:
        parameters: the values for the question marks of the query. An int is a bigint;
            for an int column pass bridge.java_class("java.lang.Integer")(1).
        page_size: the number of rows in a page; the driver buffers up to five pages.
    """

    def run(prepared: JavaObject) -> pyrs.Stream[dict[str, Any]]:
        bound = prepared.bind(*parameters).setPageSize(page_size)
        found: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(session.executeReactive(bound), convert="values")
        return found

    return pyrs.defer(lambda: bridge.from_jvm(session.prepareAsync(query))).concat_map(run, prefetch=1)


def insert(
    bridge: Bridge, session: JavaObject, table: str, rows: pyrs.Stream[Mapping[str, Any]], *, concurrency: int = 16
) -> pyrs.Stream[Mapping[str, Any]]:
    """Insert the rows; emit each row when it is written, in order of completion."""

    def run(prepared: JavaObject) -> pyrs.Stream[Mapping[str, Any]]:
        def insert_one(row: Mapping[str, Any]) -> pyrs.Stream[Mapping[str, Any]]:
            written = bridge.from_jvm(session.executeReactive(prepared.bind(json.dumps(row))))
            return pyrs.concat(written, pyrs.just(row))

        return rows.flat_map(insert_one, concurrency=concurrency)

    statement = f"INSERT INTO {table} JSON ?"
    return pyrs.defer(lambda: bridge.from_jvm(session.prepareAsync(statement))).concat_map(run, prefetch=1)


print(names("127.0.0.1"))
