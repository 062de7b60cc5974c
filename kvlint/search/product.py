"""Explicit-state search over all threads of one room, breadth first.

Two passes. The wide one lets a thread be interrupted only where it waits or transfers; the narrow
one anywhere, with at most `preemptions` interruptions elsewhere (iterative context bounding:
Musuvathi and Qadeer, PLDI 2007). Each run allows one disturbance (an abort by message, by the
scheduler, by an outside caller, or one tick of a watcher), so that "at most one abort per room" is
the environment and not a side effect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Env, Shared
from kvlint.search.driver import Driver, Move, Phase
from kvlint.search.macro import ENDS, Event, Folder, Leap
from kvlint.search.system import Operation, System, Thread

IDLE = -1


@dataclass(frozen=True)
class Place:
    """Where one thread is. A driver or caller that runs no operation has pc IDLE."""

    pc: int
    env: Env = ()
    operation: Operation | None = None
    phase: Phase | None = None
    turns: int = 0
    last: bool | None = None


@dataclass(frozen=True)
class State:
    """The shared state, every thread's place, who ran last, and the interruptions so far."""

    shared: Shared
    places: tuple[Place, ...]
    running: int = -1
    preemptions: int = 0


@dataclass(frozen=True)
class Executed:
    """One leap of a path, with the thread that made it."""

    thread: int
    instr: list[Instr]
    events: tuple[Event, ...]
    decisions: tuple[tuple[int, int], ...]


@dataclass
class Finish:
    """A bad end that was reached, with the state it was reached in."""

    kind: str
    state: State
    path_end: State
    event: Event | None = None
    thread: int = -1


@dataclass
class Outcome:
    """What one run of the search found."""

    states: int = 0
    complete: bool = True
    ends: list[Finish] = field(default_factory=list)
    concluded: bool = False


@dataclass(frozen=True)
class Run:
    """One environment: the messages that arrive and the disturbance that may happen."""

    name: str
    frames: frozenset[object]
    aborts: tuple[Operation, ...] = ()
    callers: tuple[Operation, ...] = ()
    tickers: tuple[Thread, ...] = ()
    chunks: int = 2
    closes: bool = True


Result = tuple[Place, Leap, list[Instr]]


class Search:
    """One run over one system."""

    def __init__(
        self, system: System, run: Run, narrow: bool, preemptions: int, max_states: int
    ) -> None:
        self.system = system
        self.run = run
        self.narrow = narrow
        self.bound = preemptions if narrow else 0
        self.max_states = max_states
        self.threads = [t for t in system.threads if t.kind != "ticker" or t in run.tickers]
        self.folders = [
            Folder(system.machine(t.program, i + 1), narrow) for i, t in enumerate(self.threads)
        ]
        self.driver_index = len(self.threads)
        self.caller_index = self.driver_index + 1
        self.driver = Driver(system, run.chunks, run.aborts, self.driver_index + 1)
        self.operation_folders: dict[tuple[Operation, int], Folder] = {}
        self.parents: dict[State, tuple[State, Executed] | None] = {}

    # -- the state graph -------------------------------------------------------------

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        places = [Place(0, f.machine.initial()) for f in self.folders]
        driver = Place(IDLE, phase=Phase())
        caller = Place(IDLE, turns=1 if self.run.callers else 0)
        return State(Shared(frames=self.run.frames), (*places, driver, caller))

    def name_of(self, thread: int) -> str:
        """How a witness calls a thread."""
        if thread < len(self.threads):
            return self.threads[thread].root.name
        return "scheduler" if thread == self.driver_index else "caller"

    def explore(self) -> Outcome:
        """Search everything within the bounds."""
        outcome = Outcome()
        start = self.initial()
        self.parents[start] = None
        todo = deque([start])
        while todo:
            state = todo.popleft()
            moved = False
            for after, executed in self.successors(state):
                moved = moved or self._progress(state, after)
                if after not in self.parents:
                    if len(self.parents) >= self.max_states:
                        outcome.complete = False
                        continue
                    self.parents[after] = (state, executed)
                    self._watch(after, executed, outcome)
                    todo.append(after)
            self._judge(state, moved, outcome)
        outcome.states = len(self.parents)
        return outcome

    def _progress(self, before: State, after: State) -> bool:
        return before.shared != after.shared or before.places != after.places

    def successors(self, state: State) -> Iterator[tuple[State, Executed]]:
        """Every leap of every thread that may run now."""
        holder = state.running
        for thread in range(len(state.places)):
            cost = 0
            if holder >= 0 and thread != holder and self._interrupts(state, holder):
                cost = 1
                if not self.narrow or state.preemptions + cost > self.bound:
                    continue
            for place, leap, code in self._thread_leaps(state, thread):
                places = (*state.places[:thread], place, *state.places[thread + 1 :])
                owner = self._owner(thread, place)
                after = State(leap.shared, places, owner, state.preemptions + cost)
                yield after, Executed(thread, code, leap.events, leap.decisions)

    def _owner(self, thread: int, place: Place) -> int:
        """The thread that a switch would interrupt; -1 where a switch costs nothing."""
        if place.pc == IDLE:
            return -1
        folder = self._folder(thread, place)
        return -1 if folder.is_wide(place.pc) else thread

    def _interrupts(self, state: State, holder: int) -> bool:
        return any(True for _ in self._thread_leaps(state, holder))

    def _folder(self, thread: int, place: Place) -> Folder:
        if place.operation is None:
            return self.folders[thread]
        key = (place.operation, thread)
        if key not in self.operation_folders:
            machine = self.system.machine(place.operation.program, thread + 1)
            self.operation_folders[key] = Folder(machine, self.narrow)
        return self.operation_folders[key]

    def _thread_leaps(self, state: State, thread: int) -> Iterator[Result]:
        place = state.places[thread]
        if place.pc == IDLE:
            yield from self._start(state, thread, place)
            return
        folder = self._folder(thread, place)
        if folder.machine.code[place.pc].op in ENDS:
            return
        if thread < len(self.threads) and not self._enabled(state, thread, place):
            return
        for leap in folder.leaps(place.pc, place.env, state.shared, place.last):
            yield self._advance(thread, place, leap, folder), leap, folder.machine.code

    def _enabled(self, state: State, thread: int, place: Place) -> bool:
        kind = self.threads[thread].kind
        stage = state.places[self.driver_index].phase
        opened = stage is not None and stage.stage != "new"
        if kind == "task":
            return opened
        return kind != "ticker" or (opened and place.turns < 2)

    def _advance(self, thread: int, place: Place, leap: Leap, folder: Folder) -> Place:
        op = folder.machine.code[leap.pc].op
        if place.operation is None:
            waits = self.threads[thread].kind == "ticker" and op is Op.WINDOW
            turns = place.turns + 1 if waits and leap.shared.status is not None else place.turns
            return Place(leap.pc, leap.env, turns=turns)
        if op in ENDS and not (op is Op.DEAD and thread == self.caller_index):
            if op is Op.DEAD:
                return Place(leap.pc, leap.env, place.operation, place.phase, place.turns)
            return Place(IDLE, (), None, place.phase, place.turns)
        return Place(leap.pc, leap.env, place.operation, place.phase, place.turns, place.last)

    def _start(self, state: State, thread: int, place: Place) -> Iterator[Result]:
        if thread == self.caller_index:
            yield from self._call(state, place)
            return
        assert place.phase is not None
        shared = state.shared
        if place.phase.stage == "live" and shared.status is not None:
            if self.driver.sees_end(shared) and self.run.closes:
                over = Phase("over", place.phase.fed, place.phase.aborted)
                yield Place(IDLE, phase=over), Leap(IDLE, (), shared, (), ()), []
            if self.driver.direct and place.phase.fed < self.run.chunks:
                if self.driver.ready(shared):
                    fed = Phase("live", place.phase.fed + 1, place.phase.aborted)
                    last = fed.fed == self.run.chunks
                    after = shared.having(queue=(*shared.queue, last))
                    yield Place(IDLE, phase=fed), Leap(IDLE, (), after, (), ()), []
        for move in self.driver.moves(place.phase, shared):
            yield from self._begin(thread, place, move, shared)

    def _begin(
        self, thread: int, place: Place, move: Move, shared: Shared
    ) -> Iterator[Result]:
        started = Place(0, (), move.operation, move.after, place.turns, move.last)
        folder = self._folder(thread, started)
        for leap in folder.leaps(0, folder.machine.initial(), shared, move.last):
            if move.operation.kind == "feed" and not _fed_as_meant(leap, move, shared):
                continue
            yield self._advance(thread, started, leap, folder), leap, folder.machine.code

    def _call(self, state: State, place: Place) -> Iterator[Result]:
        if place.turns < 1:
            return
        for operation in self.run.callers:
            started = Place(0, (), operation, None, place.turns - 1)
            folder = self._folder(self.caller_index, started)
            for leap in folder.leaps(0, folder.machine.initial(), state.shared):
                place = self._advance(self.caller_index, started, leap, folder)
                yield place, leap, folder.machine.code

    # -- bad ends --------------------------------------------------------------------

    def _watch(self, state: State, executed: Executed, outcome: Outcome) -> None:
        """Bad things that happen on the way."""
        domain = self.system.protocol.domain
        for event in executed.events:
            before, after = event.before.status, event.after.status
            op = executed.instr[event.pc].op if executed.instr else None
            if domain.is_failure(before) and after is not None and not domain.is_failure(after):
                kind = "resurrected"
            elif before is None and after is not None and op in (Op.STORE, Op.SETDEFAULT):
                phase = state.places[self.driver_index].phase
                if phase is None or phase.stage != "gone" or domain.is_terminal(after):
                    continue
                kind = "zombie"
            else:
                continue
            outcome.ends.append(Finish(kind, state, state, event, executed.thread))
        place = state.places[executed.thread]
        if place.pc >= 0:
            code = self._folder(executed.thread, place).machine.code
            if code[place.pc].op is Op.DEAD:
                outcome.ends.append(Finish("dead-thread", state, state, None, executed.thread))

    def _judge(self, state: State, moved: bool, outcome: Outcome) -> None:
        """A state in which nothing but polling is left."""
        if moved:
            return
        driver = state.places[self.driver_index]
        phase = driver.phase
        if phase is None or driver.pc != IDLE or phase.stage == "new":
            return
        if phase.stage in ("over", "gone") or self.driver.sees_end(state.shared):
            outcome.concluded = True
        elif phase.stage == "live" and state.shared.status is not None:
            outcome.ends.append(Finish("pinned", state, state))

    def path(self, state: State) -> list[tuple[State, Executed]]:
        """The shortest path to a state: (state after, what was executed)."""
        found = []
        here: State | None = state
        while here is not None:
            parent = self.parents[here]
            if parent is None:
                break
            found.append((here, parent[1]))
            here = parent[0]
        return found[::-1]


def _fed_as_meant(leap: Leap, move: Move, shared: Shared) -> bool:
    """A feeder may find out itself which chunk is the last: keep the runs that agree."""
    if len(leap.shared.queue) > len(shared.queue):
        return leap.shared.queue[-1] == move.last
    return True
