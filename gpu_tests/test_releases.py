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
SOUND = "0.5.16"


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


def test_a_release_that_handles_the_abort(runner: Runners) -> None:
    names = ("receiver-c0-then-c1", "receiver-c0-no-c1", "sender-c0-no-c1", "sender-last")
    for outcome in runner(Variant(SOUND)).outcomes([BY_NAME[name] for name in names]):
        assert (outcome.end, outcome.sender) == (End.FAILED, FAILED), outcome
        assert outcome.good
