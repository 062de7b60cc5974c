"""What each thread of one run can do next: places and the leaps between them.

Places and parts of the shared state are numbered as they are met, so a state of the search is a
short tuple of integers, and a thread's leaps from a place are worked out once per part of the
world that it looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Shared
from kvlint.search.arrows import IDLE, Arrow, Memo, Place, Spot, Stretch
from kvlint.search.driver import Driver, Move, Phase
from kvlint.search.footprint import FIELDS, NOTHING, OPENED, STATUS, Footprint, Footprints
from kvlint.search.liveness import Liveness, Look, waits_in_vain
from kvlint.search.macro import ENDS, Event, Folder, Leap
from kvlint.search.macro import FIELDS as FIELD_OPS
from kvlint.search.packing import code
from kvlint.search.system import Operation, System, Thread
from kvlint.search.world import Sight, World

EVERYTHING = Sight(queue=True, frames=True, fields=True)
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
    """The leaps of all threads of one run; `only` restricts unknown choices to those given.

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
        self.folders = [system.folder(t.program, i, narrow) for i, t in enumerate(self.threads, 1)]
        self.driver_index = len(self.threads)
        self.caller_index = self.driver_index + 1
        self.driver = Driver(system, run.chunks, run.aborts)
        self.liveness = _liveness(self)
        memo = system.memos.get((narrow, self.liveness))
        if memo is None:
            memo = Memo(Footprints(system.protocol.status_table, system.tracked))
            system.memos[narrow, self.liveness] = memo
        self.places, self.worlds, self.footprints = memo.places, memo.worlds, memo.footprints
        called = [system.look(operation.program) for operation in run.callers]
        self._fields_are_shared = any(f.reads_fields for f in self.folders) or any(
            look.ops & FIELD_OPS for look in called
        )
        self._fields: dict[object, frozenset[str]] = {}
        keys = [*self.threads, (run.chunks, run.aborts, self._fields_are_shared), (run.callers,)]
        self._arrows = [memo.arrows.setdefault(key, {}) for key in keys]
        self._chosen: list[dict[Spot, list[Arrow]]] = [{} for _ in keys]
        self.stretches: list[dict[Spot, Stretch]] = [
            memo.stretches.setdefault(key, {}) if only is None else {} for key in keys
        ]
        self.sights = _sights(self)
        self._receivers = [i for i in range(len(self.threads)) if self.sights[i].frames]
        self._outside = [t.kind in ("task", "ticker") for t in self.threads] + [False, True]

    def initial(self) -> tuple[World, tuple[int, ...]]:
        """Nothing has happened, all messages of the run are to come: (world, places)."""
        places = [self._started(f) for f in self.folders]
        places.append(Place(IDLE, phase=Phase()))
        places.append(Place(IDLE))
        world = self.worlds.number(Shared(frames=self.run.frames), EVERYTHING)
        return world, tuple(self.places.of(p) for p in places)

    @staticmethod
    def _started(folder: Folder) -> Place:
        """A thread at its first access, if there is only one way to it."""
        env = folder.machine.initial()
        hops = folder.hops(0, env)
        if len(hops) == 1 and not (hops[0].waited or hops[0].shown or hops[0].decisions):
            return Place(hops[0].pc, hops[0].env)
        return Place(0, env)

    # -- arrows ----------------------------------------------------------------------

    def is_open(self, driver: int) -> bool:
        """Whether anybody outside can know the room, by the scheduler's place.

        It is open, or it is being announced.
        """
        return _knows_of_room(self.places.values[driver])

    def asks_whether_open(self, thread: int) -> bool:
        """Whether what the thread does depends on whether the room is open."""
        return self._outside[thread]

    def arrows(self, thread: int, place: int, seen: World, opened: bool) -> list[Arrow]:
        """The leaps of a thread from a place, in the world as it sees it."""
        spot = (place, seen, opened or not self._outside[thread])  # the others need not know
        if self.only is None:
            return self._all_arrows(thread, spot)
        chosen = self._chosen[thread]
        if spot not in chosen:
            chosen[spot] = [a for a in self._all_arrows(thread, spot) if self._allowed(a.leap)]
        return chosen[spot]

    def _all_arrows(self, thread: int, spot: Spot) -> list[Arrow]:
        known = self._arrows[thread]
        found = known.get(spot)
        if found is None:
            place, seen, opened = spot
            start, shared = self.places.values[place], self.worlds.shared(seen)
            found = known[spot] = [
                self._arrow(thread, start, seen, shared, to, leap)
                for to, leap in self._leaps(thread, start, shared, opened)
            ]
        return found

    def _arrow(
        self, thread: int, start: Place, seen: World, shared: Shared, to: Place, leap: Leap
    ) -> Arrow:
        footprint = self._footprint(thread, start, shared, to, leap) if self.narrow else NOTHING
        to = self._settled(thread, to, leap)
        world = seen
        if leap.shared is not shared or to.pc == IDLE or thread == self.driver_index:
            world = self.worlds.number(self._kept(thread, to, leap.shared), self.sights[thread])
        place = self.places.of(to)
        packed = code(thread, place, world)
        return Arrow(place, world, packed, footprint, to.wide, self._notable(leap), leap)

    def _notable(self, leap: Leap) -> bool:
        """Whether the leap may hold a bad event."""
        if leap.death is not None:
            return True
        for event in leap.events:
            before, after = event.before, event.after
            if before.status is not after.status and self._is_notable(event):
                return True
        return False

    def _is_notable(self, event: Event) -> bool:
        """Whether a change of the status makes the room, or takes a failure back."""
        before = event.before.status
        return before is None or self.system.protocol.domain.is_failure(before)

    def _settled(self, thread: int, to: Place, leap: Leap) -> Place:
        """The place, or IDLE if all that is left there is to wait and be through."""
        if to.pc == IDLE:
            return to
        folder = self.folder(thread, to)
        code = folder.machine.code
        if not to.waiting:
            through = waits_in_vain(code[to.pc], leap.shared)
        else:
            ahead = [code[hop.pc] for hop in folder.hops(to.pc, to.env) if hop.waited]
            through = all(i.op is not Op.DEAD and waits_in_vain(i, leap.shared) for i in ahead)
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
        self, thread: int, start: Place, shared: Shared, to: Place, leap: Leap
    ) -> Footprint:
        """What the leap looks at and changes, the conditions for it to be taken included."""
        found = self.footprints.of(leap.events, shared, leap.shared)
        reads, writes = found.reads, found.writes
        if start.pc == IDLE or self.folder(thread, start).reads_fields:
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
        instr = self.folder(thread, place).machine.code[place.pc]
        return Footprint(self.footprints.reads(instr), 0) if instr.op is Op.LOCK else NOTHING

    def _allowed(self, leap: Leap) -> bool:
        assert self.only is not None
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
            elif thread == self.driver_index:
                yield from self._schedule(place, shared)
            return
        folder = self.folder(thread, place)
        if folder.machine.code[place.pc].op in ENDS:
            return
        if thread < len(self.threads) and not self._enabled(thread, place, opened):
            return
        fold = folder.fold if place.operation is None else folder.leaps  # arrows are remembered
        for leap in fold(place.pc, place.env, shared, place.last, place.waiting):
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


def _ordinary(system: System, run: Run, driver: Driver) -> list[Operation]:
    """The operations that the scheduler of a run may use."""
    kinds = ("open", "feed", "step", "poll")
    return [*(o for k in kinds for o in system.of_kind(k)), *driver.closes, *run.aborts]


def _liveness(transitions: Transitions) -> Liveness:
    system, run = transitions.system, transitions.run
    programs = [transitions.threads[i].program for i in transitions.active]
    programs += [o.program for o in (*_ordinary(system, run, transitions.driver), *run.callers)]
    works = frozenset(i for i, t in enumerate(system.threads, 1) if t.kind == "consumer")
    return Liveness([system.look(p) for p in programs], system.protocol.domain, works)


def _sights(transitions: Transitions) -> list[Sight]:
    """What each thread, the scheduler and the outside callers look at."""
    system, run, driver = transitions.system, transitions.run, transitions.driver
    ordinary = _sight(system.look(o.program) for o in _ordinary(system, run, driver))
    feeds = ordinary.queue or driver.direct
    return [
        *(_sight([system.look(t.program)]) for t in transitions.threads),
        Sight(feeds, ordinary.frames, fields=True),
        _sight(system.look(o.program) for o in run.callers),
    ]


def _sight(looks: Iterable[Look]) -> Sight:
    """What the programs of one thread look at."""
    ops = frozenset[Op]().union(*(look.ops for look in looks))
    return Sight(
        queue=bool(ops & {Op.TAKE, Op.PUT}), frames=Op.RECV in ops, fields=bool(ops & FIELD_OPS)
    )


def _knows_of_room(driver: Place) -> bool:
    """Whether a scheduler at this place has opened the room, or waits while it does."""
    opening = driver.operation is not None and driver.operation.kind == "open" and not driver.wide
    return driver.phase is not None and driver.phase.stage != "new" and not opening


def _stage(driver: Place) -> str:
    return driver.phase.stage if driver.phase is not None else ""


def _nothing(shared: Shared) -> Leap:
    return Leap(IDLE, (), shared, True, (), ())
