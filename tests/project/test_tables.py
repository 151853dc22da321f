"""The widths of table columns on the site."""

from __future__ import annotations

from tests.project.scripts import script

TABLE = """<table>
<thead><tr><th>operator</th><th>demand</th><th style="text-align: right;">x</th></tr></thead>
<tbody><tr class="item"><td>a_name_with_more_than_24_characters</td><td>{}</td><td>1</td></tr></tbody>
</table>"""


def test_columns_with_long_text_are_marked_except_the_first() -> None:
    text = "<code>prefetch</code> (32) elements; exact demand"
    expected = TABLE.format(text).replace("<th>demand", '<th class="long">demand')
    assert script("tables").on_page_content(TABLE.format(text)) == expected


def test_tags_do_not_count_as_text() -> None:
    table = TABLE.format('<a href="../a-long-path/#anchor">unbounded</a>')
    assert script("tables").on_page_content(table) == table


def test_text_outside_tables_is_unchanged() -> None:
    text = "<p>The header is a <code>&lt;th&gt;</code> element.</p>"
    assert script("tables").on_page_content(text) == text
