"""Make requests on asyncio: four at a time, with retries.

Run it: python examples/fan_out.py
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pyrs

CITIES = ["Ghent", "Turin", "Porto", "Cork", "Graz", "Lyon", "Bergen", "Brno"]

calls: Counter[str] = Counter()
running = 0
peak = 0


async def temperature(city: str) -> int:
    """Call a slow service that fails at the first request for some cities."""
    global running, peak
    calls[city] += 1
    running += 1
    peak = max(peak, running)
    await asyncio.sleep(0.001)
    running -= 1
    if len(city) == 4 and calls[city] == 1:
        raise ConnectionError(f"{city} does not answer")
    return 10 + len(city)


def report(city: str) -> pyrs.Stream[str]:
    """Return a stream of one line: the temperature of a city, or the error.

    A failed request is repeated at most twice, with growing delays.
    """
    return (
        pyrs.from_awaitable(lambda: temperature(city))
        .retry(2, when=ConnectionError, backoff=pyrs.Backoff(first=0.01, factor=2))
        .timeout(5)
        .map(lambda degrees: f"{city}: {degrees} degrees")
        .on_error_return(lambda error: f"{city}: {error}", ConnectionError)
    )


async def main() -> None:
    # The next city is requested when fewer than four calls are running, so the source could be endless.
    lines = pyrs.from_iterable(CITIES).flat_map(report, concurrency=4)
    for line in sorted(await lines.to_list()):
        print(line)
    retried = sorted(city for city, count in calls.items() if count > 1)
    print(f"at most {peak} at a time; retried: {', '.join(retried)}")


asyncio.run(main())
