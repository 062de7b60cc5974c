"""Several systems at once: the same evidence, about the very objects of this process."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from kvlint.errors import UsageError
from kvlint.search import parallel
from kvlint.search.evidence import Bounds, Evidence
from kvlint.search.parallel import Parts, gather_all
from kvlint.search.system import System

from .systems import systems_in

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="module")
def systems() -> list[System]:
    """Fixture backends with pins, resurrections and dead threads, bad and good."""
    found = [s for path in sorted(FIXTURES.glob("kv10[1-7]_*.py")) for s in systems_in(path)]
    assert len(found) > 10
    return found


def told(evidence: Evidence) -> object:
    """Everything but the time, with instructions and states as they are, not as text."""
    witnesses = [
        (w.kind, w.wide, w.run, w.moments, w.bad, w.death, w.visible, id(w.system))
        for w in evidence.witnesses
    ]
    return replace(evidence, seconds=0.0, witnesses=[]), witnesses


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "WORTH_A_FORK", 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_find_the_same(systems: list[System], forks: None) -> None:
    alone = gather_all(systems, Bounds(), 1)
    together = gather_all(systems, Bounds(), 3)
    assert any(evidence.witnesses for evidence in alone)
    assert [told(e) for e in together] == [told(e) for e in alone]
    for evidence in together:
        for witness in evidence.witnesses:
            assert witness.bad is None or any(m is witness.bad for m in witness.moments)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_they_are_processes(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(system: System, bounds: Bounds) -> Evidence:
        return Evidence(states=os.getpid())

    monkeypatch.setattr(parallel, "gather", gather)
    assert {e.states for e in gather_all(systems, Bounds(), 1)} == {os.getpid()}
    assert os.getpid() not in {e.states for e in gather_all(systems, Bounds(), 2)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_an_error_in_a_process_is_raised(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(system: System, bounds: Bounds) -> Evidence:
        raise ValueError("no such state")

    monkeypatch.setattr(parallel, "gather", gather)
    with pytest.raises(ValueError, match="no such state"):
        gather_all(systems, Bounds(), 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_killed_process_ends_the_run(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was to find is not waited for."""

    def gather(system: System, bounds: Bounds) -> Evidence:
        os.kill(os.getpid(), signal.SIGKILL)
        return Evidence()

    monkeypatch.setattr(parallel, "gather", gather)
    with pytest.raises(UsageError, match=r"was killed .* --jobs 1"):
        gather_all(systems, Bounds(), 2)


def test_small_systems_are_not_worth_a_process(
    systems: list[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "WORTH_A_FORK", 10**9)
    monkeypatch.setattr(parallel, "gather", lambda system, bounds: Evidence(states=os.getpid()))
    assert {e.states for e in gather_all(systems, Bounds(), 2)} == {os.getpid()}


def test_evidence_survives_as_bytes(systems: list[System]) -> None:
    parts = Parts(systems)
    for evidence in gather_all(systems, Bounds(), 1):
        assert told(parts.load(parts.dump(evidence))) == told(evidence)
