"""`[tool.kvlint.environment]` decides what may happen to a room, and only that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kvlint.config import DISTURBANCES, Environment
from kvlint.search.environment import admit, runs
from kvlint.search.evidence import Bounds, gather
from kvlint.search.system import System
from tests.report import samples

from .systems import systems_in

BAD = Path(samples.__file__).parent / "data" / "backend.py"


@pytest.fixture
def system(tmp_path: Path) -> System:
    """A backend whose control thread gets ABORT, which can pin the room."""
    shutil.copy(BAD, tmp_path / "bad.py")
    (found,) = systems_in(tmp_path / "bad.py")
    return found


def names(system: System, **changes: object) -> set[str]:
    environment = Environment()._replace(**changes)
    return {run.name for run in runs(system, 2, environment)[1:]}


def test_only_the_kinds_that_are_named_disturb(system: System) -> None:
    everything = names(system)
    assert any(name.startswith("message") for name in everything)
    by_kind = [names(system, disturbances=(kind,)) for kind in DISTURBANCES]
    assert set.union(*by_kind) == everything
    assert sum(map(len, by_kind)) == len(everything)
    assert names(system, disturbances=()) == set()


def test_without_messages_nothing_pins(system: System) -> None:
    assert gather(system, Bounds()).of("pinned")
    calm = Environment(disturbances=tuple(k for k in DISTURBANCES if k != "message"))
    evidence = gather(system, Bounds(environment=calm))
    assert not [w for w in evidence.of("pinned") if w.run.startswith("message")]
    assert not any(name.startswith("message") for name in evidence.runs)


def test_a_scheduler_that_sends_everything_ends_fewer_rooms_badly(system: System) -> None:
    def searched(stops: bool) -> int:
        return len(gather(system, Bounds(environment=Environment(stops_sending=stops))).witnesses)

    assert all(not run.stops_sending for run in runs(system, 2, Environment(stops_sending=False)))
    assert searched(False) < searched(True)


def test_chunks_are_those_of_the_wide_pass(system: System) -> None:
    one, three = (
        gather(system, Bounds(0, environment=Environment(chunks=n))).states for n in (1, 3)
    )
    assert one < three


def test_a_message_is_admitted_once_and_only_if_it_is_new(system: System) -> None:
    before = system.frames
    assert "ABORT" in before
    admit(system, ["ABORT", "HELLO", "HELLO"])
    assert system.frames == (*before, "HELLO")
