"""Explicit-state search over all threads of one room, breadth first.

Two passes. The wide one lets a thread be interrupted only where it waits or transfers; the narrow
one after any access to something shared, in at most `preemptions` stretches (`stretch`), which
covers every schedule with at most that many interruptions (iterative context bounding: Musuvathi
and Qadeer, PLDI 2007). Each run allows one disturbance (`environment.runs`), so that "at most one
abort per room" is part of the environment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

from kvlint.programs.ir import Instr
from kvlint.programs.machine import Shared
from kvlint.search.driver import Phase
from kvlint.search.footprint import Footprint
from kvlint.search.macro import Event, Leap
from kvlint.search.stretch import Stretch, Stretches
from kvlint.search.system import System
from kvlint.search.transitions import IDLE, Arrow, Decisions, Run, Transitions

CLOCK_EVERY = 1024  # states between two looks at the clock
# (shared, which pause a thread is held at or -1, place of each thread)
State = tuple[int, ...]
PLACES = 2  # where the places begin in a state


@dataclass
class Finish:
    """A bad end: its kind, the state it starts from, the leap that makes it, the bad event."""

    kind: str
    state: State
    last: tuple[State, int, Leap] | None = None
    event: Event | None = None

    def shown(self) -> Shared:
        """The state right after the bad event, with the holder's own fields."""
        assert self.event is not None
        assert self.last is not None
        return self.event.after.having(fields=self.last[2].shared.fields)


@dataclass
class Outcome:
    """What one run of the search found."""

    states: int = 0
    complete: bool = True
    concluded: bool = False
    limits: set[str] = field(default_factory=set)
    ends: list[Finish] = field(default_factory=list)


class Search:
    """One run over one system; `only` restricts unknown choices to those given."""

    def __init__(
        self,
        system: System,
        run: Run,
        narrow: bool,
        preemptions: int,
        max_states: int,
        only: Decisions | None = None,
        deadline: float | None = None,
    ) -> None:
        self.system = system
        self.run = run
        self.bound = preemptions if narrow else 0
        self.narrow = narrow
        self.max_states = max_states
        self.only = only
        self.deadline = deadline
        self.transitions = Transitions(system, run, narrow, only)
        self.stretches = Stretches(self.transitions)
        self.threads = self.transitions.threads
        self.driver = self.transitions.driver
        self.driver_index = self.transitions.driver_index
        self.places = self.transitions.places
        self.shareds = self.transitions.shareds
        self.parents: dict[State, tuple[State, int, Leap] | None] = {}
        self._pauses: list[tuple[int, Footprint]] = []
        self._pause_ids: dict[tuple[int, Footprint], int] = {}
        self._noted: set[object] = set()
        self._level_of: dict[State, int] = {}
        self._expanded: set[State] = set()

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        shared, places = self.transitions.initial()
        return (shared, -1, *places)

    def name_of(self, thread: int) -> str:
        """How a witness calls a thread."""
        if thread < len(self.threads):
            return self.threads[thread].root.name
        return "scheduler" if thread == self.driver_index else "caller"

    # -- the state graph -------------------------------------------------------------

    def explore(self) -> Outcome:
        """Search everything within the bounds.

        Level by level: what interrupts nobody first, then what interrupts one stretch, and so on.
        A state that a lower level has reached is not looked at again, for it can do no more now.
        """
        outcome = Outcome()
        start = self.initial()
        self.parents[start] = None
        self._level_of[start] = 0
        levels: list[deque[State]] = [deque() for _ in range(self.bound + 1)]
        levels[0].append(start)
        for spent in range(self.bound + 1):
            if not self._level(spent, levels, outcome):
                break
        outcome.states = len(self.parents)
        if self.system.cut() or self.stretches.cut:
            outcome.complete = False
        return outcome

    def _level(self, spent: int, levels: list[deque[State]], outcome: Outcome) -> bool:
        """Everything that can be reached without one more interruption; False if time is up."""
        todo = levels[spent]
        looked = 0
        while todo:
            if self.deadline is not None and looked % CLOCK_EVERY == 0 and self._is_late():
                outcome.complete = False
                outcome.limits.add("max-seconds")
                return False
            looked += 1
            state = todo.popleft()
            if state in self._expanded:
                continue
            self._expanded.add(state)
            self._watch(state, outcome)
            moved = False
            may_stop = self._may_stop_sending(state)
            for after, thread, arrow, cost in self.successors(state, spent < self.bound):
                moved = moved or self._moves(state, after, may_stop)
                leap = arrow.leap
                if leap.death is not None and thread < len(self.threads):
                    continue  # a bad end; what comes after it adds nothing
                if self._reach(state, after, thread, leap, spent + cost, outcome):
                    levels[spent + cost].append(after)
            if not moved and state[1] < 0:
                self._judge(state, outcome)
        return True

    def _moves(self, state: State, after: State, may_stop: bool) -> bool:
        """Whether something happens in a step that does not depend on a scheduler's goodwill."""
        same = after[0] == state[0] and after[PLACES:] == state[PLACES:]
        return not same and not (may_stop and self._sends(state, after))

    def _reach(
        self,
        state: State,
        after: State,
        thread: int,
        leap: Leap,
        level: int,
        outcome: Outcome,
    ) -> bool:
        """Note how a state was reached; whether it has to be looked at (again)."""
        known = self._level_of.get(after)
        if known is not None and known <= level:
            return False
        if after[1] >= 0:
            free = self._level_of.get((after[0], -1, *after[PLACES:]))
            if free is not None and free <= level:
                return False
        if known is None and len(self.parents) >= self.max_states:
            outcome.complete = False
            outcome.limits.add("max-states")
            return False
        self._level_of[after] = level
        self.parents[after] = (state, thread, leap)
        return True

    def _is_late(self) -> bool:
        return self.deadline is not None and monotonic() >= self.deadline

    def successors(
        self, state: State, may_interrupt: bool
    ) -> Iterator[tuple[State, int, Arrow, int]]:
        """Every way on: (state, thread, arrow, stretches that it interrupts).

        While a thread is held at a pause, only what conflicts with its last access.
        """
        for thread, stretch, last in self._stretches(state):
            at = PLACES + thread
            before, behind = state[PLACES:at], state[at + 1 :]
            for arrow in stretch.ends:
                if last is None or last.conflicts(arrow.footprint):
                    yield (arrow.shared, -1, *before, arrow.place, *behind), thread, arrow, 0
            if not stretch.pauses:
                continue
            cost = 1 if self.places[state[at]].wide else 0
            if cost and not may_interrupt:
                continue
            for pause in stretch.pauses:
                arrow = pause.arrow
                if last is None or last.conflicts(arrow.footprint):
                    after = (arrow.shared, -1, *before, arrow.place, *behind)
                    if self._matters(after, thread, pause.last):
                        held = self._pause_id(thread, pause.last)
                        yield (after[0], held, *after[PLACES:]), thread, arrow, cost

    def notable(self, state: State) -> Iterator[tuple[State, int, Arrow]]:
        """Every way on, or part of one, whose last access may be a bad event."""
        for thread, stretch, last in self._stretches(state):
            at = PLACES + thread
            for arrow in stretch.notable:
                if last is None or last.conflicts(arrow.footprint):
                    places = (*state[PLACES:at], arrow.place, *state[at + 1 :])
                    yield (arrow.shared, -1, *places), thread, arrow

    def _stretches(self, state: State) -> Iterator[tuple[int, Stretch, Footprint | None]]:
        """Every thread that may run, its stretch, and the access that this must conflict with."""
        held, last = self._pauses[state[1]] if state[1] >= 0 else (-1, None)
        opened = self.transitions.is_open(state[PLACES + self.driver_index])
        for thread in range(len(state) - PLACES):
            if thread != held:
                place = state[PLACES + thread]
                yield thread, self.stretches.of(thread, place, state[0], opened), last

    def _matters(self, state: State, thread: int, last: Footprint) -> bool:
        """Whether anything that another thread does now conflicts with the last access."""
        opened = self.transitions.is_open(state[PLACES + self.driver_index])
        return any(
            last.conflicts(self.stretches.of(other, place, state[0], opened).footprint)
            for other, place in enumerate(state[PLACES:])
            if other != thread
        )

    def _pause_id(self, thread: int, last: Footprint) -> int:
        key = (thread, last)
        if key not in self._pause_ids:
            self._pause_ids[key] = len(self._pauses)
            self._pauses.append(key)
        return self._pause_ids[key]

    # -- bad ends --------------------------------------------------------------------

    def _watch(self, state: State, outcome: Outcome) -> None:
        """Bad things on the ways on from a state; the first of each kind and place is kept."""
        for after, thread, arrow in self.notable(state):
            self._look(state, after, thread, arrow.leap, outcome)

    def _look(self, state: State, after: State, thread: int, leap: Leap, outcome: Outcome) -> None:
        if leap.death is not None:
            kind = "dead-thread" if thread < len(self.threads) else "dead-call"
            if kind == "dead-thread" or leap.death.note == "KeyError":
                self._note(outcome, Finish(kind, state, (after, thread, leap)), leap.death)
        phase = self.places[state[PLACES + self.driver_index]].phase
        domain = self.system.protocol.domain
        for event in leap.events:
            before, now = event.before.status, event.after.status
            if before is now or now is None:
                continue
            if domain.is_failure(before) and not domain.is_failure(now):
                if self._own_failure(thread, event):
                    continue
                kind = "resurrected"
            elif before is None and self._removed(thread, phase):
                kind = "zombie"
            else:
                continue
            finish = Finish(kind, state, (after, thread, leap), event)
            self._note(outcome, finish, event.instr, self.driver.view(finish.shown()))

    def _own_failure(self, thread: int, event: Event) -> bool:
        """Whether a worker takes back what it wrote itself: no other thread has a part in it."""
        if thread >= len(self.threads) or self.threads[thread].kind != "consumer":
            return False
        return event.before.failed == self.transitions.folders[thread].machine.thread

    def _note(self, outcome: Outcome, finish: Finish, instr: Instr, seen: object = None) -> None:
        key = (finish.kind, id(instr.where.node), tuple(id(w.node) for w in instr.stack), seen)
        if key not in self._noted:
            self._noted.add(key)
            outcome.ends.append(finish)

    def _may_stop_sending(self, state: State) -> bool:
        """Whether the scheduler may leave it at the chunks it has sent: the room has failed."""
        phase = self.places[state[PLACES + self.driver_index]].phase
        assert phase is not None
        if phase.stage != "live":
            return False
        return phase.aborted or self.shareds[state[0]].failed > 0

    def _sends(self, state: State, after: State) -> bool:
        """Whether a step is the scheduler's sending of one more chunk."""
        at = PLACES + self.driver_index
        before, now = self.places[state[at]].phase, self.places[after[at]].phase
        return before is not None and now is not None and now.fed > before.fed

    def _removed(self, thread: int, phase: Phase | None) -> bool:
        """Whether a room that is absent now was there before and nobody is opening it again."""
        return phase is not None and phase.stage != "new" and thread != self.driver_index

    def _judge(self, state: State, outcome: Outcome) -> None:
        """A state in which nothing but polling is left."""
        driver = self.places[state[PLACES + self.driver_index]]
        shared = self.shareds[state[0]]
        phase = driver.phase
        if phase is None or driver.pc != IDLE or phase.stage == "new":
            return
        if phase.stage in ("over", "gone") or self.driver.sees_end(shared):
            outcome.concluded = True
        elif shared.status is not None:
            outcome.ends.append(Finish("pinned", state))

    def path(self, finish: Finish) -> list[tuple[State, int, Leap]]:
        """The shortest path to a bad end: (state after, thread, leap)."""
        found = [finish.last] if finish.last is not None else []
        state = finish.state
        parent = self.parents[state]
        while parent is not None:
            found.append((state, parent[1], parent[2]))
            state = parent[0]
            parent = self.parents[state]
        return found[::-1]
