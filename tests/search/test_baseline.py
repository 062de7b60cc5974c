"""A pin counts if the room ends without the disturbance; not having found out is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from kvlint.search.environment import runs
from kvlint.search.evidence import Baseline, Bounds
from kvlint.search.system import System
from kvlint.search.transitions import Run

from .systems import searched, systems_in

FIXTURE = Path(__file__).parents[2] / "fixtures" / "kv101_bad_abort_in_one_state_only.py"
FULL = Bounds()


def _pinning() -> System:
    return next(s for s in systems_in(FIXTURE) if searched(s)[0].of("pinned"))


@pytest.mark.parametrize(
    ("bounds", "concludes", "limits"),
    [
        (FULL, True, set()),
        (replace(FULL, max_states=1), False, {"max-states"}),
        (replace(FULL, deadline=0.0), False, {"max-seconds"}),
    ],
    ids=["within", "max-states", "max-seconds"],
)
def test_an_unfound_end_names_the_bound(bounds: Bounds, concludes: bool, limits: set[str]) -> None:
    system = _pinning()
    baseline = Baseline(system, runs(system, bounds.environment.chunks)[0], bounds)
    assert baseline.concludes([]) is concludes
    assert baseline.limits == limits


def test_a_pin_lost_to_a_bound_leaves_the_search_incomplete() -> None:
    class Hurried(Baseline):
        def __init__(self, system: System, plain: Run, bounds: Bounds) -> None:
            super().__init__(system, plain, replace(bounds, deadline=0.0))

    system = _pinning()
    with patch("kvlint.search.evidence.Baseline", Hurried):
        evidence, made = searched(system)
    assert all(m.outcome.complete for m in made)
    assert evidence.of("pinned") == []
    assert not evidence.complete
    assert evidence.limits == {"max-seconds"}
