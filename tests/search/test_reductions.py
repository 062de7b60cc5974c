"""What is left out before and during the search changes none of its bad ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, note, settings

from kvlint.config import Environment
from kvlint.programs.ir import EITHER, Instr, Op
from kvlint.search import building
from kvlint.search.environment import runs
from kvlint.search.evidence import Bounds, gather
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
            (building, "contended_locks", lambda users, tracked, locks: locks),
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


MANAGER = """
import queue
import threading


class Poll:
    Failed = 0
    Waiting = 1
    Moving = 2
    Success = 3


class Manager:
    def __init__(self, engine):
        self.engine = engine
        self.status = {}
        self.infos = {}
        self.lock = threading.Lock()
        self.jobs = queue.Queue()
        threading.Thread(target=self.serve).start()

    def serve(self):
        while True:
            room, last = self.jobs.get()
            if room not in self.infos:
                continue
            self.engine.write(room)
            with self.lock:
                if self.status.get(room) not in (None, Poll.Failed, Poll.Success):
                    self.status[room] = Poll.Success if last else Poll.Moving
"""
SENDER = """

class Sender:
    def __init__(self, kv_mgr, room):
        self.kv_mgr = kv_mgr
        self.room = room
        self.small = False
        self.small = kv_mgr.engine.rank == 0
        self.kv_mgr.infos[room] = object()
        self.kv_mgr.status[room] = Poll.Waiting

    def poll(self):
        return self.kv_mgr.status.get(self.room, Poll.Failed)

    def clear(self):
        self.kv_mgr.status.pop(self.room, None)
        self.kv_mgr.infos.pop(self.room, None)

    def send(self, last):
        if self.small:
            self.kv_mgr.infos.pop(self.room, None)
        self.kv_mgr.jobs.put((self.room, last))

    def abort(self):
        if not self.small and self.room in self.kv_mgr.status:
            {abort}
"""
FAILS = "self.kv_mgr.status[self.room] = Poll.Failed"
DROPS = "self.kv_mgr.infos.pop(self.room, None)\n            "
DROPS += "self.kv_mgr.status[self.room] = Poll.Moving"
CALLED = """
    def open(self, room):
        self.infos[room] = object()
        self.status[room] = Poll.Waiting

    def send(self, room, last):
        self.jobs.put((room, last))

    def poll(self, room):
        return self.status.get(room, Poll.Failed)

    def clear(self, room):
        {guard}:
            if room in self.infos:
                del self.infos[room]
            self.status.pop(room, None)
"""


def kinds_found(source: str) -> set[str]:
    """The kinds of bad ends that a whole check finds if the scheduler always sends all chunks."""
    bounds = Bounds(environment=Environment(stops_sending=False))
    return {witness.kind for witness in gather(system_of(source), bounds).witnesses}


@pytest.mark.parametrize(
    ("abort", "hangs"), [(FAILS, False), (DROPS, True)], ids=["harmless", "not"]
)
def test_a_choice_binds_whoever_is_the_first_to_look(abort: str, hangs: bool) -> None:
    """`send` looks first when nobody aborts, `abort` may when somebody does: it is one choice.

    A small room never ends, aborted or not, so that it hangs after an abort says nothing.
    """
    assert ("pinned" in kinds_found(MANAGER + SENDER.format(abort=abort))) == hangs


@pytest.mark.parametrize(("guard", "dies"), [("with self.lock", False), ("if True", True)])
def test_a_lock_of_what_two_may_call(guard: str, dies: bool) -> None:
    """Only `clear` takes the lock, but the scheduler and somebody else may call it."""
    source = MANAGER.replace("            with self.lock:", "            if True:")
    ends = bad_ends(system_of(source + CALLED.format(guard=guard)), True)
    assert any("dead-call" in end for found in ends.values() for end in found) == dies


@pytest.mark.parametrize("use", ["print(seen)", "self.seen = seen == Poll.Failed"])
def test_what_an_operation_is_for_does_not_depend_on_what_becomes_of_a_look(use: str) -> None:
    finish = f"""
    def finish(self):
        seen = self.kv_mgr.status.get(self.room)
        {use}
        self.kv_mgr.status.pop(self.room, None)
"""
    made = system_of(MANAGER + SENDER.format(abort=FAILS) + finish)
    assert [o.name for o in made.of_kind("step")] == ["finish"]
    assert [o.name for o in made.of_kind("close")] == ["clear"]
