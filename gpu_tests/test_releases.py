"""Releases as they are and rewritten: the abort that leaves Transferring, and the dead thread."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from .conftest import Runners
from .runner import Runner
from .scenarios import SCENARIOS, End
from .variants import INSIDE, REWRITTEN, Variant
from .vocabulary import BOOTSTRAPPING, FAILED, SUCCESS

pytestmark = pytest.mark.releases

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
PINNING = ("0.5.12.post1", "0.5.13.post1", "0.5.14", "0.5.15.post1")
DYING = PINNING[1:]
FIX = "A"  # B finds nothing to do in them: their workers skip a room that has failed only
LIVES, DIES = False, True
# What becomes of the request, and of the bootstrap thread, in releases as they are.
TABLE = {
    "0.5.12.post1": {
        "sender-c0-then-c1": (End.REVIVED, LIVES),
        "sender-last": (End.REVIVED, LIVES),
        "sender-done": (End.UNDONE, LIVES),
        "sender-clear-reuse": (End.ZOMBIE, LIVES),
        "receiver-c0-then-c1": (End.LOST, LIVES),
        "receiver-c0-no-c1": (End.PINNED, LIVES),
    },
    "0.5.15.post1": {
        "sender-c0-then-c1": (End.REVIVED, LIVES),
        "sender-last": (End.REVIVED, LIVES),
        "sender-done": (End.UNDONE, LIVES),
        "sender-clear-reuse": (End.ZOMBIE, LIVES),
        "receiver-c0-then-c1": (End.LOST, DIES),
        "receiver-c0-no-c1": (End.PINNED, DIES),
    },
    "0.5.16": {
        "sender-c0-then-c1": (End.FAILED, LIVES),
        "sender-c0-no-c1": (End.FAILED, LIVES),
        "sender-last": (End.FAILED, LIVES),
        "sender-done": (End.UNDONE, LIVES),
        "sender-clear-reuse": (End.ZOMBIE, LIVES),
        "receiver-c0-then-c1": (End.FAILED, LIVES),
        "receiver-c0-no-c1": (End.FAILED, LIVES),
    },
    "0.5.23": {
        "sender-c0-then-c1": (End.FAILED, LIVES),
        "sender-c0-no-c1": (End.FAILED, LIVES),
        "sender-last": (End.FAILED, LIVES),
        "sender-done": (End.UNDONE, LIVES),
        "sender-clear-reuse": (End.GONE, LIVES),
        "receiver-c0-then-c1": (End.FAILED, LIVES),
        "receiver-c0-no-c1": (End.FAILED, LIVES),
    },
}


@cache
def _findings(folder: str) -> tuple[dict[str, Any], ...]:
    done = subprocess.run(
        [
            *(sys.executable, "-I", "-m", "kvlint", "check", "--isolated"),
            *("--output-format", "json", *REWRITTEN),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return tuple(json.loads(done.stdout)["findings"])


def _confirmed(runner: Runner, rule: str) -> list[dict[str, Any]]:
    found = _findings(str(runner.tree.overlay / INSIDE))
    return [f for f in found if f["rule"] == rule and f["verdict"] == "confirmed"]


@pytest.mark.parametrize("release", PINNING)
def test_a_local_abort_without_a_further_chunk_pins(release: str, runner: Runners) -> None:
    # That the fix is proven on these releases is what tests/fix/test_releases.py is for.
    before, after = runner(Variant(release)), runner(Variant(release, fixes=FIX, verify=False))
    scenario = BY_NAME["sender-c0-no-c1"]
    (pinned,) = before.outcomes([scenario])
    assert (pinned.end, pinned.sender) == (End.PINNED, "Transferring")
    assert pinned.later == SUCCESS
    assert _confirmed(before, "KV103")
    (failed,) = after.outcomes([scenario])
    assert failed.end is End.FAILED
    assert failed.reason
    assert failed.good


@pytest.mark.parametrize("release", DYING)
def test_an_abort_of_the_decode_side_ends_the_bootstrap_thread(
    release: str, runner: Runners
) -> None:
    (outcome,) = runner(Variant(release)).outcomes([BY_NAME["receiver-done"]])
    (dead,) = outcome.dead
    assert "bootstrap_thread" in dead
    assert "AssertionError" in dead
    assert outcome.later == BOOTSTRAPPING
    deaths = _confirmed(runner(Variant(release)), "KV107")
    assert any(f["bad_end"] == "dead-thread" and "bootstrap" in f["message"] for f in deaths)


@pytest.mark.parametrize("release", TABLE)
def test_the_table(release: str, runner: Runners) -> None:
    rows = TABLE[release]
    outcomes = runner(Variant(release)).outcomes([BY_NAME[name] for name in rows])
    for outcome in outcomes:
        end, dead = rows[outcome.scenario]
        assert (outcome.end, bool(outcome.dead)) == (end, dead), outcome
        assert outcome.later == (BOOTSTRAPPING if dead else SUCCESS)
        assert bool(outcome.reason) == (outcome.sender == FAILED)


def test_no_fix_mends_the_bootstrap_thread(runner: Runners) -> None:
    fixed = runner(Variant(DYING[-1], fixes=FIX, verify=False))
    (outcome,) = fixed.outcomes([BY_NAME["receiver-c0-no-c1"]])
    assert (outcome.end, bool(outcome.dead)) == (End.PINNED, True)
