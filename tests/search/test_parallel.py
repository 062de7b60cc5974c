"""Several systems at once: the same evidence, about the very objects of this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

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


@pytest.fixture
def blocked(forks: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes of the test; each is blocked until somebody reads what it found."""
    monkeypatch.setattr(parallel, "gather", lambda system, bounds: Evidence(runs=["x" * 10**6]))
    children: list[int] = []
    start = parallel._Child.__init__

    def remember(self: Any, *given: Any) -> None:
        start(self, *given)
        children.append(self.process.pid)

    monkeypatch.setattr(parallel._Child, "__init__", remember)
    return children


def assert_gone(children: list[int]) -> None:
    """There were processes, and none is left."""
    assert children
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_find_the_same(systems: list[System], forks: None) -> None:
    alone = list(gather_all(systems, Bounds(), 1))
    together = list(gather_all(systems, Bounds(), 3))
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
    assert {e.states for e in gather_all(systems, Bounds(), 2)} > {os.getpid()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_an_error_in_a_process_is_raised(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = os.getpid()

    def gather(system: System, bounds: Bounds) -> Evidence:
        if os.getpid() == parent:
            return Evidence()
        raise ValueError("no such state")

    monkeypatch.setattr(parallel, "gather", gather)
    with pytest.raises(ValueError, match="no such state"):
        list(gather_all(systems, Bounds(), 2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_killed_process_ends_the_run(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was to find is not waited for."""

    parent = os.getpid()

    def gather(system: System, bounds: Bounds) -> Evidence:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return Evidence()

    monkeypatch.setattr(parallel, "gather", gather)
    with pytest.raises(UsageError, match=r"was killed .* --jobs 1"):
        list(gather_all(systems, Bounds(), 2))


class Picky(Exception):
    """Cannot be made again from what it holds."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("hold", [lambda: None, None], ids=["no pickle", "no way back"])
def test_an_error_that_cannot_be_sent_is_told(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch, hold: object
) -> None:
    parent = os.getpid()

    def gather(system: System, bounds: Bounds) -> Evidence:
        if os.getpid() == parent:
            return Evidence()
        error = Picky("node", "gone")
        error.hold = hold  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr(parallel, "gather", gather)
    with pytest.raises(RuntimeError, match=r"^Picky: node: gone$") as caught:
        list(gather_all(systems, Bounds(), 2))
    assert "in gather" in str(caught.value.__cause__)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_killed_while_it_sends(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*given: Any) -> None:
        writing = given[3]
        os.write(writing.fileno(), (1000).to_bytes(4, "big") + b"a part of it")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(parallel, "_search", search)
    with pytest.raises(UsageError, match=r"was killed .* --jobs 1"):
        list(gather_all(systems, Bounds(), 2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_without_another_process_the_search_goes_on_in_this_one(
    systems: list[System], forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(parallel, "gather", lambda system, bounds: Evidence(states=os.getpid()))
    monkeypatch.setattr(os, "fork", refuse)
    found = gather_all(systems, Bounds(), 2)
    assert [e.states for e in found] == [os.getpid()] * len(systems)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_an_error_where_the_systems_are_made_leaves_no_process(
    systems: list[System], blocked: list[int]
) -> None:
    def made() -> Iterator[System]:
        yield from systems[:3]
        raise UsageError("no more")

    with pytest.raises(UsageError, match="no more"):
        gather_all(made(), Bounds(), 3)
    assert_gone(blocked)


def test_small_systems_are_not_worth_a_process(
    systems: list[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "WORTH_A_FORK", 10**9)
    monkeypatch.setattr(parallel, "gather", lambda system, bounds: Evidence(states=os.getpid()))
    assert {e.states for e in gather_all(systems, Bounds(), 2)} == {os.getpid()}


def test_one_after_the_other_as_they_are_asked_for(
    systems: list[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever works on the first has not had to wait for the last."""
    searched: list[System] = []

    def gather(system: System, bounds: Bounds) -> Evidence:
        searched.append(system)
        return Evidence(runs=[system.protocol.title])

    monkeypatch.setattr(parallel, "gather", gather)
    found = gather_all(systems, Bounds(), 1)
    assert searched == []
    for number, system in enumerate(systems, 1):
        assert next(found).runs == [system.protocol.title]
        assert searched == systems[:number]
    assert next(found, None) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_who_stops_asking_leaves_no_process(systems: list[System], blocked: list[int]) -> None:
    found = gather_all(systems, Bounds(), 3)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert_gone(blocked)


def test_evidence_survives_as_bytes(systems: list[System]) -> None:
    parts = Parts(systems)
    for evidence in gather_all(systems, Bounds(), 1):
        assert told(parts.load(parts.dump(evidence))) == told(evidence)
