"""Send pyrs to the executors, and check which packages they can import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark.sql.pandas.utils import require_minimum_pandas_version

import pyrs
from pyrs._core.temporary import temporary_folder
from pyrs.spark.read.partitions import reason_of
from pyrs.spark.sessions import Jobs, checked_session, is_connect

_CHECK_SECONDS = 60
_CONNECT_TASKS, _MAX_TASKS = 8, 256
_REQUIRED = ("pyarrow", "pandas", "pyrs")
_answers: WeakKeyDictionary[Any, dict[tuple[str, ...], str]] = WeakKeyDictionary()
_shipped: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""The keys of both are SparkContexts, or sessions of Spark Connect."""


def ship(spark: Any) -> None:
    """Send pyrs to the executors of a session, and check that tasks can run there.

    The package of this process is sent as a zip file, which Spark adds to the path of its Python workers, also on
    executors that start later. Tasks then check that the executors have pyrs in this version, pyarrow and pandas: one
    task for each core, but at most 256, and 8 on Spark Connect. A second call for a session checks again.

    Call it once for each session whose executors lack pyrs, before the functions that run there, such as ``apply``.

    Args:
        spark: a session, classic or of Spark Connect.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.
        ImportError: an executor lacks one of the packages or has another version of pyrs, or the tasks failed or did
            not run within a minute. The message has the path of the executor's Python, if it is known.
    """
    owner = _owner(checked_session(spark))
    if owner not in _shipped and ".zip" not in pyrs.__file__:  # otherwise Spark has sent pyrs already
        if is_connect(spark):
            spark.addArtifact(_archive(), pyfile=True)
        else:
            spark.sparkContext.addPyFile(_archive())
        _shipped[owner] = True
    tasks = _CONNECT_TASKS if is_connect(spark) else spark.sparkContext.defaultParallelism
    answer = _answer(spark, _REQUIRED, min(tasks, _MAX_TASKS))
    _answers[owner] = {_REQUIRED: answer}
    if answer != "ok":
        raise ImportError(answer.removeprefix("no: "))


def answer_for_workers(spark: Any, *more: str) -> str:
    """Return whether the driver and the executors have the modules of the tasks.

    The result is ``"ok"``, or ``"no: "`` and the reason, such as the module that the driver or an executor lacks. Runs
    one task. A result ``"ok"`` is cached.

    Args:
        spark: a session.
        more: modules that the tasks import in addition to those of ``apply``.
    """
    try:
        require_minimum_pandas_version()
    except ImportError as error:
        return f"no: {error}"
    answers, names = _answers.setdefault(_owner(spark), {}), (*_REQUIRED, *more)
    if answers.get(names) != "ok":
        answers[names] = _answer(spark, names, 1)
    return answers[names]


def requirement(*names: str) -> Callable[[], None]:
    """Return a function that checks packages, and the version of pyrs, on an executor.

    The function is pickled by value and does not depend on this package, which may be missing on the executors.
    """
    driver = pyrs.__version__

    def check() -> None:
        import importlib
        import sys

        python = "If an executor should run another Python, set PYSPARK_PYTHON before the session starts"
        for name in names:
            advice = "ps.ship(spark) sends the package of the driver. " if name == "pyrs" else ""
            try:
                module = importlib.import_module(name)
            except ImportError as error:
                fault = f"the executor's Python, {sys.executable}, cannot import {name} ({error})"
                raise ModuleNotFoundError(f"{fault}. {advice}{python}") from None
            if name == "pyrs" and module.__version__ != driver:
                fault = f"the executor's Python, {sys.executable}, has pyrs {module.__version__}"
                raise ImportError(f"{fault}, but the driver has {driver}. {advice}{python}")

    return check


def _owner(spark: Any) -> Any:
    return spark if is_connect(spark) else spark.sparkContext


def _answer(spark: Any, names: Sequence[str], tasks: int) -> str:
    if is_connect(spark):
        from pyspark.sql.connect.functions import udf
    else:
        from pyspark.sql.functions import udf
    check = requirement(*names)
    answers: SimpleQueue[str] = SimpleQueue()

    def probe(_: int) -> str:
        try:
            check()
        except ImportError as error:
            return f"no: {error}"
        return "ok"

    def ask() -> None:
        try:
            probed = udf(probe, "string", useArrow=False)  # pickled rows need neither pyarrow nor pandas
            rows = spark.range(0, tasks, 1, tasks).select(probed("id").alias("answer")).collect()
            answers.put(min(row.answer for row in rows))  # "no: ..." sorts before "ok"
        except Exception as error:
            answers.put(f"no: {reason_of(error)}")

    jobs = Jobs(spark)
    try:
        jobs.submit(ask)
        return answers.get(timeout=_CHECK_SECONDS)
    except BaseException as error:  # Empty, or an interrupt
        jobs.cancel()
        if not isinstance(error, Empty):
            raise
        return f"no: the executors have not run {tasks} tasks within {_CHECK_SECONDS} s"


@cache
def _archive() -> str:
    """Return the path of a zip file of this package, removed when this process exits.

    Executors that start later read the file.
    """
    path, root = temporary_folder("pyrs-") / f"pyrs-{pyrs.__version__}.zip", Path(pyrs.__file__).parent
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(root.parent))
    return str(path)
