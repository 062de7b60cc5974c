"""Witnesses as people see them: of a real search over a small backend, in every form."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kvlint.findings import Finding, Searched, Span, Step
from kvlint.report import full
from kvlint.report.blocks import blocks
from kvlint.report.places import cut_middle, place, shorten
from kvlint.report.source import Sources
from kvlint.report.style import Style
from kvlint.report.witness import ENDS, schedule
from tests.conftest import Snapshot
from tests.report.samples import finding
from tests.running import run

DATA = Path(__file__).parent / "data" / "backend.py"
PLACE = Path("python/sglang/srt/disaggregation/nixl/conn.py")
STORY = [
    ("transfer_worker", 38, "store Transferring, called by transfer_worker:63"),
    ("transfer_worker", 64, "transfer in flight: write"),
    ("control_thread", 36, "store Failed, called by control_thread:55"),
    ("control_thread", 56, "pop transfer_infos"),
    ("transfer_worker", 38, "store Transferring over Failed, called by transfer_worker:68"),
    ("transfer_worker", 62, "transfer_infos has no entry: skip chunk 1 (last)"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the backend where SGLang has its own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    PLACE.parent.mkdir(parents=True)
    shutil.copy(DATA, PLACE)
    return tmp_path


def check(*options: str) -> str:
    code, out, _ = run(["check", "python", "--isolated", *options])
    assert code == 1
    return out


def command(*options: str, **environment: str) -> bytes:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kvlint", "check", "python", "--isolated", *options],
        capture_output=True,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (1, b"")
    return done.stdout


@pytest.mark.parametrize("width", [80, 99, 100, 140])
@pytest.mark.parametrize("characters", ["unicode", "ascii"])
def test_forms(
    width: int, characters: str, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ascii_only = ["--ascii"] if characters == "ascii" else []
    out = check("--output-format", "full", "--select", "KV102", *ascii_only)
    snapshot(f"witness.{width}.{characters}.txt", out)
    assert out.isascii() == bool(ascii_only)
    drawn = out.partition("\n\n")[2].rpartition("\n\n")[0]
    assert max(map(len, drawn.splitlines())) <= width


def test_an_output_that_cannot_take_the_characters_gets_the_ascii_form() -> None:
    wanted = command("--output-format", "full", "--ascii")
    for encoding in ("ascii", "latin-1", "cp1252"):
        assert command("--output-format", "full", PYTHONIOENCODING=encoding) == wanted


@pytest.mark.parametrize("form", ["full", "json"])
def test_every_run_gives_the_same_bytes(form: str) -> None:
    runs = {command("--output-format", form, PYTHONHASHSEED=str(seed)) for seed in (0, 1, 2, 77)}
    assert len(runs) == 1


def test_the_story_is_told_in_order() -> None:
    report = json.loads(check("--output-format", "json"))
    witness = next(f["witness"] for f in report["findings"] if f["rule"] == "KV102")
    told = [(step["thread"], step["line"], step["action"]) for step in witness]
    assert [step for step in told if step in STORY] == STORY
    assert {step["path"] for step in witness} == {PLACE.as_posix()}
    assert [step["step"] for step in witness] == list(range(1, len(witness) + 1))
    assert [step["status"] for step in witness if step["action"].startswith("transfer in")] == [
        "Transferring"
    ]
    in_flight = next(step for step in witness if step["action"].startswith("transfer in"))
    assert in_flight["window"] == "wide"


def test_switches_are_marked_where_they_happen() -> None:
    report = json.loads(check("--output-format", "json"))
    for found in report["findings"]:
        steps = found["witness"]
        for step, following in pairwise(steps):
            assert (step["window"] is None) == (step["thread"] == following["thread"])
        if found["verdict"] == "confirmed":
            assert "narrow" not in {step["window"] for step in steps}


def test_only_decisive_steps_are_pointed_at() -> None:
    out = check("--output-format", "full", "--select", "KV102")
    pointed = [line.split()[1] for line in out.splitlines() if line.startswith("  > ")]
    assert pointed == ["8", "9", "10", "13"]


def test_a_block_shows_one_witness() -> None:
    out = check("--output-format", "full")
    assert out.count("\n    end  ") == 1
    assert out.count("shortest") == 1


def test_the_witness_of_a_block_is_the_worst_then_one_that_pins() -> None:
    found = [
        finding("KV101", "narrow", Span("a.py", 1), bad_end="pinned", witness=walk("a")),
        finding("KV102", "confirmed", Span("a.py", 9), bad_end="resurrected", witness=walk("b")),
        finding("KV103", "confirmed", Span("a.py", 5), bad_end="pinned", witness=walk("c")),
        finding("KV104", "confirmed", Span("a.py", 7), bad_end="pinned"),
    ]
    groups = blocks([_grouped(one) for one in found])
    assert [block.primary.rule for block in groups] == ["KV103"]
    assert groups[0].told is not None
    assert groups[0].told.witness[0].thread == "c"
    bare = blocks([_grouped(one) for one in (found[3], found[0])])
    assert bare[0].primary.rule == "KV104"
    assert bare[0].told is not None
    assert bare[0].told.witness[0].thread == "a"


@pytest.mark.parametrize("end", [*ENDS, None])
@pytest.mark.parametrize("width", [60, 120])
def test_every_bad_end_is_named(end: str | None, width: int) -> None:
    found = finding("KV101", "narrow", Span("a.py", 1), bad_end=end, witness=walk("w"))
    text = "\n".join(schedule(found, (), Style(width=width), "  "))
    assert (" end  " in text) == (end is not None)
    assert "Transferring" in text


def test_what_was_searched_is_that_of_the_findings_class() -> None:
    searched = [
        Searched("M[DECODE]", ("d",), 7, 2, True, 2),
        Searched("M[PREFILL]", ("a", "b"), 1234, 1, False, 2),
        Searched("N", ("d",), 9, 2, True, 2),
    ]
    found = finding("KV101", "narrow", Span("a.py", 1), witness=walk("w"), searched="M[PREFILL]")
    text = full.render([found], Sources(), Style(width=140), searched)
    assert (
        "searched 2 threads, 1 room, 2 chunks, at most 1 narrow switch (with 1 chunk): 1234 "
        "states, gave up; shortest shown\n" in text
    )
    assert text.count("searched") == 1


def test_a_colour_of_its_own_for_what_decides() -> None:
    found = finding("KV101", "narrow", Span("a.py", 1), witness=walk("w"))
    plain = "\n".join(schedule(found, (), Style(width=120), ""))
    painted = "\n".join(schedule(found, (), Style(colour=True, width=120), ""))
    assert "\x1b[" in painted
    assert "\x1b[" not in plain


def test_paths_are_cut_in_the_middle() -> None:
    path, style = "python/sglang/srt/disaggregation/nixl/conn.py", Style(unicode=True)
    cuts = {width: shorten(path, width, style) for width in (45, 44, 21, 20, 14, 9, 3)}
    assert cuts == {
        45: path,
        44: "…/sglang/srt/disaggregation/nixl/conn.py",
        21: "python/…/nixl/conn.py",
        20: "…/nixl/conn.py",
        14: "…/nixl/conn.py",
        9: "…/conn.py",
        3: "conn.py",
    }
    assert cut_middle("a_very_long_name.py", 9, "…") == "a_ve…e.py"
    step = Step(1, "t", path, 7, "outer.inner", "", "")
    assert place(step, 26, style) == "…/nixl/conn.py:7 inner"


def walk(thread: str) -> tuple[Step, ...]:
    """A witness of two steps."""
    return (
        Step(1, thread, "a.py", 1, "f", "take chunk 0", "WaitingForInput", "wide", awakens=True),
        Step(2, "other", "a.py", 2, "g", "store Transferring", "Transferring", decisive=True),
    )


def _grouped(one: Finding) -> Finding:
    return replace(one, group="g")
