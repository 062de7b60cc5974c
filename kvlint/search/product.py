"""Explicit-state search over all threads of one room, breadth first.

Two passes. The wide one lets a thread be interrupted only where it waits or transfers; the narrow
one after any access to something shared, in at most `preemptions` transactions (`transaction`),
which covers every schedule with at most that many interruptions (iterative context bounding:
Musuvathi and Qadeer, PLDI 2007). Each run allows one disturbance (`environment.runs`), so that "at
most one abort per room" is part of the environment.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from time import monotonic

from kvlint.programs.ir import Instr
from kvlint.search.driver import Phase
from kvlint.search.graph import Graph, Row
from kvlint.search.macro_steps import Event, MacroStep
from kvlint.search.packing import FIELDS_BITS, HELD_BITS, State, place_bits
from kvlint.search.relation import IDLE, Transition
from kvlint.search.system import System
from kvlint.search.transitions import Decisions, Run, Transitions

CLOCK_EVERY = 1024  # states between two looks at the clock


@dataclass
class Finish:
    """A bad end: its kind, the state it starts from, the macro-step that makes it, the bad event.

    `seen` is what polling may say right after the event; nothing if nobody polls any more.
    """

    kind: str
    state: State
    last: tuple[State, int, Transition] | None = None
    event: Event | None = None
    seen: frozenset[object] = frozenset()


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
        self.graph = Graph(self.transitions)
        self.threads = self.transitions.threads
        self.driver = self.transitions.driver
        self.driver_index = self.transitions.driver_index
        self.parents: dict[State, tuple[State, int, Transition] | None] = {}
        self._noted: set[object] = set()
        self._looked_at: set[tuple[int, int]] = set()
        self._level_of: dict[State, int] = {}
        self._expanded: set[State] = set()

    def name_of(self, thread: int) -> str:
        """How a witness calls a thread."""
        if thread < len(self.threads):
            return self.threads[thread].root.name
        return "scheduler" if thread == self.driver_index else "caller"

    # -- the state graph -------------------------------------------------------------

    def explore(self) -> Outcome:
        """Search everything within the bounds.

        Level by level: what interrupts nobody first, then what interrupts one transaction, and so
        on. A state that a lower level has reached is not looked at again, for it can do no more
        now.
        """
        outcome = Outcome()
        start = self.graph.initial()
        self.parents[start] = None
        self._level_of[start] = 0
        levels: list[deque[State]] = [deque() for _ in range(self.bound + 1)]
        levels[0].append(start)
        for spent in range(self.bound + 1):
            if not self._level(spent, levels, outcome):
                break
        outcome.states = len(self.parents)
        if self.system.cut() or self.graph.cut:
            outcome.complete = False
        return outcome

    def _level(self, spent: int, levels: list[deque[State]], outcome: Outcome) -> bool:
        """Everything that can be reached without one more interruption; False ends the search."""
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
            rows = self.graph.rows(state)
            for after, thread, transition in self.graph.notable(
                state, self._not_looked_at(state, rows)
            ):
                self._look(state, after, thread, transition, outcome)
            moved = False
            for after, thread, transition, cost in self.graph.ways(state, rows, spent < self.bound):
                moved = moved or self._moves(state, after, thread)
                known = self._level_of.get(after)
                if known is not None and known <= spent + cost:
                    continue
                if transition.death is not None and thread < len(self.threads):
                    continue  # a bad end; what comes after it adds nothing
                if self._reach(state, after, thread, transition, spent + cost, outcome):
                    levels[spent + cost].append(after)
            if not moved and not state & HELD_BITS:
                self._judge(state, outcome)
                if self.only is not None and outcome.concluded:
                    return False  # all that is asked under given choices
        return True

    def _moves(self, state: State, after: State, thread: int) -> bool:
        """Whether something happens in a step that does not depend on a scheduler's goodwill."""
        if after & HELD_BITS or after == state:
            return False
        if thread != self.driver_index or not self._sends(state, after):
            return True
        return not self._may_stop_sending(state)

    def _reach(
        self,
        state: State,
        after: State,
        thread: int,
        transition: Transition,
        level: int,
        outcome: Outcome,
    ) -> bool:
        """Note how a state was first reached at this level; whether it has to be looked at."""
        if after & HELD_BITS:
            free = self._level_of.get(after & ~HELD_BITS)
            if free is not None and free <= level:
                return False
        if after not in self.parents and len(self.parents) >= self.max_states:
            outcome.complete = False
            outcome.limits.add("max-states")
            return False
        self._level_of[after] = level
        self.parents[after] = (state, thread, transition)
        return True

    def _is_late(self) -> bool:
        return self.deadline is not None and monotonic() >= self.deadline

    # -- bad ends --------------------------------------------------------------------

    def _not_looked_at(self, state: State, rows: list[Row]) -> list[Row]:
        """The rows with something notable that was not seen before in the same circumstances."""
        rows = [row for row in rows if row[1].notable]
        if state & HELD_BITS:
            return rows  # not all ways are looked at from here
        where = state & (place_bits(self.driver_index) | FIELDS_BITS)
        found = [row for row in rows if (id(row[1]), where) not in self._looked_at]
        self._looked_at.update((id(row[1]), where) for row in found)
        return found

    def _look(
        self, state: State, after: State, thread: int, transition: Transition, outcome: Outcome
    ) -> None:
        """Bad things at the end of a way; the first of each kind and place is kept."""
        last = (after, thread, transition)
        if transition.death is not None:
            kind = "dead-thread" if thread < len(self.threads) else "dead-call"
            if kind == "dead-thread" or transition.death.note == "KeyError":
                self._note(outcome, Finish(kind, state, last), transition.death)
        phase = self._phase(state)
        domain = self.system.protocol.domain
        for event in transition.last.events:
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
            seen: frozenset[object] = frozenset()
            if phase.stage != "gone":
                fields = self.graph.shared(after).fields
                seen = self.driver.view(event.after.having(fields=fields))
            finish = Finish(kind, state, last, event, seen)
            self._note(outcome, finish, event.instr)

    def _own_failure(self, thread: int, event: Event) -> bool:
        """Whether a worker takes back what it wrote itself: no other thread has a part in it."""
        if thread >= len(self.threads) or self.threads[thread].kind != "consumer":
            return False
        return event.before.failed == self.transitions.steppers[thread].machine.thread

    def _note(self, outcome: Outcome, finish: Finish, instr: Instr) -> None:
        sites = (id(instr.where.node), *(id(w.node) for w in instr.stack))
        left = finish.event.after.status if finish.event is not None else None
        key = (finish.kind, sites, left, finish.seen)
        if key not in self._noted:
            self._noted.add(key)
            outcome.ends.append(finish)

    def _may_stop_sending(self, state: State) -> bool:
        """Whether the scheduler may leave it at the chunks it has sent: the room has failed."""
        phase = self._phase(state)
        if phase.stage != "live" or not self.run.stops_sending:
            return False
        return phase.aborted or self.graph.shared(state).failed != 0

    def _sends(self, state: State, after: State) -> bool:
        """Whether a step is the scheduler's sending of one more chunk."""
        return self._phase(after).fed > self._phase(state).fed

    def _phase(self, state: State) -> Phase:
        """How far the scheduler is."""
        phase = self.graph.place(state, self.driver_index).phase
        assert phase is not None
        return phase

    def _removed(self, thread: int, phase: Phase) -> bool:
        """Whether a room that is absent now was there before and nobody is opening it again."""
        return phase.stage != "new" and thread != self.driver_index

    def _judge(self, state: State, outcome: Outcome) -> None:
        """A state in which nothing but polling is left."""
        phase = self._phase(state)
        shared = self.graph.shared(state)
        if self.graph.place(state, self.driver_index).pc != IDLE or phase.stage == "new":
            return
        if phase.stage in ("over", "gone") or self.driver.sees_end(shared):
            outcome.concluded = True
        elif shared.status is not None:
            outcome.ends.append(Finish("pinned", state))

    def path(self, finish: Finish) -> list[tuple[State, int, MacroStep]]:
        """The shortest path to a bad end: (state after, thread, macro-step)."""
        found = []
        if finish.last is not None:
            after, thread, transition = finish.last
            found.append((after, thread, transition.macro_step))
        state = finish.state
        parent = self.parents[state]
        while parent is not None:
            found.append((state, parent[1], parent[2].macro_step))
            state = parent[0]
            parent = self.parents[state]
        return found[::-1]
