"""A sensor that does not wait, a minute of it in no time. Run it: python examples/sensor_feed.py"""

from __future__ import annotations

import pyrs
from pyrs import schedulers, sinks

# Whoever measures pushes. Somebody too slow for this would miss readings; nobody is slow here.
readings: sinks.Sink[float] = sinks.multicast_best_effort()


def average(some: list[float]) -> str:
    return f"average of {len(some):2}: {sum(some) / len(some):.1f}"


# Every operator on time takes the scheduler that is in use here: a clock that stands still until it is moved.
with schedulers.use(schedulers.VirtualTime()) as time:

    def told(what: str) -> None:
        print(f"{time.now():4.0f} s  {what}")

    shared = readings.stream.share()
    shared.buffer(seconds=20).map(average).subscribe(on_next=told)
    shared.sample(30).map("display shows {:.1f}".format).subscribe(on_next=told)
    shared.filter(lambda celsius: celsius > 24).throttle(60).map("alarm at {:.1f}".format).subscribe(on_next=told)
    shared.debounce(10).map("silent since {:.1f}".format).subscribe(on_next=told)

    pyrs.interval(2).take(20).map(lambda n: 20 + n * 0.3).finally_do(lambda: told("sensor lost")).subscribe(
        on_next=readings.emit
    )

time.advance_by(60)
readings.emit_complete()
