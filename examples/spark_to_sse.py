"""Serve a streaming query as server-sent events, through Reactor.

Run it: python examples/spark_to_sse.py --help

    Spark --Batch--> Python --text--> Reactor's operators --events--> Python --HTTP--> a browser, curl, EventSource

Each client has its own query. The next batch is computed when the previous one has been sent to the client: a slow
client slows its own query, and the query of a client that disconnects is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import pyrs
from pyrs import jvm
from pyrs import spark as ps
from pyrs.errors import JavaError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
WRONG = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def batches_of(spark: SparkSession, options: argparse.Namespace) -> pyrs.Stream[ps.Batch]:
    """Return the batches of a query over the new files of a folder, or over Spark's rate source."""
    reader = spark.readStream
    if options.folder is None:
        sdf: DataFrame = reader.format("rate").option("rowsPerSecond", options.rate).load()
    else:
        files = reader.schema(options.schema).option("maxFilesPerTrigger", options.files)
        sdf = files.json(str(options.folder))
    trigger = {"availableNow": True} if options.once else None
    return ps.from_stream(sdf, "dicts", options.checkpoint, trigger, acknowledge="request")


def say(line: str) -> None:
    """Print a line with one write, because the queries of several clients print at the same time."""
    print(f"{line}\n", end="", flush=True)


def as_event(batch: ps.Batch) -> str:
    return f"id: {batch.batch_id}\ndata: {json.dumps(batch.data, default=str)}\n\n"


class Events:
    """A stream of events for each client: Spark, Python, Reactor, Python.

    Both crossings have exact demand: a request acknowledges the previous batch, so none is requested ahead.
    """

    def __init__(self, spark: SparkSession, bridge: jvm.Bridge, options: argparse.Namespace) -> None:
        self.bridge, self.options = bridge, options
        self.flux, self.just = self._reactor()
        self.batches = batches_of(spark, options)
        self.failed = bridge.to_jvm_callable(self._failed, "java.util.function.Function")

    def _reactor(self) -> Any:
        try:
            flux, mono = map(self.bridge.java_class, ("reactor.core.publisher.Flux", "reactor.core.publisher.Mono"))
        except JavaError:
            sys.exit(f"spark_to_sse: no Reactor in this driver: pass --packages {self.options.packages}")
        return flux.from_, mono.just

    def _failed(self, error: BaseException) -> Any:
        """Replace an error by a last event that reports it."""
        reason = str(error).partition("\n")[0]
        return self.just(f"event: failed\ndata: {json.dumps(reason)}\n\n")

    def to(self, client: int) -> pyrs.Stream[str]:
        def report(batch: ps.Batch) -> None:
            say(f"client {client}: batch {batch.batch_id}, {len(batch.data)} rows")

        def finished() -> None:
            say(f"client {client}: its query has finished")

        events = self.batches.do_on_next(report).finally_do(finished).map(as_event)
        flux = self.flux(self.bridge.to_jvm(events, element_type="java.lang.String", exact=True))
        if self.options.most is not None:
            flux = flux.take(self.options.most)  # requests no more than that, then cancels
        ended = flux.concatWith(self.just("event: end\ndata: {}\n\n")).onErrorResume(self.failed)
        return self.bridge.from_jvm(ended, exact=True)


class Server:
    def __init__(self, events: Events, most_clients: int) -> None:
        self.events = events
        self.places = most_clients
        self.clients = 0
        self.answers: set[asyncio.Future[None]] = set()
        self.stopped = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client."""
        answer = asyncio.ensure_future(self.answer(reader, writer))
        self.answers.add(answer)
        try:
            await answer
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            pass  # the client disconnected, or did not send an HTTP request
        finally:
            self.answers.discard(answer)
            writer.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        if not request.startswith(b"GET "):
            writer.write(WRONG)
        elif not self.places:
            writer.write(BUSY)
        else:
            self.places -= 1
            self.clients += 1
            try:
                await self.serve(self.events.to(self.clients), reader, writer)
            finally:
                self.places += 1

    async def serve(self, events: pyrs.Stream[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send events until the stream, the client or the server ends.

        The end of the client or of the server cancels the stream and its query.
        """
        sending = asyncio.ensure_future(send(events, writer))
        tasks = {sending, asyncio.ensure_future(end_of(reader)), asyncio.ensure_future(self.stopped.wait())}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if not sending.cancelled():
            sending.result()

    async def close(self) -> None:
        self.stopped.set()
        await asyncio.gather(*self.answers, return_exceptions=True)


async def send(events: pyrs.Stream[str], writer: asyncio.StreamWriter) -> None:
    writer.transport.set_write_buffer_limits(high=0)  # do not buffer data that wait for the network
    writer.write(HEAD)
    await writer.drain()
    async with events.iterate(prefetch=1) as each:
        async for event in each:
            writer.write(event.encode())
            await writer.drain()  # a slow client makes the query wait


async def end_of(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(1024):
            pass


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="a folder of JSON files; by default Spark's rate source")
    parser.add_argument("--schema", help='the schema of the files, such as "user long, page string"')
    parser.add_argument("--files", type=int, default=1, help="the maximum number of files of a batch (%(default)s)")
    parser.add_argument("--rate", type=int, default=10, help="rows a second of the rate source (%(default)s)")
    parser.add_argument("--once", action="store_true", help="end when all present files are read")
    parser.add_argument("--most", type=int, help="end after this number of batches")
    parser.add_argument(
        "--checkpoint", type=Path, help="continue where the previous client stopped; serves one client at a time"
    )
    parser.add_argument(
        "--clients", type=int, default=4, help="the maximum number of clients; others receive 503 (%(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on, 0 for any (%(default)s)")
    parser.add_argument(
        "--packages", default="io.projectreactor:reactor-core:3.7.12", help="Maven coordinates of Reactor (%(default)s)"
    )
    parser.add_argument("--master", default="local[2]", help="the Spark master (%(default)s)")
    parser.add_argument("--jars", type=Path, help="a folder of jars that replaces --packages; nothing is downloaded")
    options = parser.parse_args()
    if (options.folder is None) != (options.schema is None):
        parser.error("a folder needs a --schema, and a --schema needs a folder")
    if options.jars is not None and not list(options.jars.glob("*.jar")):
        parser.error(f"--jars: there is no jar in {options.jars}")
    return options


def session(options: argparse.Namespace) -> SparkSession:
    builder = SparkSession.builder.master(options.master).appName("spark_to_sse")
    if options.jars is None:
        builder = builder.config("spark.jars.packages", options.packages)
    else:
        builder = builder.config("spark.jars", ",".join(map(str, sorted(options.jars.glob("*.jar")))))
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    return builder.config(map=quiet).getOrCreate()


async def listen(events: Events, options: argparse.Namespace) -> None:
    interrupted = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    clients = Server(events, 1 if options.checkpoint else options.clients)
    server = await asyncio.start_server(clients.handle, options.host, options.port)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/", flush=True)
    await interrupted.wait()
    server.close()
    await clients.close()
    print("stopped", flush=True)


def main() -> None:
    options = arguments()
    spark = session(options)
    try:
        with ps.attach(spark) as bridge:
            try:
                asyncio.run(listen(Events(spark, bridge, options), options))
            finally:
                for query in spark.streams.active:  # cancelled above; Spark must stop them before the session
                    query.stop()
    except (PySparkException, OSError) as error:  # the schema, the folder, the port
        sys.exit(f"spark_to_sse: {error}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
