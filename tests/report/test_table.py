"""Transition tables: which cells are marked, and both ways to draw them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvlint.report.cells import mark
from kvlint.report.style import Style
from kvlint.report.table import render
from tests.conftest import Snapshot

from . import samples


def test_marks() -> None:
    table = samples.unsafe_table()
    assert mark(table, "absent", "Failed") == "~"
    assert mark(table, "absent", "Success") == ""
    assert mark(table, "Failed", "Transferring") == "!"
    assert mark(table, "Failed", "Success") == "!"
    assert mark(table, "Failed", "Failed") == ""
    assert mark(table, "Transferring", "Bootstrapping") == ""
    assert mark(table, "Success", "Failed") == ""
    assert mark(table, "Success", "Transferring") == ""


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (("Success",), ""),
        (("Failed",), ""),
        (("Success", "Transferring"), "!"),
        (("absent",), "!"),
        ((), ""),
    ],
)
def test_a_cell_is_unsafe_if_one_of_its_results_is(results: tuple[str, ...], expected: str) -> None:
    table = samples.sticky_table()
    row = {**table.transitions["Success"], "Transferring": results}
    table = replace(table, transitions={**table.transitions, "Success": row})
    assert mark(table, "Success", "Transferring") == expected


@pytest.mark.parametrize(("width", "unicode"), [(100, True), (100, False), (60, True)])
def test_tables(snapshot: Snapshot, width: int, unicode: bool) -> None:
    tables = [
        samples.sticky_table(),
        samples.unsafe_table(),
        replace(samples.unsafe_table(), class_name="MooncakeKVManager"),
    ]
    text = render(tables, Style(width=width, unicode=unicode))
    snapshot(f"tables.{width}.{'unicode' if unicode else 'ascii'}.txt", text)
    assert max(map(len, text.splitlines())) <= width
    assert text == render(tables[::-1], Style(width=width, unicode=unicode))


def test_a_table_with_holes_and_no_results() -> None:
    table = samples.sticky_table()
    holes: dict[str, dict[str, tuple[str, ...]]] = {
        "absent": {"Failed": ("Failed",)},
        "Success": {"Success": (), "Odd": ("Odd",)},
    }
    for width in (100, 30):
        assert "?" in render([replace(table, transitions=holes)], Style(width=width))
