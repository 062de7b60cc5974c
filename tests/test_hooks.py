"""What `.pre-commit-hooks.yaml` promises; `releases/test_pre_commit.py` runs the hooks."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from .locations import ROOT
from .running import run

MANIFEST = ROOT / ".pre-commit-hooks.yaml"


@pytest.fixture
def hooks() -> dict[str, dict[str, Any]]:
    """The hooks by id."""
    listed = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    return {hook["id"]: hook for hook in listed}


def test_pre_commit_takes_the_manifest() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)]
    assert subprocess.run(command, check=False).returncode == 0


def test_one_checks_and_one_writes(hooks: dict[str, dict[str, Any]]) -> None:
    assert {name: hook["entry"] for name, hook in hooks.items()} == {
        "kvlint": "kvlint check",
        "kvlint-fix": "kvlint fix",
    }
    for hook in hooks.values():
        assert run([*hook["entry"].split()[1:], "--help"])[0] == 0


def test_each_runs_once_over_the_checkout(hooks: dict[str, dict[str, Any]]) -> None:
    for hook in hooks.values():
        assert hook["pass_filenames"] is False
        assert hook["require_serial"] is True


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("python/sglang/srt/disaggregation/nixl/conn.py", True),
        ("disaggregation/prefill.py", True),
        ("python/sglang/srt/managers/scheduler.py", False),
        ("docs/disaggregation.md", False),
        ("test/not_disaggregation/x.py", False),
    ],
)
def test_files(hooks: dict[str, dict[str, Any]], path: str, runs: bool) -> None:
    for hook in hooks.values():
        assert bool(re.search(hook["files"], path)) is runs
