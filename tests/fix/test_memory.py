"""What a change has no part in is not parsed or searched again, and the answer is the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kvlint import analysis
from kvlint.config import Settings
from kvlint.findings import Report
from kvlint.fix.overlay import Sources
from kvlint.search.evidence import Bounds, Evidence
from kvlint.search.system import System

from .backends import STICKY, backend


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes that were searched, in order."""
    found: list[str] = []
    real = analysis.gather_all

    def gather_all(
        systems: Iterable[System], bounds: Bounds, jobs: int | None
    ) -> Iterator[Evidence]:
        taken = list(systems)
        found.extend(s.protocol.title for s in taken)
        return real(taken, bounds, jobs)

    monkeypatch.setattr(analysis, "gather_all", gather_all)
    return found


def untimed(report: Report) -> Report:
    """The report without what differs from run to run."""
    return replace(report, searched=[replace(one, seconds=0.0) for one in report.searched])


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two backends that have nothing in common; the second is `Other`."""
    files = [tmp_path / "conn.py", tmp_path / "other.py"]
    files[0].write_text(backend(), encoding="utf-8")
    files[1].write_text(backend().replace("Manager", "Other"), encoding="utf-8")
    return files


def test_only_the_changed_class_is_searched_again(two: list[Path], searched: list[str]) -> None:
    sources = Sources([str(two[0].parent)], Settings())
    sources.state()
    assert sorted(searched) == ["Manager", "Other"]
    searched.clear()
    changed = {str(two[1]): backend(update=STICKY).replace("Manager", "Other").encode()}
    warm, _ = replace(sources, changed=changed).state()
    assert searched == ["Other"]
    cold, _ = Sources(sources.paths, sources.settings, changed).state()
    assert untimed(warm) == untimed(cold)
    assert {f.rule for f in warm.findings if f.span.path.endswith("conn.py")} >= {"KV102", "KV103"}


def test_lines_that_move_are_told_anew(two: list[Path]) -> None:
    sources = Sources([str(two[0].parent)], Settings())
    sources.state()
    changed = {str(two[0]): b"# one line more\n" + two[0].read_bytes()}
    warm, _ = replace(sources, changed=changed).state()
    cold, _ = Sources(sources.paths, sources.settings, changed).state()
    assert untimed(warm) == untimed(cold)


def test_a_search_that_gave_up_is_tried_again(two: list[Path], searched: list[str]) -> None:
    sources = Sources([str(two[0])], Settings(max_states=20))
    first, _ = sources.state()
    assert [one.complete for one in first.searched] == [False]
    sources.state()
    assert searched == ["Manager", "Manager"]
