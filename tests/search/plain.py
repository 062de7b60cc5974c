"""A plain search over the same room: every instruction is a step and a place to switch.

No folding, no memory of leaps, no numbering, no conflicts. Interruptions are counted as the engine
counts them: leaving a thread costs one unless it has ended, waits for a message or a chunk, cannot
go on, goes round for ever, or has waited since it last touched something shared; leaving it again
before its next wait costs nothing. The scheduler of a room that has failed or that it aborted may
send its next chunk or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.search.driver import Driver, Phase
from kvlint.search.macro import Leap
from kvlint.search.system import Operation, System
from kvlint.search.transitions import Run

LOCAL = frozenset({Op.FIELD_LOAD, Op.FIELD_STORE})
TOUCHES = frozenset(
    {Op.LOAD, Op.TEST, Op.STORE, Op.POP, Op.SETDEFAULT, Op.ITER, Op.LOCK, Op.UNLOCK}
    | {Op.TAKE, Op.PUT, Op.RECV}
)
WAITS = frozenset({Op.TAKE, Op.RECV, Op.END, Op.DEAD})

Key = tuple[object, ...]


@dataclass(frozen=True)
class Spot:
    """Where one thread is; the scheduler's has a phase, and an operation while it runs one.

    `left` says that the thread was interrupted since it last waited.
    """

    pc: int
    env: Env = ()
    calm: bool = True
    operation: Operation | None = None
    phase: Phase | None = None
    last: bool | None = None
    fed: bool = False
    left: bool = False


@dataclass(frozen=True)
class World:
    """One state: what is shared, who is in the middle of something, interruptions, all spots."""

    shared: Shared
    busy: int
    spent: int
    spots: tuple[Spot, ...]


class Plain:
    """The search; `bound` None means any number of interruptions."""

    def __init__(self, system: System, run: Run, bound: int | None) -> None:
        assert not run.callers
        assert all(t.kind in ("consumer", "control", "task") for t in system.threads)
        self.system, self.run, self.bound = system, run, bound
        self.machines = [system.machine(t.program, i) for i, t in enumerate(system.threads, 1)]
        number = len(self.machines) + 1
        self.operations = {o: system.machine(o.program, number) for o in system.operations}
        self.driver = Driver(system, run.chunks, run.aborts)
        self.pinned: set[Shared] = set()
        self.events: set[Key] = set()
        self.visible: set[Key] = set()  # those after which polling may tell that Failed is gone
        self.states = 0
        self._explore()

    def _explore(self) -> None:
        spots = [Spot(0, m.initial()) for m in self.machines] + [Spot(-1, phase=Phase())]
        start = World(Shared(frames=self.run.frames), -1, 0, tuple(spots))
        seen, todo = {start}, deque([start])
        while todo:
            world = todo.popleft()
            moved = False
            for who, spot, shared, instr in self._everything(world):
                assert shared.failed == self._failed_by(world, who, shared, instr)
                leaves = world.busy not in (-1, who)
                cost = self._cost(world) if leaves else None
                after = self._after(world, who, spot, shared, cost)
                changed = (shared, spot) != (world.shared, world.spots[who])
                moved = moved or (changed and not self._may_stay_away(world, who, spot))
                if self.bound is not None and after.spent > self.bound:
                    continue
                if self._watch(world, who, spot, shared, instr):
                    continue  # a thread has died: what comes after it is not asked for
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
            if not moved:
                self._judge(world)
        self.states = len(seen)

    def _failed_by(self, world: World, who: int, after: Shared, instr: Instr | None) -> int:
        """The thread that stored the last failure (threads count from 1), 0 if nobody did."""
        protocol = self.system.protocol
        stores = instr is not None and (instr.op, instr.name) == (Op.STORE, protocol.status_table)
        fails = stores and protocol.domain.is_failure(after.status)
        return who + 1 if fails else world.shared.failed

    def _may_stay_away(self, world: World, who: int, spot: Spot) -> bool:
        """Whether the step sends a chunk that a scheduler need not send: its room has failed."""
        before, after = world.spots[-1].phase, spot.phase
        if who < len(self.machines) or before is None or after is None:
            return False
        failed = before.aborted or world.shared.failed != 0
        gives_up = failed and self.run.stops_sending
        return gives_up and before.stage == "live" and after.fed > before.fed

    def _after(
        self, world: World, who: int, spot: Spot, shared: Shared, cost: bool | None
    ) -> World:
        """The state after a step; `cost` None if nobody is left for it."""
        free = self._is_free(who, spot)
        spots = list(world.spots)
        spots[who] = replace(spot, left=spot.left and not free and self.bound is not None)
        if self.bound is None:  # nothing depends on how often a thread was interrupted
            return World(shared, -1, 0, tuple(spots))
        spent = world.spent
        if cost is not None:
            spent += cost and not spots[world.busy].left
            spots[world.busy] = replace(spots[world.busy], left=cost)
        return World(shared, -1 if free else who, spent, tuple(spots))

    def _is_free(self, who: int, spot: Spot) -> bool:
        machine = self._machine(who, spot)
        waits = machine is not None and machine.code[spot.pc].op in WAITS
        return waits or spot.calm or spot.pc == -1

    def _cost(self, world: World) -> bool:
        """Whether leaving the thread that is in the middle of something interrupts it."""
        return self._can_move(world, world.busy) and not self._goes_round(world)

    def _goes_round(self, world: World) -> bool:
        """Whether that thread, left alone, comes back to where it is and never to a wait."""
        who, start = world.busy, (world.spots[world.busy], world.shared)
        seen: set[tuple[Spot, Shared]] = set()
        todo, back = [start], False
        while todo:
            spot, shared = todo.pop()
            at = World(shared, who, 0, (*world.spots[:who], spot, *world.spots[who + 1 :]))
            moves = [(to, after) for to, after, _ in self._moves(at, who)]
            if self._is_free(who, spot) or not moves:
                return False
            back = back or start in moves
            todo += [move for move in moves if move not in seen]
            seen.update(moves)
        return back

    def _machine(self, who: int, spot: Spot) -> Machine | None:
        if who < len(self.machines):
            return self.machines[who]
        if spot.operation is None:
            return None
        return self.operations[spot.operation]

    def _can_move(self, world: World, who: int) -> bool:
        return any(True for _ in self._moves(world, who))

    def _everything(self, world: World) -> Iterator[tuple[int, Spot, Shared, Instr | None]]:
        for who in range(len(world.spots)):
            for spot, shared, instr in self._moves(world, who):
                yield who, spot, shared, instr

    def _moves(self, world: World, who: int) -> Iterator[tuple[Spot, Shared, Instr | None]]:
        spot, shared = world.spots[who], world.shared
        scheduler = world.spots[-1]
        if spot.pc == -1:
            yield from self._schedule(spot, shared)
            return
        if who < len(self.machines) and self.system.threads[who].kind == "task":
            opens = scheduler.operation is not None and scheduler.operation.kind == "open"
            opening = opens and not scheduler.calm
            if opening or scheduler.phase is None or scheduler.phase.stage == "new":
                return
        yield from self._steps(who, spot, shared)

    def _steps(
        self, who: int, spot: Spot, shared: Shared
    ) -> Iterator[tuple[Spot, Shared, Instr | None]]:
        machine = self._machine(who, spot)
        assert machine is not None
        instr = machine.code[spot.pc]
        for step in machine.steps(spot.pc, spot.env, shared, spot.last):
            calm = instr.op is Op.WINDOW or (spot.calm and instr.op not in TOUCHES)
            after = replace(spot, pc=step.pc, env=step.env, calm=calm)
            after = replace(after, fed=spot.fed or instr.op is Op.PUT)
            if spot.operation is not None:
                over = machine.code[step.pc].op in (Op.END, Op.DEAD)
                leap = Leap(step.pc, step.env, step.shared, True, (), ())
                if not self.driver.meant(spot.operation, spot.last, leap, shared, over, spot.fed):
                    continue
                if over:
                    after = Spot(-1, phase=spot.phase)
            yield after, step.shared, instr

    def _schedule(self, spot: Spot, shared: Shared) -> Iterator[tuple[Spot, Shared, Instr | None]]:
        phase = spot.phase
        assert phase is not None
        if phase.stage == "live" and shared.status is not None:
            if self.driver.ends_now(shared):
                yield Spot(-1, phase=replace(phase, stage="over")), shared, None
            if self.driver.direct and phase.fed < self.run.chunks and self.driver.ready(shared):
                fed = replace(phase, fed=phase.fed + 1)
                queue = (*shared.queue, fed.fed == self.run.chunks)
                yield Spot(-1, phase=fed), shared.having(queue=queue), None
        for move in self.driver.moves(phase, shared):
            machine = self.operations[move.operation]
            begun = Spot(0, machine.initial(), False, move.operation, move.after, move.last)
            yield from self._steps(len(self.machines), begun, shared)

    def _watch(
        self, world: World, who: int, spot: Spot, after: Shared, instr: Instr | None
    ) -> bool:
        """Note what is bad in a step, by kind, place and the status left; whether a thread died."""
        domain, thread = self.system.protocol.domain, who < len(self.machines)
        before, now = world.shared.status, after.status
        phase = world.spots[-1].phase
        if instr is not None and now is not None and before is not now:
            revived = domain.is_failure(before) and not domain.is_failure(now)
            if revived and not self._takes_back(world, who):
                self._bad(("resurrected", place_of(instr), now), phase, after)
            elif before is None and thread and phase is not None and phase.stage != "new":
                self._bad(("zombie", place_of(instr), now), phase, after)
        died = thread and self.machines[who].code[spot.pc].op is Op.DEAD
        if died:
            self.events.add(("dead-thread", place_of(self.machines[who].code[spot.pc]), None))
        return died

    def _bad(self, key: Key, phase: Phase | None, after: Shared) -> None:
        self.events.add(key)
        polled = phase is not None and phase.stage != "gone"
        domain = self.system.protocol.domain
        if polled and any(not domain.is_failure(v) for v in self.driver.view(after)):
            self.visible.add(key)

    def _takes_back(self, world: World, who: int) -> bool:
        """Whether a worker revives a room that nobody but itself had failed."""
        works = who < len(self.machines) and self.system.threads[who].kind == "consumer"
        return works and world.shared.failed == who + 1

    def _judge(self, world: World) -> None:
        """Nobody must move: fine if the scheduler is through or polling says that it is over."""
        scheduler = world.spots[-1]
        if scheduler.pc != -1 or scheduler.phase is None or scheduler.phase.stage == "new":
            return
        if scheduler.phase.stage in ("over", "gone") or self.driver.sees_end(world.shared):
            return
        if world.shared.status is not None:
            self.pinned.add(world.shared)


def place_of(instr: Instr) -> Key:
    """An instruction's place in the source with its call sites."""
    return (id(instr.where.node), *(id(w.node) for w in instr.stack))
