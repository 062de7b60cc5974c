"""The command line: what it prints, and when it says that it could not look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import transport as transports
from .cli import BAD, BROKEN, GOOD, main
from .scenarios import SCENARIOS
from .transport import Transport


def test_it_prints_the_transport_and_writes_what_was_observed(
    transport: Transport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    wanted = ["--small", "--scenario", "plain", "--memory", "DRAM", "--mib", "0.25"]
    assert main([*wanted, "--json", str(file)]) == GOOD
    out = capsys.readouterr().out
    assert f"transport: {transport}" in out
    assert "| plain    | Success |" in out
    written = json.loads(file.read_text())
    (outcome,) = written["scenarios"]["small"]
    assert (outcome["end"], outcome["wrong"], outcome["good"]) == ("Success", 0, True)
    assert written["transport"]["memory"] == "DRAM"


def test_a_bad_end_is_told_by_the_code(
    transport: Transport, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--small", "--scenario", "frame-c0-no-c1", "--memory", "DRAM"]) == BAD
    assert "pinned in Transferring" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--scenario", "nobody"], "no scenario begins with nobody"),
        (["--small", "--scenario", "none", "--rooms", "1", "--aborts", "x"], "--aborts"),
    ],
)
def test_wrong_use(
    argv: list[str], words: str, transport: Transport, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--memory", "DRAM"]) == BROKEN
    assert words in capsys.readouterr().err


def test_without_nixl_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transports, "NEEDED", ("nixl_that_is_not_there",))
    assert main(["--small"]) == BROKEN
    assert "nixl_that_is_not_there not installed" in capsys.readouterr().err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == GOOD
    assert capsys.readouterr().out.split() == [scenario.name for scenario in SCENARIOS]
