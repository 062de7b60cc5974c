"""The command line: what it prints, and when it says that it could not look."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from . import transport as transports
from .cli import BAD, BROKEN, GOOD, main
from .scenarios import SCENARIOS
from .transport import Transport

BEFORE_AND_AFTER = """\
| scenario       | small                  | small, fixes A,B,E |
|----------------|------------------------|--------------------|
| plain          | Success                | Success            |
| frame-c0-no-c1 | pinned in Transferring | Failed             |
"""


@pytest.fixture
def small(transport: Transport) -> list[str]:
    """The options that take the small backend, on what this run of the tests is on."""
    buffers = "tensors" if transport.tensors else "arrays"
    return ["--small", "--memory", transport.memory, "--buffers", buffers, "--mib", "0.25"]


def test_it_prints_before_and_after_and_writes_what_was_observed(
    small: list[str], transport: Transport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    wanted = ["--fix", "A,B,E", "--scenario", "plain,frame-c0-no-c1", "--json", str(file)]
    assert main([*small, *wanted]) == GOOD
    out = capsys.readouterr().out
    assert f"transport: {transport}\n{BEFORE_AND_AFTER}" in out
    assert "not well" not in out
    written = json.loads(file.read_text())
    seen = {
        variant: [(o["scenario"], o["end"], o["wrong"], o["good"]) for o in outcomes]
        for variant, outcomes in written["scenarios"].items()
    }
    assert seen == {
        "small": [("plain", "Success", 0, True), ("frame-c0-no-c1", "pinned", None, False)],
        "small, fixes A,B,E": [
            ("plain", "Success", 0, True),
            ("frame-c0-no-c1", "Failed", None, True),
        ],
    }
    assert written["transport"]["memory"] == transport.memory
    assert written["transport"]["tensors"] == transport.tensors


@pytest.mark.parametrize(
    ("options", "variant", "reasons"),
    [
        (
            [],
            "small",
            {
                "frame-c0-no-c1": "KV103 or KV104, Failed was seen and did not stay; fix A",
                "frame-done": "KV104, Success was seen and did not stay; fix A",
            },
        ),
        (
            ["--fix", "A,B", "--no-verify"],
            "small, fixes A,B, not verified",
            {
                "frame-unknown": "KV105, an abort that comes before everything else is remembered"
                " nowhere; no fix",
                "frame-clear-reuse": "KV106, a late write brings the cleared room back; fix E",
            },
        ),
    ],
    ids=["as it is", "A,B"],
)
def test_a_bad_end_is_told_by_the_code_and_explained(
    options: list[str],
    variant: str,
    reasons: dict[str, str],
    small: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*small, *options, "--scenario", ",".join(reasons)]) == BAD
    lines = [f"  {scenario}: {reason}\n" for scenario, reason in reasons.items()]
    assert capsys.readouterr().out.endswith(f"\n\nnot well with {variant}:\n{''.join(lines)}\n")


def test_rates_are_compared_round_by_round(
    small: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    fixes = ["--fix", "A,B", "--fix", "A,B,E", "--no-verify", "--control", "--json", str(file)]
    storm = ["--scenario", "none", "--rooms", "8", "--aborted", "0", "--repeat", "2"]
    assert main([*small, *fixes, *storm]) == GOOD
    out = capsys.readouterr().out
    fixed = [f"small, fixes {fixes}, not verified" for fixes in ("A,B", "A,B,E")]
    columns = ["small", "small, again", *fixed]
    assert re.search(r"\| storm +\| " + r" +\| ".join(map(re.escape, columns)) + r" +\|\n", out)
    ratio = r"median \d\.\d\d, \d\.\d\d to \d\.\d\d"
    assert re.search(rf"\| by the first, in one round +\| 1 +(\| {ratio} +){{3}}\|\n", out)
    storms = json.loads(file.read_text())["storms"]
    assert list(storms) == columns
    ends = [storm["ends"] for rounds in storms.values() for storm in rounds]
    assert ends == [{"Success": 8}] * 8


def test_what_is_asked_for_and_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transports, "NEEDED", ())
    monkeypatch.setattr(transports, "NVIDIA", tmp_path)
    monkeypatch.setattr(transports, "no_torch", lambda: "torch is not there")
    assert main(["--small", "--memory", "VRAM"]) == BROKEN
    assert "no NVIDIA GPU on this machine" in capsys.readouterr().err
    assert main(["--small", "--buffers", "tensors"]) == BROKEN
    assert "torch is not there" in capsys.readouterr().err


def test_each_skip_prints_its_reason(
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(transports, "NVIDIA", tmp_path)
    monkeypatch.setattr(transports, "no_torch", lambda: "torch is not there")
    assert main(["--small", "--scenario", "none"]) == GOOD
    out = capsys.readouterr().out
    assert out.startswith("VRAM: skipped, no NVIDIA GPU on this machine")
    assert "\ntensors: skipped, torch is not there\n" in out
    assert "\ntransport: numpy arrays in DRAM over " in out


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
    assert main([*argv, "--memory", transport.memory]) == BROKEN
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
