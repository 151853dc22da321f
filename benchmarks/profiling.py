"""Profile one contender: processor time by thread, and stack samples."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Contender

_INTERVAL_SECONDS = 0.002
# Switch threads often, so that the sampler sees running threads and not only waiting ones.
_SWITCH_SECONDS = 0.0001
_WAITING = frozenset({"_next_task", "_read", "_write", "readinto", "wait"})
_TICKS = os.sysconf("SC_CLK_TCK")
_TOP = 12
_Times = dict[int, tuple[str, float]]


def profile(contender: Contender, jvm: int, rounds: int = 5) -> str:
    """Run the warm contender for some rounds, and return a profile.

    It lists the processor time of each thread of both processes (not disturbed by the profiler), the sampled lines of
    Python threads, and the sampled methods of running Java threads.
    """
    for _ in range(2):
        contender.run(contender.elements)
    processes = {"python": os.getpid()} if jvm == os.getpid() else {"python": os.getpid(), "jvm": jvm}
    before = {name: _processor_time(process) for name, process in processes.items()}
    start = time.perf_counter()
    for _ in range(rounds):
        contender.run(contender.elements)
    elapsed = time.perf_counter() - start
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    processed = contender.elements * rounds
    lines = [f"{elapsed * 1e6 / processed:.3f} us per element; processor time, us per element:"]
    for name, process in processes.items():
        lines += _spent(name, names, before[name], _processor_time(process), processed)
    with _samples(jvm) as (python, java):
        for _ in range(rounds):
            contender.run(contender.elements)
    lines += ["", "python, samples:", *_most(python), "", "java, samples of running threads:", *_most(java)]
    return "\n".join(lines)


def _spent(process: str, names: dict[int | None, str], before: _Times, after: _Times, processed: int) -> list[str]:
    used = []
    for thread, (name, seconds) in after.items():
        seconds -= before.get(thread, ("", 0.0))[1]
        used.append((seconds * 1e6 / processed, names.get(thread, name)))
    used.sort(reverse=True)
    return [f"  {time_used:7.3f}  {process}  {name}" for time_used, name in used[:_TOP] if time_used >= 0.001]


def _processor_time(process: int) -> _Times:
    threads: _Times = {}
    for directory in Path(f"/proc/{process}/task").iterdir():
        try:
            text = (directory / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        threads[int(directory.name)] = (name, (int(fields[11]) + int(fields[12])) / _TICKS)
    return threads


@contextmanager
def _samples(jvm: int) -> Iterator[tuple[Counter[str], Counter[str]]]:
    python: Counter[str] = Counter()
    java: Counter[str] = Counter()
    stop = threading.Event()
    samplers = [
        threading.Thread(target=_sample_python, args=(python, stop), name="sampler", daemon=True),
        threading.Thread(target=_sample_java, args=(jvm, java, stop), name="sampler-java", daemon=True),
    ]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    for sampler in samplers:
        sampler.start()
    try:
        yield python, java
    finally:
        stop.set()
        sys.setswitchinterval(usual)
        for sampler in samplers:
            sampler.join()


def _sample_python(found: Counter[str], stop: threading.Event) -> None:
    own = {thread.ident for thread in threading.enumerate() if thread.name.startswith("sampler")}
    while not stop.wait(_INTERVAL_SECONDS):
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for thread, frame in sys._current_frames().items():
            code = frame.f_code
            if thread not in own and names.get(thread, "").startswith("pyrs") and code.co_name not in _WAITING:
                where = "/".join(Path(code.co_filename).parts[-2:])
                found[f"{where}:{frame.f_lineno} {code.co_name}"] += 1


def _sample_java(jvm: int, found: Counter[str], stop: threading.Event) -> None:
    if jvm == os.getpid():
        return
    while not stop.wait(0.02):
        dump = subprocess.run(["jstack", str(jvm)], capture_output=True, text=True, check=False).stdout
        for block in dump.split("\n\n"):
            lines = block.strip().splitlines()
            if len(lines) > 2 and "RUNNABLE" in lines[1] and ("pyrs" in lines[0] or "benchmark" in lines[0]):
                name = lines[0].split('"')[1]
                frames = [line.strip().removeprefix("at ") for line in lines[2:] if line.strip().startswith("at ")]
                if not frames[0].startswith(("sun.nio.ch.Net.poll", "jdk.internal.misc.Unsafe.park")):
                    found[f"{name}  {' < '.join(frames[:3])}"] += 1


def _most(found: Counter[str]) -> list[str]:
    total = sum(found.values()) or 1
    return [f"  {100 * count / total:5.1f} %  {what}" for what, count in found.most_common(_TOP)]
