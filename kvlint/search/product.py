"""Explicit-state search over all threads of one room, breadth first.

Two passes. The wide one lets a thread be interrupted only where it waits or transfers; the narrow
one before any access to something shared, with at most `preemptions` interruptions where the thread
does not wait (iterative context bounding: Musuvathi and Qadeer, PLDI 2007). Each run allows one
disturbance (`environment.runs`), so that "at most one abort per room" is part of the environment.

Shared states and places of threads are numbered as they are met, so a state of the search is a
short tuple of integers and a thread's leaps from a pair of numbers are worked out once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Env, Shared
from kvlint.search.driver import Driver, Move, Phase
from kvlint.search.macro import ENDS, Event, Folder, Leap
from kvlint.search.system import Operation, System, Thread

IDLE = -1
CLOCK_EVERY = 1024  # states between two looks at the clock
# (shared, who would be interrupted by a switch, place of each thread)
State = tuple[int, ...]
PLACES = 2  # where the places begin in a state
Decisions = dict[Instr, frozenset[int]]


@dataclass(frozen=True)
class Place:
    """Where one thread is. A driver or caller that runs no operation has pc IDLE."""

    pc: int
    env: Env = ()
    operation: Operation | None = None
    phase: Phase | None = None
    turns: int = 0
    last: bool | None = None
    wide: bool = True
    fed: bool = False
    waiting: bool = False


@dataclass(frozen=True)
class Arrow:
    """One leap of one thread, by number.

    `owner` is the thread that a switch at its end would interrupt (-1: none), `notable` says that
    the leap may hold a bad event.
    """

    place: int
    shared: int
    leap: Leap
    owner: int
    notable: bool


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


@dataclass(frozen=True)
class Run:
    """One environment: the messages that arrive and the disturbance that may happen."""

    name: str
    frames: frozenset[object]
    aborts: tuple[Operation, ...] = ()
    callers: tuple[Operation, ...] = ()
    tickers: tuple[Thread, ...] = ()
    chunks: int = 2


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
        self.threads = [t for t in system.threads if t.kind != "ticker" or t in run.tickers]
        self.folders = [
            system.folder(t.program, system.threads.index(t) + 1, narrow) for t in self.threads
        ]
        self.driver_index = len(self.threads)
        self.caller_index = self.driver_index + 1
        self.driver = Driver(system, run.chunks, run.aborts)
        self.parents: dict[State, tuple[State, int, Leap] | None] = {}
        self.places: list[Place] = []
        self._place_ids: dict[Place, int] = {}
        self.shareds: list[Shared] = []
        self._shared_ids: dict[Shared, int] = {}
        self._noted: set[object] = set()
        self._level_of: dict[State, int] = {}
        self._expanded: set[State] = set()
        self._arrows: dict[tuple[int, int, int, bool], list[Arrow]] = {}

    # -- numbering -------------------------------------------------------------------

    def place_id(self, place: Place) -> int:
        """The number of a place."""
        found = self._place_ids.get(place)
        if found is None:
            found = self._place_ids[place] = len(self.places)
            self.places.append(place)
        return found

    def shared_id(self, shared: Shared) -> int:
        """The number of a shared state."""
        found = self._shared_ids.get(shared)
        if found is None:
            found = self._shared_ids[shared] = len(self.shareds)
            self.shareds.append(shared)
        return found

    # -- the state graph -------------------------------------------------------------

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        places = [Place(0, f.machine.initial()) for f in self.folders]
        places.append(Place(IDLE, phase=Phase()))
        places.append(Place(IDLE))
        shared = self.shared_id(Shared(frames=self.run.frames))
        return (shared, -1, *(self.place_id(p) for p in places))

    def name_of(self, thread: int) -> str:
        """How a witness calls a thread."""
        if thread < len(self.threads):
            return self.threads[thread].root.name
        return "scheduler" if thread == self.driver_index else "caller"

    def explore(self) -> Outcome:
        """Search everything within the bounds.

        Level by level: what needs no interruption first, then what needs one, and so on. A state
        that a lower level has reached is not looked at again, for it can do no more now.
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
        if self.system.cut():
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
            moved = False
            may_stop = self._may_stop_sending(state)
            for after, thread, arrow, cost in self.successors(state, spent < self.bound):
                moved = moved or self._moves(state, after, may_stop)
                leap = arrow.leap
                if arrow.notable:
                    self._watch(state, after, thread, leap, outcome)
                if leap.death is not None and thread < len(self.threads):
                    continue  # a bad end; what comes after it adds nothing
                if self._reach(state, after, thread, leap, spent + cost, outcome):
                    levels[spent + cost].append(after)
            if not moved and self._is_stuck(state, may_stop):
                self._judge(state, outcome)
        return True

    def _moves(self, state: State, after: State, may_stop: bool) -> bool:
        """Whether something happens in a step that does not depend on a scheduler's goodwill."""
        same = after[0] == state[0] and after[PLACES:] == state[PLACES:]
        return not same and not (may_stop and self._sends(state, after))

    def _is_stuck(self, state: State, may_stop: bool) -> bool:
        """Whether nobody can go on, not even by interrupting a thread that goes round in place."""
        ahead = self.successors(state, True)
        return not any(self._moves(state, after, may_stop) for after, _, _, _ in ahead)

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
        """Every leap of every thread that may run now: (state, thread, arrow, interruptions)."""
        shared, holder = state[0], state[1]
        opened = self._opened(state)
        held_up = holder >= 0 and bool(self.arrows(holder, state[PLACES + holder], shared, opened))
        for thread in range(len(state) - PLACES):
            cost = 1 if held_up and thread != holder else 0
            if cost and not may_interrupt:
                continue
            at = PLACES + thread
            before, behind = state[PLACES:at], state[at + 1 :]
            for arrow in self.arrows(thread, state[at], shared, opened):
                after = (arrow.shared, arrow.owner, *before, arrow.place, *behind)
                yield after, thread, arrow, cost

    def _opened(self, state: State) -> bool:
        """Whether anybody outside can know the room: it is open, or being announced."""
        driver = self.places[state[PLACES + self.driver_index]]
        known = driver.pc == IDLE or driver.wide
        return known and driver.phase is not None and driver.phase.stage != "new"

    def arrows(self, thread: int, place: int, shared: int, opened: bool) -> list[Arrow]:
        """The leaps of a thread from a place in a shared state."""
        key = (thread, place, shared, opened)
        found = self._arrows.get(key)
        if found is None:
            found = self._arrows[key] = [
                self._arrow(thread, to, leap)
                for to, leap in self._leaps(
                    thread, self.places[place], self.shareds[shared], opened
                )
                if self._allowed(leap)
            ]
        return found

    def _arrow(self, thread: int, to: Place, leap: Leap) -> Arrow:
        domain = self.system.protocol.domain
        notable = leap.death is not None or any(
            event.before.status is not event.after.status
            and (event.before.status is None or domain.is_failure(event.before.status))
            for event in leap.events
        )
        owner = -1 if to.wide else thread
        return Arrow(self.place_id(to), self.shared_id(leap.shared), leap, owner, notable)

    def _allowed(self, leap: Leap) -> bool:
        if self.only is None:
            return True
        return all(to in self.only.get(instr, (to,)) for instr, to in leap.decisions)

    # -- leaps of one thread ---------------------------------------------------------

    def folder(self, thread: int, place: Place) -> Folder:
        """What runs a thread at this place."""
        if place.operation is None:
            return self.folders[thread]
        number = len(self.system.threads) + 1 + thread - self.driver_index
        return self.system.folder(place.operation.program, number, self.narrow)

    def _leaps(
        self, thread: int, place: Place, shared: Shared, opened: bool
    ) -> Iterator[tuple[Place, Leap]]:
        if place.pc == IDLE:
            if thread == self.caller_index:
                yield from self._call(place, shared, opened)
            else:
                yield from self._schedule(place, shared)
            return
        folder = self.folder(thread, place)
        if folder.machine.code[place.pc].op in ENDS:
            return
        if thread < len(self.threads) and not self._enabled(thread, place, opened):
            return
        for leap in folder.leaps(place.pc, place.env, shared, place.last, place.waiting):
            if self._as_planned(thread, place, leap, shared, folder):
                yield self._advance(thread, place, leap, folder), leap

    def _as_planned(
        self, thread: int, place: Place, leap: Leap, shared: Shared, folder: Folder
    ) -> bool:
        """Whether this way through an operation is one that the scheduler means to take."""
        if place.operation is None or thread != self.driver_index:
            return True
        over = folder.machine.code[leap.pc].op in ENDS
        return self.driver.meant(place.operation, place.last, leap, shared, over, place.fed)

    def _enabled(self, thread: int, place: Place, opened: bool) -> bool:
        kind = self.threads[thread].kind
        if kind == "task":
            return opened
        return kind != "ticker" or (opened and place.turns < 2)

    def _advance(self, thread: int, place: Place, leap: Leap, folder: Folder) -> Place:
        op = folder.machine.code[leap.pc].op
        if place.operation is None:
            turns = place.turns
            if self.threads[thread].kind == "ticker" and any(
                e.instr.op is Op.WINDOW for e in leap.events
            ):
                turns += 1
            return Place(leap.pc, leap.env, turns=turns, wide=leap.wide, waiting=leap.waiting)
        if op in ENDS:  # an exception goes to the caller, who is done with the call as well
            return Place(IDLE, (), None, place.phase, place.turns)
        fed = place.fed or any(e.instr.op is Op.PUT for e in leap.events)
        return Place(
            leap.pc,
            leap.env,
            place.operation,
            place.phase,
            place.turns,
            place.last,
            leap.wide,
            fed,
            leap.waiting,
        )

    def _schedule(self, place: Place, shared: Shared) -> Iterator[tuple[Place, Leap]]:
        phase = place.phase
        assert phase is not None
        if phase.stage == "live" and shared.status is not None:
            if self.driver.ends_now(shared):
                over = Phase("over", phase.fed, phase.aborted)
                yield Place(IDLE, phase=over), _nothing(shared)
            if self.driver.direct and phase.fed < self.run.chunks and self.driver.ready(shared):
                fed = Phase("live", phase.fed + 1, phase.aborted)
                last = fed.fed == self.run.chunks
                after = shared.having(queue=(*shared.queue, last))
                yield Place(IDLE, phase=fed), _nothing(after)
        for move in self.driver.moves(phase, shared):
            yield from self._begin(place, move, shared)

    def _begin(self, place: Place, move: Move, shared: Shared) -> Iterator[tuple[Place, Leap]]:
        thread = self.driver_index
        started = Place(0, (), move.operation, move.after, place.turns, move.last)
        folder = self.folder(thread, started)
        leaps = folder.leaps(0, folder.machine.initial(), shared, move.last)
        feeds = move.operation.kind == "feed"
        puts = feeds and any(len(leap.shared.queue) > len(shared.queue) for leap in leaps)
        for leap in leaps:
            over = folder.machine.code[leap.pc].op in ENDS
            if puts and over and leap.shared.queue == shared.queue:
                continue  # a rank that takes no part; this one can send
            if self._as_planned(thread, started, leap, shared, folder):
                yield self._advance(thread, started, leap, folder), leap

    def _call(self, place: Place, shared: Shared, opened: bool) -> Iterator[tuple[Place, Leap]]:
        """Outside callers: each operation of the run once, in any order."""
        for i, operation in enumerate(self.run.callers):
            if place.turns >> i & 1 or not opened:
                continue
            started = Place(0, (), operation, None, place.turns | 1 << i)
            folder = self.folder(self.caller_index, started)
            for leap in folder.leaps(0, folder.machine.initial(), shared):
                yield self._advance(self.caller_index, started, leap, folder), leap

    # -- bad ends --------------------------------------------------------------------

    def _watch(self, state: State, after: State, thread: int, leap: Leap, outcome: Outcome) -> None:
        """Bad things that happen on the way; the first of each kind and place is kept."""
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
        return event.before.failed == self.folders[thread].machine.thread

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


def _nothing(shared: Shared) -> Leap:
    return Leap(IDLE, (), shared, True, (), ())
