"""`kvlint table` against tables made by running the real methods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..locations import missing
from ..running import report
from .conftest import Release
from .labels import TABLES
from .matrix import ends

pytestmark = [
    pytest.mark.releases,
    pytest.mark.skipif(missing(TABLES) is not None, reason=str(missing(TABLES))),
]

Table = dict[str, dict[str, Any]]


def _known() -> dict[str, dict[str, Table]]:
    """The tables by version and class."""
    if not TABLES.exists():
        return {}
    known: dict[str, dict[str, Table]] = {}
    for entry in json.loads(TABLES.read_text(encoding="utf-8")):
        known.setdefault(entry["version"], {})[entry["cls"]] = entry["table"]
    return known


KNOWN = _known()


@pytest.mark.parametrize("version", ends(list(KNOWN)))
def test_tables_agree_with_the_executed_methods(version: str, release: Release) -> None:
    folder = release(version) / "sglang" / "srt" / "disaggregation"
    printed = {
        table["class"]: table["transitions"] for table in report("table", str(folder))["tables"]
    }
    assert set(KNOWN[version]) <= set(printed)
    assert _differences(KNOWN[version], printed) == []


def _differences(known: dict[str, Table], printed: dict[str, Table]) -> list[str]:
    return [
        f"{name}: {current} then {written} gives {result}, kvlint says {says}"
        for name, table in known.items()
        for current, row in table.items()
        for written, result in row.items()
        if (says := printed[name].get(current, {}).get(written)) != [result]
    ]
