"""The environment of pytest in a separate process."""

from __future__ import annotations

import os


def pytest_environment(**variables: str) -> dict[str, str]:
    """Return the variables of this process and the given ones, without the plugins that take long to load.

    Loading the plugins of Hypothesis and AnyIO takes two thirds of the time in which pytest starts.
    """
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:hypothesispytest -p no:anyio"
    return {**os.environ, **variables, "PYTEST_ADDOPTS": options}
