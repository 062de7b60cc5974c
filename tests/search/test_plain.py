"""The search with folding and pruning finds exactly what a plain one finds."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, note, settings

from kvlint.programs.machine import Shared
from kvlint.search.environment import runs
from kvlint.search.product import Outcome, Search
from kvlint.search.system import System

from ..programs.backends import protocols
from . import seed_like
from .plain import Key, Plain, place_of
from .random_room import hanging, sources, spinning, waiting_or_not
from .systems import systems_of

FEW = settings(max_examples=10, deadline=None, derandomize=True, database=None)
PLENTY = 9  # more interruptions than a shortest way to any end of these rooms needs
NO_LIMIT = 10**6


def system_of(source: str) -> System:
    """The only system of a source."""
    (system,) = systems_of(protocols(source))
    return system


class Found(NamedTuple):
    """Final states of pinned rooms, other bad ends by kind, place and status left.

    `visible` are those after which polling may tell that Failed is gone.
    """

    pinned: set[Shared]
    events: set[Key]
    visible: set[Key]


def found_by(search: Search, outcome: Outcome) -> Found:
    """What one run of the search found."""
    pinned = {search.graph.shared(end.state) for end in outcome.ends if end.kind == "pinned"}
    events: set[Key] = set()
    visible: set[Key] = set()
    domain = search.system.protocol.domain
    for end in outcome.ends:
        if end.event is not None:
            key = (end.kind, place_of(end.event.instr), end.event.after.status)
            events.add(key)
            if any(not domain.is_failure(value) for value in end.seen):
                visible.add(key)
        elif end.kind == "dead-thread":
            assert end.last is not None
            assert end.last[2].death is not None
            events.add((end.kind, place_of(end.last[2].death), None))
    return Found(pinned, events, visible)


def live(search: Search, shareds: set[Shared]) -> set[Shared]:
    """What the search keeps of final states: nobody receives any more."""
    liveness = search.transitions.liveness
    return {liveness.kept(shared, liveness.fields, frames=False) for shared in shareds}


def compare(system: System, narrow: bool, bound: int, plain_bound: int | None) -> None:
    """Both searches over every run with two chunks."""
    for run in runs(system, 2):
        search = Search(system, run, narrow, bound, NO_LIMIT)
        outcome = search.explore()
        assert outcome.complete
        plain = Plain(system, run, plain_bound)
        found = found_by(search, outcome)
        assert live(search, found.pinned) == live(search, plain.pinned), run.name
        assert found.events == plain.events, run.name
        assert found.visible == plain.visible, run.name
        if plain_bound is not None:
            assert outcome.states <= plain.states


WAYS = pytest.mark.parametrize(
    ("narrow", "bound", "plain_bound"),
    [(False, 0, 0), (True, 1, 1), (True, 2, 2), (True, PLENTY, None)],
    ids=["wide", "one", "two", "any"],
)


@WAYS
@given(source=sources())
@FEW
def test_same_bad_ends(narrow: bool, bound: int, plain_bound: int | None, source: str) -> None:
    """With every bound the same ends, counted alike; `wide` needs no interruption at all."""
    note(source)
    compare(system_of(source), narrow, bound, plain_bound)


@WAYS
@pytest.mark.parametrize("fixes", ["", "B", "ABL"])
def test_same_bad_ends_of_the_seed(
    narrow: bool, bound: int, plain_bound: int | None, fixes: str
) -> None:
    """A scheduler that feeds by an operation, messages that help, a transfer in the middle."""
    compare(system_of(seed_like.source(fixes)), narrow, bound, plain_bound)


@pytest.mark.parametrize("bound", [0, 1, 2])
def test_a_thread_that_spins_is_not_stuck(bound: int) -> None:
    """No interruption is left for who could help it, but help is on its way."""
    system = system_of(spinning())
    for run in runs(system, 1):
        search = Search(system, run, True, bound, NO_LIMIT)
        pinned, events, _ = found_by(search, search.explore())
        plain = Plain(system, run, bound)
        assert live(search, pinned) == live(search, plain.pinned), run.name
        assert events == plain.events, run.name


@WAYS
def test_what_a_thread_does_before_it_hangs(
    narrow: bool, bound: int, plain_bound: int | None
) -> None:
    system = system_of(hanging())
    assert any("ABORT" in run.frames for run in runs(system, 2))
    compare(system, narrow, bound, plain_bound)


@WAYS
def test_a_wait_that_may_be_left_out(narrow: bool, bound: int, plain_bound: int | None) -> None:
    """Both ways to one place count: a switch is free on the one with the wait."""
    compare(system_of(waiting_or_not()), narrow, bound, plain_bound)


def test_the_narrow_pass_needs_no_interruption_where_a_thread_may_wait() -> None:
    system = system_of(waiting_or_not())
    (run,) = (run for run in runs(system, 1) if "ABORT" in run.frames)
    ends = [
        found_by(s, s.explore())
        for s in (Search(system, run, n, 0, NO_LIMIT) for n in (False, True))
    ]
    assert ends[0] == ends[1]
    assert "resurrected" in {kind for kind, _, _ in ends[0][1]}


@given(source=sources())
@settings(FEW, max_examples=40)
def test_more_interruptions_find_no_less(source: str) -> None:
    note(source)
    system = system_of(source)
    for run in runs(system, 2):
        before: tuple[set[Shared], set[Key]] = (set(), set())
        for narrow, bound in ((False, 0), (True, 0), (True, 1), (True, 2), (True, 3)):
            search = Search(system, run, narrow, bound, NO_LIMIT)
            found = found_by(search, search.explore())
            assert before[0] <= found[0], (run.name, bound)
            assert before[1] <= found[1], (run.name, bound)
            before = found


@given(source=sources())
@settings(FEW, max_examples=10)
def test_a_second_search_finds_the_same(source: str) -> None:
    """What a system remembers from one search does not change the next."""
    note(source)
    system, fresh = system_of(source), system_of(source)
    for run in runs(system, 2):
        for narrow in (False, True):
            once, again = (Search(system, run, narrow, 2, NO_LIMIT) for _ in range(2))
            first, second = once.explore(), again.explore()
            assert first.states == second.states
            assert [e.kind for e in first.ends] == [e.kind for e in second.ends]
            assert found_by(once, first) == found_by(again, second)
    for run in runs(fresh, 2)[::-1]:
        for narrow in (True, False):
            other, same = (Search(s, run, narrow, 2, NO_LIMIT) for s in (fresh, system))
            assert other.explore().states == same.explore().states


@given(source=sources())
@settings(FEW, max_examples=10)
def test_a_search_that_stops_early_says_so(source: str) -> None:
    system = system_of(source)
    for run in runs(system, 2):
        full = Search(system, run, True, 2, NO_LIMIT)
        states = full.explore().states
        cut = Search(system, run, True, 2, states // 2).explore()
        assert cut.complete == (states // 2 >= states)
        assert cut.states <= states
