"""Process the readings of a sensor that ignores demand, for a minute of virtual time.

Run it: python examples/sensor_feed.py
"""

from __future__ import annotations

import pyrs
from pyrs import schedulers, sinks

# The sensor pushes without waiting: a Subscriber without demand would miss readings.
readings: sinks.Sink[float] = sinks.multicast_best_effort()


def average(some: list[float]) -> str:
    return f"average of {len(some):2}: {sum(some) / len(some):.1f}"


# Time-based operators use the current scheduler: a virtual clock, advanced below.
with schedulers.use(schedulers.VirtualTime()) as time:

    def report(what: str) -> None:
        print(f"{time.now():4.0f} s  {what}")

    shared = readings.stream.share()
    shared.buffer(seconds=20).map(average).subscribe(on_next=report)
    shared.sample(30).map("display shows {:.1f}".format).subscribe(on_next=report)
    shared.filter(lambda celsius: celsius > 24).throttle(60).map("alarm at {:.1f}".format).subscribe(on_next=report)
    shared.debounce(10).map("silent since {:.1f}".format).subscribe(on_next=report)

    pyrs.interval(2).take(20).map(lambda n: 20 + n * 0.3).finally_do(lambda: report("sensor lost")).subscribe(
        on_next=readings.emit
    )

time.advance_by(60)
readings.emit_complete()
