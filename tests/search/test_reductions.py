"""What is left out before and during the search changes none of its bad ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, note, settings

from kvlint.programs.ir import EITHER, Instr, Op
from kvlint.search import system
from kvlint.search.environment import runs
from kvlint.search.product import Search
from kvlint.search.system import System
from kvlint.search.transitions import Transitions

from ..programs.backends import protocols
from .random_room import flagged, flagged_sources
from .systems import systems_of

SOME = settings(max_examples=25, deadline=None, derandomize=True, database=None)
Found = dict[str, set[tuple[object, ...]]]  # the bad ends of each run


@contextmanager
def unreduced() -> Iterator[None]:
    """All locks that guard anything, choices made where they stand, nothing forgotten."""
    with ExitStack() as stack:
        for owner, name, plain in (
            (system, "contended_locks", lambda users, tracked, locks: locks),
            (Transitions, "fields_at", lambda self, driver: self.liveness.fields),
        ):
            stack.enter_context(patch.object(owner, name, plain))
        for name in ("leave_open", "_forget_results"):
            stack.enter_context(patch(f"kvlint.programs.slicing.{name}", lambda *given: False))
        yield


def lines(instr: Instr) -> tuple[int, ...]:
    """Where an instruction stands, with its call sites."""
    return (instr.where.line, *(w.line for w in instr.stack))


def bad_ends(made: System, narrow: bool) -> Found:
    """Kind, place and status left of every bad end of every run, and what polling can see."""
    domain = made.protocol.domain
    found: Found = {}
    for run in runs(made, 2):
        search = Search(made, run, narrow, 2, 10**6)
        outcome = search.explore()
        assert outcome.complete
        ends = found.setdefault(run.name, set())
        for end in outcome.ends:
            if end.event is not None:
                key = (end.kind, lines(end.event.instr), str(end.event.after.status))
                ends.add(key)
                if any(not domain.is_failure(value) for value in end.seen):
                    ends.add((*key, "visible"))
            elif end.last is not None:
                death = end.last[2].death
                assert death is not None
                ends.add((end.kind, lines(death)))
            else:
                ends.add((end.kind, str(search.graph.shared(end.state).status)))
    return found


def system_of(source: str) -> System:
    (made,) = systems_of(protocols(source))
    return made


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@given(source=flagged_sources())
@SOME
def test_same_bad_ends(narrow: bool, source: str) -> None:
    note(source)
    reduced = bad_ends(system_of(source), narrow)
    with unreduced():
        assert bad_ends(system_of(source), narrow) == reduced


def test_the_reductions_are_at_work() -> None:
    """Of all these backends: locks left out, choices left open, fewer states."""
    dropped = opened = before = after = 0
    for seed in range(12):
        source = flagged(Random(seed))
        made = system_of(source)
        with unreduced():
            plain = system_of(source)
            before += sum(states(plain))
        after += sum(states(made))
        dropped += len(plain.locks - made.locks)
        opened += sum(
            i.op is Op.FIELD_STORE and any(getattr(a, "value", None) is EITHER for a in i.args)
            for operation in made.of_kind("open")
            for i in operation.program.code
        )
    assert dropped > 3
    assert opened > 3
    assert after < 0.8 * before


def states(made: System) -> Iterator[int]:
    """How many states each run has."""
    for run in runs(made, 2):
        yield Search(made, run, True, 2, 10**6).explore().states
