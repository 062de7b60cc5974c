"""The small backend of this project, which needs no release: found, rewritten, watched."""

from __future__ import annotations

import pytest

from .conftest import Runners
from .runner import Weather
from .scenarios import SCENARIOS, End
from .variants import Variant
from .vocabulary import SUCCESS

NAMES = ("plain", "frame-c0-then-c1", "frame-c0-no-c1", "frame-last", "frame-clear-reuse")
BEFORE = (End.SUCCESS, End.PINNED, End.PINNED, End.REVIVED, End.ZOMBIE)
AFTER = (End.SUCCESS, End.FAILED, End.FAILED, End.FAILED, End.GONE)
FIXED = Variant(small=True, fixes="A,B,E")


@pytest.mark.parametrize(
    ("variant", "ends"), [(Variant(small=True), BEFORE), (FIXED, AFTER)], ids=str
)
def test_before_and_after(variant: Variant, ends: tuple[End, ...], runner: Runners) -> None:
    scenarios = [next(s for s in SCENARIOS if s.name == name) for name in NAMES]
    outcomes = runner(variant).outcomes(scenarios)
    assert tuple(outcome.end for outcome in outcomes) == ends
    assert all(outcome.later == SUCCESS and not outcome.dead for outcome in outcomes)
    assert outcomes[0].wrong == 0


def test_rewritten_it_stands_a_storm(runner: Runners) -> None:
    storm = runner(FIXED).storm(Weather(rooms=100))
    assert storm.good, storm
    assert sum(storm.ends.values()) == 100
