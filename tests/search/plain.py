"""A plain search over the same room: every instruction is a step and a place to switch.

No folding, no memory of macro-steps, no numbering, no conflicts. Interruptions are counted as the
engine counts them: leaving a thread costs one unless it has ended, waits for a message or a chunk,
cannot go on, goes round for ever, or has waited since it last touched something shared; leaving it
again before its next wait costs nothing. The scheduler of a room that has failed or that it aborted
may send its next chunk or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.search.driver import Driver, Phase
from kvlint.search.macro_steps import MacroStep
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
class StepKey:
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
class SharedId:
    """One state: what is shared, who is in the middle of something, interruptions, all keys."""

    shared: Shared
    busy: int
    spent: int
    keys: tuple[StepKey, ...]


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
        keys = [StepKey(0, m.initial()) for m in self.machines] + [StepKey(-1, phase=Phase())]
        start = SharedId(Shared(frames=self.run.frames), -1, 0, tuple(keys))
        seen, todo = {start}, deque([start])
        while todo:
            shared_id = todo.popleft()
            moved = False
            for who, key, shared, instr in self._everything(shared_id):
                assert shared.failed == self._failed_by(shared_id, who, shared, instr)
                leaves = shared_id.busy not in (-1, who)
                cost = self._cost(shared_id) if leaves else None
                after = self._after(shared_id, who, key, shared, cost)
                changed = (shared, key) != (shared_id.shared, shared_id.keys[who])
                moved = moved or (changed and not self._may_stay_away(shared_id, who, key))
                if self.bound is not None and after.spent > self.bound:
                    continue
                if self._watch(shared_id, who, key, shared, instr):
                    continue  # a thread has died: what comes after it is not asked for
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
            if not moved:
                self._judge(shared_id)
        self.states = len(seen)

    def _failed_by(self, shared_id: SharedId, who: int, after: Shared, instr: Instr | None) -> int:
        """The thread that stored the last failure (threads count from 1), 0 if nobody did."""
        protocol = self.system.protocol
        stores = instr is not None and (instr.op, instr.name) == (Op.STORE, protocol.status_table)
        fails = stores and protocol.domain.is_failure(after.status)
        return who + 1 if fails else shared_id.shared.failed

    def _may_stay_away(self, shared_id: SharedId, who: int, key: StepKey) -> bool:
        """Whether the step sends a chunk that a scheduler need not send: its room has failed."""
        before, after = shared_id.keys[-1].phase, key.phase
        if who < len(self.machines) or before is None or after is None:
            return False
        failed = before.aborted or shared_id.shared.failed != 0
        gives_up = failed and self.run.stops_sending
        return gives_up and before.stage == "live" and after.fed > before.fed

    def _after(
        self, shared_id: SharedId, who: int, key: StepKey, shared: Shared, cost: bool | None
    ) -> SharedId:
        """The state after a step; `cost` None if nobody is left for it."""
        free = self._is_free(who, key)
        keys = list(shared_id.keys)
        keys[who] = replace(key, left=key.left and not free and self.bound is not None)
        if self.bound is None:  # nothing depends on how often a thread was interrupted
            return SharedId(shared, -1, 0, tuple(keys))
        spent = shared_id.spent
        if cost is not None:
            spent += cost and not keys[shared_id.busy].left
            keys[shared_id.busy] = replace(keys[shared_id.busy], left=cost)
        return SharedId(shared, -1 if free else who, spent, tuple(keys))

    def _is_free(self, who: int, key: StepKey) -> bool:
        machine = self._machine(who, key)
        waits = machine is not None and machine.code[key.pc].op in WAITS
        return waits or key.calm or key.pc == -1

    def _cost(self, shared_id: SharedId) -> bool:
        """Whether leaving the thread that is in the middle of something interrupts it."""
        return self._can_move(shared_id, shared_id.busy) and not self._goes_round(shared_id)

    def _goes_round(self, shared_id: SharedId) -> bool:
        """Whether that thread, left alone, comes back to where it is and never to a wait."""
        who, start = shared_id.busy, (shared_id.keys[shared_id.busy], shared_id.shared)
        seen: set[tuple[StepKey, Shared]] = set()
        todo, back = [start], False
        while todo:
            key, shared = todo.pop()
            at = SharedId(shared, who, 0, (*shared_id.keys[:who], key, *shared_id.keys[who + 1 :]))
            moves = [(to, after) for to, after, _ in self._moves(at, who)]
            if self._is_free(who, key) or not moves:
                return False
            back = back or start in moves
            todo += [move for move in moves if move not in seen]
            seen.update(moves)
        return back

    def _machine(self, who: int, key: StepKey) -> Machine | None:
        if who < len(self.machines):
            return self.machines[who]
        if key.operation is None:
            return None
        return self.operations[key.operation]

    def _can_move(self, shared_id: SharedId, who: int) -> bool:
        return any(True for _ in self._moves(shared_id, who))

    def _everything(
        self, shared_id: SharedId
    ) -> Iterator[tuple[int, StepKey, Shared, Instr | None]]:
        for who in range(len(shared_id.keys)):
            for key, shared, instr in self._moves(shared_id, who):
                yield who, key, shared, instr

    def _moves(
        self, shared_id: SharedId, who: int
    ) -> Iterator[tuple[StepKey, Shared, Instr | None]]:
        key, shared = shared_id.keys[who], shared_id.shared
        scheduler = shared_id.keys[-1]
        if key.pc == -1:
            yield from self._schedule(key, shared)
            return
        if who < len(self.machines) and self.system.threads[who].kind == "task":
            opens = scheduler.operation is not None and scheduler.operation.kind == "open"
            opening = opens and not scheduler.calm
            if opening or scheduler.phase is None or scheduler.phase.stage == "new":
                return
        yield from self._steps(who, key, shared)

    def _steps(
        self, who: int, key: StepKey, shared: Shared
    ) -> Iterator[tuple[StepKey, Shared, Instr | None]]:
        machine = self._machine(who, key)
        assert machine is not None
        instr = machine.code[key.pc]
        for step in machine.steps(key.pc, key.env, shared, key.last):
            calm = instr.op is Op.WINDOW or (key.calm and instr.op not in TOUCHES)
            after = replace(key, pc=step.pc, env=step.env, calm=calm)
            after = replace(after, fed=key.fed or instr.op is Op.PUT)
            if key.operation is not None:
                over = machine.code[step.pc].op in (Op.END, Op.DEAD)
                macro_step = MacroStep(step.pc, step.env, step.shared, True, (), ())
                if not self.driver.meant(
                    key.operation, key.last, macro_step, shared, over, key.fed
                ):
                    continue
                if over:
                    after = StepKey(-1, phase=key.phase)
            yield after, step.shared, instr

    def _schedule(
        self, key: StepKey, shared: Shared
    ) -> Iterator[tuple[StepKey, Shared, Instr | None]]:
        phase = key.phase
        assert phase is not None
        if phase.stage == "live" and shared.status is not None:
            if self.driver.ends_now(shared):
                yield StepKey(-1, phase=replace(phase, stage="over")), shared, None
            if self.driver.direct and phase.fed < self.run.chunks and self.driver.ready(shared):
                fed = replace(phase, fed=phase.fed + 1)
                queue = (*shared.queue, fed.fed == self.run.chunks)
                yield StepKey(-1, phase=fed), shared.having(queue=queue), None
        for move in self.driver.moves(phase, shared):
            machine = self.operations[move.operation]
            begun = StepKey(0, machine.initial(), False, move.operation, move.after, move.last)
            yield from self._steps(len(self.machines), begun, shared)

    def _watch(
        self, shared_id: SharedId, who: int, key: StepKey, after: Shared, instr: Instr | None
    ) -> bool:
        """Note what is bad in a step, by kind, place and the status left; whether a thread died."""
        domain, thread = self.system.protocol.domain, who < len(self.machines)
        before, now = shared_id.shared.status, after.status
        phase = shared_id.keys[-1].phase
        if instr is not None and now is not None and before is not now:
            revived = domain.is_failure(before) and not domain.is_failure(now)
            if revived and not self._takes_back(shared_id, who):
                self._bad(("resurrected", place_of(instr), now), phase, after)
            elif before is None and thread and phase is not None and phase.stage != "new":
                self._bad(("zombie", place_of(instr), now), phase, after)
        died = thread and self.machines[who].code[key.pc].op is Op.DEAD
        if died:
            self.events.add(("dead-thread", place_of(self.machines[who].code[key.pc]), None))
        return died

    def _bad(self, key: Key, phase: Phase | None, after: Shared) -> None:
        self.events.add(key)
        polled = phase is not None and phase.stage != "gone"
        domain = self.system.protocol.domain
        if polled and any(not domain.is_failure(v) for v in self.driver.view(after)):
            self.visible.add(key)

    def _takes_back(self, shared_id: SharedId, who: int) -> bool:
        """Whether a worker revives a room that nobody but itself had failed."""
        works = who < len(self.machines) and self.system.threads[who].kind == "consumer"
        return works and shared_id.shared.failed == who + 1

    def _judge(self, shared_id: SharedId) -> None:
        """Nobody must move: fine if the scheduler is through or polling says that it is over."""
        scheduler = shared_id.keys[-1]
        if scheduler.pc != -1 or scheduler.phase is None or scheduler.phase.stage == "new":
            return
        if scheduler.phase.stage in ("over", "gone") or self.driver.sees_end(shared_id.shared):
            return
        if shared_id.shared.status is not None:
            self.pinned.add(shared_id.shared)


def place_of(instr: Instr) -> Key:
    """An instruction's place in the source with its call sites."""
    return (id(instr.where.node), *(id(w.node) for w in instr.stack))
