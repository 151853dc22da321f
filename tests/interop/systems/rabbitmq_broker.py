"""A RabbitMQ node from the Debian package, run as the user that runs the tests, with a separate epmd."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrs.jvm import Bridge, JavaObject
from tests.interop.harness import DEADLINE
from tests.interop.systems import debian
from tests.interop.systems.servers import free_port, listening, logged, running

PROGRAMS = Path("/usr/lib/rabbitmq/bin")  # those on PATH require the user root or rabbitmq
SERVER = PROGRAMS / "rabbitmq-server"
LONGEST_SECONDS = 60.0


@dataclass(frozen=True)
class Node:
    """A running broker."""

    port: int
    """The AMQP port; the user and the password are the default, guest."""
    environment: Mapping[str, str]

    def close_connections(self) -> None:
        """Close all connections by force, as an administrator can."""
        command = [str(PROGRAMS / "rabbitmqctl"), "close_all_connections", "by the test"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=LONGEST_SECONDS)
        if done.returncode:
            raise RuntimeError(f"rabbitmqctl failed: {(done.stdout + done.stderr)[-2000:]}")


def install() -> None:
    """Install the package unless it is present."""
    debian.need("rabbitmq-server", SERVER.exists())


@contextlib.contextmanager
def rabbitmq_broker(folder: Path) -> Iterator[Node]:
    """Start a broker, and stop it at the end."""
    install()
    port, distribution, names = free_port(), free_port(), free_port()
    configuration = folder / "rabbitmq.conf"
    configuration.write_text(f"listeners.tcp.1 = 127.0.0.1:{port}\nlog.console = true\n", encoding="utf-8")
    plugins = folder / "plugins"
    plugins.write_text("[].", encoding="utf-8")
    environment = {
        "HOME": str(folder),  # Erlang stores its cookie there
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(names),
        "RABBITMQ_NODENAME": f"pyrs-{os.getpid()}@localhost",
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(configuration),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 2",
    }
    registry = folder / "epmd"
    registry.mkdir()
    log = folder / "output.log"
    # epmd starts first and in the foreground. Otherwise the server starts it as a daemon that outlives the server.
    with (
        running(
            ["epmd", "-address", "127.0.0.1", "-port", str(names)], registry, lambda: listening(names), environment
        ),
        running(
            [str(SERVER)],
            folder,
            lambda: logged(log, "Server startup complete") and listening(port),
            environment,
        ),
    ):
        yield Node(port, environment)


class Broker:
    """The state of the queues."""

    def __init__(self, bridge: Bridge, sender: JavaObject) -> None:
        self._bridge = bridge
        self._sender = sender
        self._specification = bridge.java_class("reactor.rabbitmq.QueueSpecification")

    def _declared(self, queue: str) -> JavaObject:
        declaration = self._sender.declareQueue(self._specification.queue(queue).passive(True))
        [answer] = self._bridge.from_jvm(declaration, convert="references").collect(timeout=DEADLINE)
        assert isinstance(answer, JavaObject)
        return answer

    def ready(self, queue: str) -> int:
        """Return the number of messages ready for delivery, without those that await an acknowledgement."""
        return int(self._declared(queue).getMessageCount())

    def consumers(self, queue: str) -> int:
        return int(self._declared(queue).getConsumerCount())
