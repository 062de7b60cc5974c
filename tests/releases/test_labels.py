"""What kvlint says about four releases, against hand-made verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ..locations import missing
from .conftest import Release
from .labels import LABELS, disputed, disputed_windows, labels
from .score import Verdict, judge, table, tallies

pytestmark = [
    pytest.mark.releases,
    pytest.mark.skipif(missing(LABELS) is not None, reason=str(missing(LABELS))),
]

RECALL = 0.9
VERSIONS = sorted({label.release for label in labels()}) if LABELS.exists() else []


@pytest.fixture(scope="module")
def verdicts(release: Release) -> list[Verdict]:
    """Every label with its finding."""
    for version in VERSIONS:
        release(version)
    return judge(labels())


def test_nine_bugs_in_ten_are_reported(
    verdicts: list[Verdict], show_score: Callable[[list[str]], None]
) -> None:
    rows = tallies(verdicts)
    show_score(table(rows))
    total = rows["all"]
    missed = [v for v in verdicts if v.missed]
    assert total.reported >= RECALL * total.bugs, _listed(missed)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_difference_is_explained(verdicts: list[Verdict], version: str) -> None:
    excused = {entry.key for entry in disputed()}
    different = [
        v
        for v in verdicts
        if v.label.release == version and (v.missed or v.false_alarm) and v.label.key not in excused
    ]
    assert not different, f"not in docs/disputed-labels.md:\n{_listed(different)}"


def test_every_explanation_is_needed(verdicts: list[Verdict]) -> None:
    says = {v.label.key: v.says for v in verdicts if v.missed or v.false_alarm}
    stale = [entry for entry in disputed() if says.get(entry.key) != entry.says]
    assert not stale, "no longer so: take the row out or correct what kvlint says"
    assert all(entry.why for entry in disputed())


@pytest.mark.parametrize("version", VERSIONS)
def test_every_window_has_its_verdict(verdicts: list[Verdict], version: str) -> None:
    excused = {entry.key for entry in disputed_windows()}
    here = [v for v in verdicts if v.label.release == version]
    assert any(v.timed for v in here), "no label with a window was compared"
    different = [v for v in here if v.mistimed and v.label.key not in excused]
    assert not different, f"not among the windows of docs/disputed-labels.md:\n{_listed(different)}"


def test_every_disputed_window_is_needed(verdicts: list[Verdict]) -> None:
    differ = {v.label.key: (v.label.window, v.window_says) for v in verdicts if v.mistimed}
    stale = [e for e in disputed_windows() if differ.get(e.key) != (e.window, e.says)]
    assert not stale, "no longer so: take the row out or correct what it says"
    assert all(entry.why for entry in disputed_windows())


def _listed(verdicts: Iterable[Verdict]) -> str:
    return "\n".join(
        f"{v.label.release} {v.label.file}:{v.label.line} {v.label.rule} is {v.label.verdict}"
        f" (window {v.label.window or '-'}), kvlint says {v.says}: {v.label.why}"
        for v in verdicts
    )
