"""The examples on the rule pages, run: the bad one is flagged, the good one is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.analysis import analyse
from kvlint.config import Settings
from kvlint.discover.project import load_project
from kvlint.findings import Finding
from kvlint.selection import select
from kvlint.suppressions import complaints

from ..test_pages import NAMES, example


def findings(folder: Path, source: str) -> list[Finding]:
    """What kvlint finds in one file."""
    (folder / "backend.py").write_text(source, encoding="utf-8")
    project, settings = load_project([str(folder)], cwd=str(folder)), Settings()
    found = analyse(project, settings).findings
    found += complaints(found, project, settings, complete=True)
    return select(found, settings).shown


def shown(found: list[Finding]) -> list[tuple[str, str, int]]:
    """Rule, severity and line of what a run without flags shows."""
    return [(f.rule, f.severity, f.span.line) for f in found if f.severity != "note"]


@pytest.mark.parametrize("rule", NAMES)
def test_the_bad_example_is_flagged(rule: str, tmp_path: Path) -> None:
    found = findings(tmp_path, example(rule, "Bad"))
    assert rule in {name for name, _, _ in shown(found)}


@pytest.mark.parametrize("rule", NAMES)
def test_the_good_example_is_clean(rule: str, tmp_path: Path) -> None:
    assert shown(findings(tmp_path, example(rule, "Good"))) == []


@pytest.mark.parametrize("rule", NAMES)
def test_both_examples_are_found_to_be_backends(rule: str, tmp_path: Path) -> None:
    """A good example is clean because it was looked at, not because nothing was recognised."""
    if rule == "KV901":
        pytest.skip("it is about a file that cannot be read")
    for heading in ("Bad", "Good"):
        folder = tmp_path / heading
        folder.mkdir()
        (folder / "backend.py").write_text(example(rule, heading), encoding="utf-8")
        report = analyse(load_project([str(folder)], cwd=str(folder)), Settings())
        assert report.tables or report.searched, heading
