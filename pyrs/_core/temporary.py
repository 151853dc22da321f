"""Temporary folders, which are removed when their process exits."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def temporary_folder(prefix: str, parent: Path | None = None) -> Path:
    """Create a private folder, which is removed when this process exits.

    Raises:
        OSError: no folder can be created in ``parent``.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child shares the folder
        shutil.rmtree(folder, ignore_errors=True)
