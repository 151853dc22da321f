"""Give table columns with long text a minimum width: a hook of MkDocs."""

from __future__ import annotations

import re
from typing import Any

LONG = 24
"""The text of a cell is long if it has more characters."""
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr[^>]*>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def marked(table: str) -> str:
    """Add the class ``long`` to the headers of the columns with long text, except the first."""
    rows = [CELL.findall(row) for row in ROW.findall(table)]
    long = {at for row in rows for at, cell in enumerate(row) if at and len(" ".join(TAG.sub("", cell).split())) > LONG}
    headers = iter(range(len(rows[0]) if rows else 0))
    return re.sub("<th(?=[ >])", lambda found: f'{found[0]} class="long"' if next(headers) in long else found[0], table)


def on_page_content(content: str, **_: Any) -> str:
    """Mark the columns with long text in the tables of a page."""
    return TABLE.sub(lambda table: marked(table[0]), content)
