"""`kvlint table`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kvlint.discover.project import Project
from kvlint.findings import Gap
from tests.conftest import Snapshot
from tests.report import samples

from .conftest import Engine, Run


def test_table(run: Run, engine: Engine, snapshot: Snapshot) -> None:
    result = run("table", ".", "--exclude", "build")
    assert result.code == 0
    assert engine.exclude == ("build",)
    snapshot("table.txt", result.out)


def test_table_as_json(run: Run, engine: Engine) -> None:
    engine.report.findings = []
    report = json.loads(run("table", ".", "--output-format", "json").out)
    assert report["findings"] == []
    (table,) = report["tables"]
    assert table["class"] == "NixlKVManager"
    assert table["enum"]["Success"] == 4
    assert table["transitions"]["absent"]["Failed"] == ["absent"]
    assert table["transitions"]["Failed"]["Transferring"] == ["Transferring"]


def test_gaps(run: Run, engine: Engine) -> None:
    assert run("table", ".").err.startswith("kvlint: 2 places")
    assert run("table", ".", "-v").err.startswith("kvlint: gap: common/conn.py:1: ")


def test_no_table(run: Run, engine: Engine) -> None:
    engine.report.tables = []
    assert (
        run("table", ".").out == "no status-update method was found in the files that were read\n"
    )


def test_config(run: Run, engine: Engine) -> None:
    result = run("table", ".", "--isolated", "--config", "x")
    assert result.err == "kvlint: error: --isolated and --config exclude each other\n"


def test_ascii(run: Run, engine: Engine) -> None:
    engine.report.tables.append(replace(samples.sticky_table(), class_name="Ä"))
    assert "─" in run("table", ".").out
    assert "─" not in run("table", ".", "--ascii").out


def test_an_unreadable_file_is_named_and_fails(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.report.gaps = []
    broken = Project(problems=[Gap("a.py", 2, "syntax error: '(' was never closed")])
    monkeypatch.setattr("kvlint.discover.project.load_project", lambda *_, **__: broken)
    result = run("table", ".")
    assert (result.code, result.err) == (
        1,
        "kvlint: a.py:2: syntax error: '(' was never closed\n",
    )
