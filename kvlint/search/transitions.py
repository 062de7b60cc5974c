"""What each thread of one run can do next: places and the macro-steps between them.

Places and parts of the shared state are numbered as they are met, so a state of the search is a
short tuple of integers, and a thread's macro-steps from a place are worked out once per part of the
shared state that it looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Shared
from kvlint.search.driver import Driver, Move, Phase
from kvlint.search.footprint import FIELDS, NOTHING, OPENED, STATUS, Footprint, Footprints
from kvlint.search.liveness import Liveness, ReadSet, waits_in_vain
from kvlint.search.macro_steps import ENDS, Event, MacroStep, Stepper
from kvlint.search.macro_steps import FIELDS as FIELD_OPS
from kvlint.search.packing import code
from kvlint.search.relation import IDLE, Memo, Place, StepKey, Transaction, Transition
from kvlint.search.shared_states import Projection, SharedId
from kvlint.search.system import Operation, System, Thread

EVERYTHING = Projection(queue=True, frames=True, fields=True)
Decisions = dict[Instr | str, frozenset[int]]


@dataclass(frozen=True)
class Run:
    """One environment: the messages that arrive and the disturbance that may happen."""

    name: str
    frames: frozenset[object]
    aborts: tuple[Operation, ...] = ()
    callers: tuple[Operation, ...] = ()
    tickers: tuple[Thread, ...] = ()
    chunks: int = 2
    stops_sending: bool = True


class Transitions:
    """The macro-steps of all threads of one run; `only` restricts unknown choices to those given.

    Threads are numbered: those of the system first, then the scheduler (`driver_index`) and the
    outside callers (`caller_index`). `active` are those that run: a ticker only if it is the run's.
    """

    def __init__(
        self, system: System, run: Run, narrow: bool, only: Decisions | None = None
    ) -> None:
        self.system = system
        self.run = run
        self.narrow = narrow
        self.only = only
        self.threads = system.threads
        self.active = [
            i for i, t in enumerate(self.threads) if t.kind != "ticker" or t in run.tickers
        ]
        self.steppers = [
            system.stepper(t.program, i, narrow) for i, t in enumerate(self.threads, 1)
        ]
        self.driver_index = len(self.threads)
        self.caller_index = self.driver_index + 1
        self.driver = Driver(system, run.chunks, run.aborts)
        self.liveness = _liveness(self)
        memo = system.memos.get((narrow, self.liveness))
        if memo is None:
            memo = Memo(Footprints(system.protocol.status_table, system.tracked))
            system.memos[narrow, self.liveness] = memo
        self.places, self.shared_states, self.footprints = (
            memo.places,
            memo.shared_states,
            memo.footprints,
        )
        called = [system.read_set(operation.program) for operation in run.callers]
        self._fields_are_shared = any(f.reads_fields for f in self.steppers) or any(
            look.ops & FIELD_OPS for look in called
        )
        self._fields: dict[object, frozenset[str]] = {}
        keys = [*self.threads, (run.chunks, run.aborts, self._fields_are_shared), (run.callers,)]
        self._transitions = [memo.transitions.setdefault(key, {}) for key in keys]
        self._chosen: list[dict[StepKey, list[Transition]]] = [{} for _ in keys]
        self.transactions: list[dict[StepKey, Transaction]] = [
            memo.transactions.setdefault(key, {}) if only is None else {} for key in keys
        ]
        self.projections = _projections(self)
        self._receivers = [i for i in range(len(self.threads)) if self.projections[i].frames]
        self._outside = [t.kind in ("task", "ticker") for t in self.threads] + [False, True]

    def initial(self) -> tuple[SharedId, tuple[int, ...]]:
        """Nothing has happened, all messages of the run are to come: (shared state, places)."""
        places = [self._started(f) for f in self.steppers]
        places.append(Place(IDLE, phase=Phase()))
        places.append(Place(IDLE))
        shared_id = self.shared_states.number(Shared(frames=self.run.frames), EVERYTHING)
        return shared_id, tuple(self.places.of(p) for p in places)

    @staticmethod
    def _started(stepper: Stepper) -> Place:
        """A thread at its first access, if there is only one way to it."""
        env = stepper.machine.initial()
        local_paths = stepper.local_paths(0, env)
        if len(local_paths) == 1 and not (
            local_paths[0].waited or local_paths[0].shown or local_paths[0].decisions
        ):
            return Place(local_paths[0].pc, local_paths[0].env)
        return Place(0, env)

    # -- transitions ----------------------------------------------------------------------

    def is_open(self, driver: int) -> bool:
        """Whether anybody outside can know the room, by the scheduler's place.

        It is open, or it is being announced.
        """
        return _knows_of_room(self.places.values[driver])

    def asks_whether_open(self, thread: int) -> bool:
        """Whether what the thread does depends on whether the room is open."""
        return self._outside[thread]

    def of(self, thread: int, place: int, seen: SharedId, opened: bool) -> list[Transition]:
        """The macro-steps of a thread from a place, in the shared state as it sees it."""
        key = (place, seen, opened or not self._outside[thread])  # the others need not know
        if self.only is None:
            return self._all(thread, key)
        chosen = self._chosen[thread]
        if key not in chosen:
            chosen[key] = [a for a in self._all(thread, key) if self._allowed(a.macro_step)]
        return chosen[key]

    def _all(self, thread: int, key: StepKey) -> list[Transition]:
        known = self._transitions[thread]
        found = known.get(key)
        if found is None:
            place, seen, opened = key
            start, shared = self.places.values[place], self.shared_states.shared(seen)
            found = known[key] = [
                self._transition(thread, start, seen, shared, to, macro_step)
                for to, macro_step in self._macro_steps(thread, start, shared, opened)
            ]
        return found

    def _transition(
        self,
        thread: int,
        start: Place,
        seen: SharedId,
        shared: Shared,
        to: Place,
        macro_step: MacroStep,
    ) -> Transition:
        footprint = (
            self._footprint(thread, start, shared, to, macro_step) if self.narrow else NOTHING
        )
        to = self._settled(thread, to, macro_step)
        shared_id = seen
        if macro_step.shared is not shared or to.pc == IDLE or thread == self.driver_index:
            shared_id = self.shared_states.number(
                self._kept(thread, to, macro_step.shared), self.projections[thread]
            )
        place = self.places.of(to)
        packed = code(thread, place, shared_id)
        return Transition(
            place, shared_id, packed, footprint, to.wide, self._notable(macro_step), macro_step
        )

    def _notable(self, macro_step: MacroStep) -> bool:
        """Whether the macro-step may hold a bad event."""
        if macro_step.death is not None:
            return True
        for event in macro_step.events:
            before, after = event.before, event.after
            if before.status is not after.status and self._is_notable(event):
                return True
        return False

    def _is_notable(self, event: Event) -> bool:
        """Whether a change of the status makes the room, or takes a failure back."""
        before = event.before.status
        return before is None or self.system.protocol.domain.is_failure(before)

    def _settled(self, thread: int, to: Place, macro_step: MacroStep) -> Place:
        """The place, or IDLE if all that is left there is to wait and be through."""
        if to.pc == IDLE:
            return to
        stepper = self.stepper(thread, to)
        code = stepper.machine.code
        if not to.waiting:
            through = waits_in_vain(code[to.pc], macro_step.shared)
        else:
            ahead = [
                code[local_path.pc]
                for local_path in stepper.local_paths(to.pc, to.env)
                if local_path.waited
            ]
            through = all(
                i.op is not Op.DEAD and waits_in_vain(i, macro_step.shared) for i in ahead
            )
        if not through:
            return to
        return Place(IDLE, phase=to.phase, turns=to.turns)

    def _kept(self, thread: int, to: Place, shared: Shared) -> Shared:
        """The shared state without what nobody will look at any more."""
        deaf = self._receivers == [thread] and to.pc == IDLE
        fields = self.fields_at(to) if thread == self.driver_index else self.liveness.fields
        return self.liveness.kept(shared, fields, frames=not deaf)

    def fields_at(self, driver: Place) -> frozenset[str]:
        """The holder's fields that somebody may look at when the scheduler is at a place.

        While the room is live all of them are kept: which choice a pinned room goes back to counts.
        """
        if self._fields_are_shared or _stage(driver) not in ("over", "gone"):
            return self.liveness.fields
        key = (driver.operation, driver.pc, _stage(driver))
        found = self._fields.get(key)
        if found is None:
            found = frozenset[str]()
            if driver.operation is not None:
                found |= self.system.fields_ahead(driver.operation.program, driver.pc)
            if _stage(driver) == "over":
                for operation in self.driver.after_the_end:
                    found |= self.system.fields_ahead(operation.program, 0)
            self._fields[key] = found
        return found

    def _footprint(
        self, thread: int, start: Place, shared: Shared, to: Place, macro_step: MacroStep
    ) -> Footprint:
        """What the macro-step looks at and changes, the conditions for it to be taken included."""
        found = self.footprints.of(macro_step.events, shared, macro_step.shared)
        reads, writes = found.reads, found.writes
        if start.pc == IDLE or self.stepper(thread, start).reads_fields:
            reads |= FIELDS
        if self._outside[thread]:
            reads |= OPENED
        if thread == self.driver_index:
            reads |= self._consulted(start, to)
            if _knows_of_room(start) != _knows_of_room(to):
                writes |= OPENED
            if _stage(start) == "new" and _stage(to) != "new":
                writes |= STATUS  # before that a store makes the room, afterwards it revives it
        return Footprint(reads, writes)

    def _consulted(self, start: Place, to: Place) -> int:
        """What the scheduler goes by when it does this, beside what the operation looks at."""
        operation = start.operation or to.operation
        if operation is None:  # it polls, or the operation is over at once
            return self.footprints.tables
        return STATUS if operation.kind in ("open", "feed") else 0

    def waits_for(self, thread: int, place: Place) -> Footprint:
        """What a thread that cannot go on at this place looks at: the lock that it asks for."""
        instr = self.stepper(thread, place).machine.code[place.pc]
        return Footprint(self.footprints.reads(instr), 0) if instr.op is Op.LOCK else NOTHING

    def _allowed(self, macro_step: MacroStep) -> bool:
        assert self.only is not None
        return all(to in self.only.get(instr, (to,)) for instr, to in macro_step.decisions)

    # -- macro-steps of one thread ---------------------------------------------------------

    def stepper(self, thread: int, place: Place) -> Stepper:
        """What runs a thread at this place."""
        if place.operation is None:
            return self.steppers[thread]
        number = len(self.system.threads) + 1 + thread - self.driver_index
        return self.system.stepper(place.operation.program, number, self.narrow)

    def _macro_steps(
        self, thread: int, place: Place, shared: Shared, opened: bool
    ) -> Iterator[tuple[Place, MacroStep]]:
        if place.pc == IDLE:
            if thread == self.caller_index:
                yield from self._call(place, shared, opened)
            elif thread == self.driver_index:
                yield from self._schedule(place, shared)
            return
        stepper = self.stepper(thread, place)
        if stepper.machine.code[place.pc].op in ENDS:
            return
        if thread < len(self.threads) and not self._enabled(thread, place, opened):
            return
        expand = (
            stepper.expand if place.operation is None else stepper.macro_steps
        )  # transitions are remembered
        for macro_step in expand(place.pc, place.env, shared, place.last, place.waiting):
            if self._as_planned(thread, place, macro_step, shared, stepper):
                yield self._advance(thread, place, macro_step, stepper), macro_step

    def _as_planned(
        self, thread: int, place: Place, macro_step: MacroStep, shared: Shared, stepper: Stepper
    ) -> bool:
        """Whether this way through an operation is one that the scheduler means to take."""
        if place.operation is None or thread != self.driver_index:
            return True
        over = stepper.machine.code[macro_step.pc].op in ENDS
        return self.driver.meant(place.operation, place.last, macro_step, shared, over, place.fed)

    def _enabled(self, thread: int, place: Place, opened: bool) -> bool:
        kind = self.threads[thread].kind
        if kind == "task":
            return opened
        return kind != "ticker" or (opened and place.turns < 2)

    def _advance(self, thread: int, place: Place, macro_step: MacroStep, stepper: Stepper) -> Place:
        op = stepper.machine.code[macro_step.pc].op
        if place.operation is None:
            turns = place.turns
            if self.threads[thread].kind == "ticker" and any(
                e.instr.op is Op.WINDOW for e in macro_step.events
            ):
                turns += 1
            return Place(
                macro_step.pc,
                macro_step.env,
                turns=turns,
                wide=macro_step.wide,
                waiting=macro_step.waiting,
            )
        if op in ENDS:  # an exception goes to the caller, who is done with the call as well
            return Place(IDLE, (), None, place.phase, place.turns)
        fed = place.fed or any(e.instr.op is Op.PUT for e in macro_step.events)
        return Place(
            macro_step.pc,
            macro_step.env,
            place.operation,
            place.phase,
            place.turns,
            place.last,
            macro_step.wide,
            fed,
            macro_step.waiting,
        )

    def _schedule(self, place: Place, shared: Shared) -> Iterator[tuple[Place, MacroStep]]:
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

    def _begin(self, place: Place, move: Move, shared: Shared) -> Iterator[tuple[Place, MacroStep]]:
        thread = self.driver_index
        started = Place(0, (), move.operation, move.after, place.turns, move.last)
        stepper = self.stepper(thread, started)
        macro_steps = stepper.macro_steps(0, stepper.machine.initial(), shared, move.last)
        feeds = move.operation.kind == "feed"
        puts = feeds and any(
            len(macro_step.shared.queue) > len(shared.queue) for macro_step in macro_steps
        )
        for macro_step in macro_steps:
            over = stepper.machine.code[macro_step.pc].op in ENDS
            if puts and over and macro_step.shared.queue == shared.queue:
                continue  # a rank that takes no part; this one can send
            if self._as_planned(thread, started, macro_step, shared, stepper):
                yield self._advance(thread, started, macro_step, stepper), macro_step

    def _call(
        self, place: Place, shared: Shared, opened: bool
    ) -> Iterator[tuple[Place, MacroStep]]:
        """Outside callers: each operation of the run once, in any order."""
        for i, operation in enumerate(self.run.callers):
            if place.turns >> i & 1 or not opened:
                continue
            started = Place(0, (), operation, None, place.turns | 1 << i)
            stepper = self.stepper(self.caller_index, started)
            for macro_step in stepper.macro_steps(0, stepper.machine.initial(), shared):
                yield self._advance(self.caller_index, started, macro_step, stepper), macro_step


def _ordinary(system: System, run: Run, driver: Driver) -> list[Operation]:
    """The operations that the scheduler of a run may use."""
    kinds = ("open", "feed", "step", "poll")
    return [*(o for k in kinds for o in system.of_kind(k)), *driver.closes, *run.aborts]


def _liveness(transitions: Transitions) -> Liveness:
    system, run = transitions.system, transitions.run
    programs = [transitions.threads[i].program for i in transitions.active]
    programs += [o.program for o in (*_ordinary(system, run, transitions.driver), *run.callers)]
    works = frozenset(i for i, t in enumerate(system.threads, 1) if t.kind == "consumer")
    return Liveness([system.read_set(p) for p in programs], system.protocol.domain, works)


def _projections(transitions: Transitions) -> list[Projection]:
    """What each thread, the scheduler and the outside callers look at."""
    system, run, driver = transitions.system, transitions.run, transitions.driver
    ordinary = _projection(system.read_set(o.program) for o in _ordinary(system, run, driver))
    feeds = ordinary.queue or driver.direct
    return [
        *(_projection([system.read_set(t.program)]) for t in transitions.threads),
        Projection(feeds, ordinary.frames, fields=True),
        _projection(system.read_set(o.program) for o in run.callers),
    ]


def _projection(looks: Iterable[ReadSet]) -> Projection:
    """What the programs of one thread look at."""
    ops = frozenset[Op]().union(*(look.ops for look in looks))
    return Projection(
        queue=bool(ops & {Op.TAKE, Op.PUT}), frames=Op.RECV in ops, fields=bool(ops & FIELD_OPS)
    )


def _knows_of_room(driver: Place) -> bool:
    """Whether a scheduler at this place has opened the room, or waits while it does."""
    opening = driver.operation is not None and driver.operation.kind == "open" and not driver.wide
    return driver.phase is not None and driver.phase.stage != "new" and not opening


def _stage(driver: Place) -> str:
    return driver.phase.stage if driver.phase is not None else ""


def _nothing(shared: Shared) -> MacroStep:
    return MacroStep(IDLE, (), shared, True, (), ())
