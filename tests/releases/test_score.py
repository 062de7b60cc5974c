"""How findings are matched with labels, on labels made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..running import Found
from . import score
from .labels import Label, disputed, disputed_windows

BASE = Path("/release")
Judge = Callable[..., list[score.Verdict]]


def _label(line: int, verdict: str, *rules: str, window: str = "") -> Label:
    return Label("1.0", "a.py", line, rules, verdict, "f", window, "because")


def _found(line: int, rule: str, severity: str = "warning", verdict: str = "narrow") -> Found:
    return Found(BASE / "a.py", line, rule, verdict, severity, "m")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judge labels against findings."""

    def run(labels: list[Label], *findings: Found) -> list[score.Verdict]:
        monkeypatch.setattr(score, "folder", lambda release: BASE)
        monkeypatch.setattr(score, "labels", lambda: tuple(labels))
        monkeypatch.setattr(score, "findings", lambda release: findings)
        return score.judge(labels)

    return run


@pytest.mark.parametrize(("line", "missed"), [(8, False), (12, False), (7, True), (13, True)])
def test_a_bug_is_reported_within_two_lines(judge: Judge, line: int, missed: bool) -> None:
    (verdict,) = judge([_label(10, "bug", "KV107", "KV202")], _found(line, "KV202", "note"))
    assert verdict.missed is missed


def test_another_rule_is_no_report(judge: Judge) -> None:
    (verdict,) = judge([_label(10, "bug", "KV107")], _found(10, "KV108"))
    assert verdict.missed


@pytest.mark.parametrize(
    ("severity", "alarm"), [("error", True), ("warning", True), ("note", False)]
)
@pytest.mark.parametrize("kind", ["safe", "latent"])
def test_only_a_note_may_stand_at_a_harmless_site(
    judge: Judge, kind: str, severity: str, alarm: bool
) -> None:
    (verdict,) = judge([_label(10, kind, "KV107")], _found(10, "KV107", severity))
    assert verdict.false_alarm is alarm


def test_a_finding_goes_to_the_nearer_bug(judge: Judge) -> None:
    bug, safe = judge(
        [_label(10, "bug", "KV107"), _label(11, "safe", "KV107")], _found(10, "KV107")
    )
    assert not bug.missed
    assert not safe.false_alarm


def test_a_finding_at_a_harmless_site_is_no_excuse_by_a_farther_bug(judge: Judge) -> None:
    verdicts = judge([_label(10, "bug", "KV107"), _label(12, "safe", "KV107")], _found(12, "KV107"))
    assert verdicts[1].false_alarm


def test_the_rows_add_up(judge: Judge) -> None:
    verdicts = judge(
        [_label(10, "bug", "KV101"), _label(20, "bug", "KV102"), _label(30, "safe", "KV102")],
        *(_found(10, "KV101"), _found(30, "KV102", "error")),
    )
    total = score.tallies(verdicts)["all"]
    assert (total.bugs, total.reported, total.serious) == (2, 1, 1)
    assert total.alarms == {"safe": 1, "latent": 0}
    assert score.table(score.tallies(verdicts))[-1].startswith("all")
    assert " 0.50       0.50 " in score.table(score.tallies(verdicts))[-1]


@pytest.mark.parametrize(
    ("window", "verdict", "differs"),
    [
        ("wide", "confirmed", False),
        ("wide", "narrow", True),
        ("wide (a remark)", "latent", True),
        ("any exception", "confirmed", False),
        ("micro", "narrow", False),
        ("narrow, with a remark", "narrow", False),
        ("narrow (a remark)", "confirmed", True),
        ("", "confirmed", False),
    ],
)
def test_a_window_says_which_verdict_is_due(
    judge: Judge, window: str, verdict: str, differs: bool
) -> None:
    (judged,) = judge(
        [_label(10, "bug", "KV103", window=window)], _found(10, "KV103", verdict=verdict)
    )
    assert judged.mistimed is differs
    assert judged.timed is bool(window)
    row = score.tallies([judged])["all"]
    assert (row.timed, row.agreed) == (bool(window), bool(window) and not differs)
    assert score.table({"all": row})[-1].endswith(f" {row.agreed}/{row.timed}")


def test_a_window_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError):
        _ = _label(10, "bug", "KV103", window="broad").due


def test_the_window_of_a_missed_bug_or_a_harmless_site_is_not_compared(judge: Judge) -> None:
    missed, harmless = judge(
        [_label(10, "bug", "KV101", window="wide"), _label(30, "latent", "KV102", window="wide")],
        _found(30, "KV102", "note"),
    )
    assert missed.missed
    for verdict in (missed, harmless):
        assert (verdict.timed, verdict.mistimed) == (False, False)


def test_the_disputed_table_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n| release | site | rule | kvlint says | why |\n|---|---|---|---|---|\n"
        "| 1.0 | `a.py:10` | KV107\\|KV202 | nothing | since |\n",
        encoding="utf-8",
    )
    assert disputed_windows(page) == ()
    (entry,) = disputed(page)
    assert entry.key == _label(10, "bug", "KV107", "KV202").key
    assert (entry.says, entry.why) == ("nothing", "since")


def test_the_table_of_windows_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "| release | site | rule | window | kvlint says | why |\n|---|---|---|---|---|---|\n"
        "| 1.0 | `a.py:10` | KV107\\|KV202 | narrow (so) | confirmed | since |\n",
        encoding="utf-8",
    )
    assert disputed(page) == ()
    (entry,) = disputed_windows(page)
    assert entry.key == _label(10, "bug", "KV107", "KV202").key
    assert (entry.window, entry.says, entry.why) == ("narrow (so)", "confirmed", "since")
