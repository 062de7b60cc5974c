"""Baseline with the real engine: what moves stays known, what goes is stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from .locations import ROOT
from .running import run
from .test_fingerprints import moved, renamed

FIXTURE = ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py"
GOOD = ROOT / "fixtures" / "kv103_good_sticky_under_aborted_sender.py"


def test_a_baseline_lives_through_moves_and_ends_with_the_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = FIXTURE.read_text(encoding="utf-8")
    file = Path("backend.py")
    file.write_text(source, encoding="utf-8")
    assert run(["baseline", "write", "--isolated", "backend.py"])[0] == 0
    check = ["check", "--isolated", "--baseline", "kvlint-baseline.json", "backend.py"]
    assert run(check)[0] == 0
    file.write_text(renamed(moved(source)), encoding="utf-8")
    assert run(check)[0] == 0
    file.write_text(GOOD.read_text(encoding="utf-8"), encoding="utf-8")
    code, _, err = run(check)
    assert (code, "shrink the baseline" in err) == (1, True)
    assert run(["baseline", "update", "--isolated", "backend.py"])[0] == 0
    assert run(check)[0] == 0
