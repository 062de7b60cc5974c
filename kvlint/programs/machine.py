"""Run programs: what one instruction does to its locals and to the shared state.

Everything is over-approximated: an operand that is not known lets a branch go both ways and a
store of an unknown status gives every member.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kvlint.programs.answers import answer
from kvlint.programs.ir import (
    EITHER,
    PRESENT,
    SHARED,
    UNKNOWN,
    Const,
    Instr,
    Op,
    Operand,
    Program,
    Var,
)
from kvlint.programs.slots import slots_of
from kvlint.protocol.domain import Member, StatusDomain

Queued = bool | tuple[str, bool]


@dataclass(frozen=True)
class Outside:
    """Something for this room from a queue that nobody in this tree feeds."""

    queue: str

    def __str__(self) -> str:
        return f"what `{self.queue}` brings"


class Shared(NamedTuple):
    """What all threads see: one room.

    `status` is None while the room is absent. `sides` names the side tables that have it,
    `fields` the per-request fields of its holder, `locks` (name, owner, depth), `queue` the chunks
    put and not taken (True for the last; with its name in front for a queue that the scheduler does
    not feed), `frames` the messages still to come, `failed` the thread that last made the room fail
    (0: none).
    """

    status: Member | None = None
    sides: frozenset[str] = frozenset()
    fields: tuple[tuple[str, object], ...] = ()
    locks: tuple[tuple[str, int, int], ...] = ()
    queue: tuple[Queued, ...] = ()
    frames: frozenset[object] = frozenset()
    failed: int = 0

    def having(
        self,
        *,
        status: object = ...,
        sides: frozenset[str] | None = None,
        fields: tuple[tuple[str, object], ...] | None = None,
        locks: tuple[tuple[str, int, int], ...] | None = None,
        queue: tuple[Queued, ...] | None = None,
        frames: frozenset[object] | None = None,
        failed: int | None = None,
    ) -> Shared:
        """A copy with parts replaced."""
        return Shared(
            self.status if status is ... else status,  # type: ignore[arg-type]
            self.sides if sides is None else sides,
            self.fields if fields is None else fields,
            self.locks if locks is None else locks,
            self.queue if queue is None else queue,
            self.frames if frames is None else frames,
            self.failed if failed is None else failed,
        )

    def field(self, name: str) -> object:
        """The value of a per-request field; unknown until something is written."""
        for key, value in self.fields:
            if key == name:
                return value
        return UNKNOWN


Env = tuple[object, ...]


class Step(NamedTuple):
    """One successor: where the thread goes on, its locals, and the shared state after."""

    pc: int
    env: Env
    shared: Shared


class Machine:
    """The semantics of one program for one thread."""

    def __init__(
        self,
        program: Program,
        domain: StatusDomain,
        status_table: str,
        tracked: frozenset[str],
        thread: int = 1,
        main_queues: frozenset[str] | None = None,
    ) -> None:
        self.program = program
        self.code = program.code
        self.domain = domain
        self.status_table = status_table
        self.tracked = tracked
        self.thread = thread
        self.main_queues = main_queues
        self.slots, self.live = slots_of(program)
        self.size = max(self.slots.values(), default=-1) + 1
        self._dead: dict[tuple[int, int], tuple[int, ...]] = {}
        self._local: dict[tuple[int, Env], tuple[tuple[int, Env], ...]] = {}

    def initial(self) -> Env:
        """Locals before the first instruction."""
        return (None,) * self.size

    # -- one step --------------------------------------------------------------------

    def steps(self, pc: int, env: Env, shared: Shared, feed: bool | None = None) -> list[Step]:
        """Every successor; empty if the instruction is blocked or the program is over.

        `feed` says whether a chunk that a feeder puts is the last one.
        """
        instr = self.code[pc]
        if instr.op not in SHARED:
            return [Step(to, after, shared) for to, after in self.local(pc, env)]
        return [
            Step(to, self._forget(pc, to, after), state)
            for to, after, state in self._access(instr, env, shared, feed)
        ]

    def local(self, pc: int, env: Env) -> tuple[tuple[int, Env], ...]:
        """Every successor of an instruction that looks at nothing shared, with the locals there.

        Asked for again and again, and always the same.
        """
        key = (pc, env)
        found = self._local.get(key)
        if found is None:
            ways = self._alone(self.code[pc], env)
            found = tuple([(to, self._forget(pc, to, after)) for to, after in ways])
            self._local[key] = found
        return found

    def _forget(self, pc: int, to: int, env: Env) -> Env:
        """Locals without those that nothing reads any more, so that equal futures compare equal."""
        key = (pc, to)
        dead = self._dead.get(key)
        if dead is None:
            instr = self.code[pc]
            mine = self.live[pc]
            if instr.dst is not None:
                mine |= 1 << self.slots[instr.dst]
            mine &= ~self.live[to]
            dead = tuple(slot for slot in range(self.size) if mine >> slot & 1)
            self._dead[key] = dead
        if not dead:
            return env
        kept = list(env)
        for slot in dead:
            kept[slot] = None
        return tuple(kept)

    def get(self, operand: Operand, env: Env) -> object:
        """The value of an operand."""
        return operand.value if isinstance(operand, Const) else env[self.slots[operand.name]]

    def put(self, instr: Instr, env: Env, value: object) -> Env:
        """Locals with the destination of `instr` set."""
        if instr.dst is None:
            return env
        slot = self.slots[instr.dst]
        return (*env[:slot], value, *env[slot + 1 :])

    def _alone(self, instr: Instr, env: Env) -> Iterator[tuple[int, Env]]:
        """What an instruction does that looks at locals only."""
        op = instr.op
        if op is Op.BRANCH:
            for answer in _both(self.decide(instr, env)):
                to = instr.next if answer else instr.alt
                yield to, self._learn(instr, env) if answer else env
        elif op is Op.SET:
            yield instr.next, self.put(instr, env, self.get(instr.args[0], env))
        elif op in (Op.MAX, Op.MIN):
            yield instr.next, self.put(instr, env, self._extreme(instr, env))
        elif op is Op.CHUNK_FIELD:
            given = self.get(instr.args[0], env)
            value = given if isinstance(given, bool) else UNKNOWN
            yield instr.next, self.put(instr, env, value)
        elif op is Op.CHOICE:
            yield instr.next, env
            for target in instr.targets:
                yield target, env
        elif op not in (Op.DEAD, Op.END):
            yield instr.next, env

    def _access(
        self, instr: Instr, env: Env, shared: Shared, feed: bool | None
    ) -> Iterator[tuple[int, Env, Shared]]:
        """What an instruction does that looks at what all threads see, or changes it."""
        op = instr.op
        if op in _TABLE_OPS:
            yield from self._table(instr, env, shared)
        elif op in (Op.LOCK, Op.UNLOCK):
            yield from self._lock(instr, env, shared)
        elif op in (Op.TAKE, Op.PUT, Op.RECV):
            yield from self._queue(instr, env, shared, feed)
        elif op is Op.FIELD_STORE:
            yield instr.next, env, _noted(instr, self.get(instr.args[0], env), shared)
        else:
            value = shared.field(instr.name)
            if value is not EITHER:
                yield instr.next, self.put(instr, env, value), shared
            else:
                for answer in (True, False):
                    yield instr.next, self.put(instr, env, answer), _noted(instr, answer, shared)

    def _learn(self, instr: Instr, env: Env) -> Env:
        """After `x == Member` an unknown x is that member."""
        if instr.cond != "equal":
            return env
        for left, right in (instr.args, instr.args[::-1]):
            if isinstance(left, Var) and isinstance(right, Const):
                slot = self.slots[left.name]
                if env[slot] is UNKNOWN and isinstance(right.value, Member):
                    return (*env[:slot], right.value, *env[slot + 1 :])
        return env

    def _extreme(self, instr: Instr, env: Env) -> object:
        values = [self.get(a, env) for a in instr.args]
        if not all(isinstance(v, Member) for v in values):
            return UNKNOWN
        members = [v for v in values if isinstance(v, Member)]
        pick = max if instr.op is Op.MAX else min
        try:
            return pick(members, key=lambda m: m.value)
        except TypeError:  # of an enum with values of several types
            return UNKNOWN

    # -- tables ----------------------------------------------------------------------

    def _table(self, instr: Instr, env: Env, shared: Shared) -> Iterator[tuple[int, Env, Shared]]:
        if instr.op is Op.ITER or instr.note == "inner":
            yield instr.next, env, shared
        elif instr.name not in self.tracked:
            yield from self._untracked(instr, env, shared)
        elif instr.op is Op.TEST:
            yield (instr.next if self._has(instr, shared) else instr.alt), env, shared
        elif instr.op in (Op.LOAD, Op.POP):
            yield from self._read(instr, env, shared)
        elif instr.op is Op.STORE:
            for state in self._written(instr, self.get(instr.args[0], env), shared):
                yield instr.next, env, state
        else:
            yield from self._setdefault(instr, env, shared)

    def _untracked(
        self, instr: Instr, env: Env, shared: Shared
    ) -> Iterator[tuple[int, Env, Shared]]:
        after = self.put(instr, env, UNKNOWN)
        yield instr.next, after, shared
        if instr.op is Op.TEST:
            yield instr.alt, after, shared

    def _has(self, instr: Instr, shared: Shared) -> bool:
        if instr.name == self.status_table:
            return shared.status is not None
        return instr.name in shared.sides

    def _read(self, instr: Instr, env: Env, shared: Shared) -> Iterator[tuple[int, Env, Shared]]:
        if not self._has(instr, shared):
            if instr.alt >= 0:
                yield instr.alt, env, shared
            else:
                default = self.get(instr.args[0], env) if instr.args else None
                yield instr.next, self.put(instr, env, default), shared
            return
        is_status = instr.name == self.status_table
        value: object = shared.status if is_status else PRESENT
        if instr.op is Op.POP:
            if is_status:
                shared = shared.having(status=None)
            else:
                shared = shared.having(sides=shared.sides - {instr.name})
        yield instr.next, self.put(instr, env, value), shared

    def _written(self, instr: Instr, value: object, shared: Shared) -> Iterator[Shared]:
        if instr.name != self.status_table:
            yield shared.having(sides=shared.sides | {instr.name})
        elif isinstance(value, Member):
            failed = self.thread if self.domain.is_failure(value) else shared.failed
            yield shared.having(status=value, failed=failed)
        else:
            known = self.domain.of_value(value)
            members: Iterable[Member] = (known,) if known else self.domain.members
            for member in members:
                failed = self.thread if self.domain.is_failure(member) else shared.failed
                yield shared.having(status=member, failed=failed)

    def _setdefault(
        self, instr: Instr, env: Env, shared: Shared
    ) -> Iterator[tuple[int, Env, Shared]]:
        states: Iterable[Shared] = (shared,)
        if not self._has(instr, shared):
            states = self._written(instr, self.get(instr.args[0], env), shared)
        for state in states:
            value: object = state.status if instr.name == self.status_table else PRESENT
            yield instr.next, self.put(instr, env, value), state

    # -- locks, queues, messages -----------------------------------------------------

    def _lock(self, instr: Instr, env: Env, shared: Shared) -> Iterator[tuple[int, Env, Shared]]:
        held = next((k for k in shared.locks if k[0] == instr.name), None)
        others = tuple(k for k in shared.locks if k is not held)
        if instr.op is Op.LOCK:
            if held is not None and held[1] != self.thread:
                return
            depth = held[2] + 1 if held else 1
            locks = tuple(sorted((*others, (instr.name, self.thread, depth))))
        else:
            depth = held[2] - 1 if held else 0
            kept = ((instr.name, self.thread, depth),) if depth > 0 else ()
            locks = tuple(sorted((*others, *kept)))
        yield instr.next, env, shared.having(locks=locks)

    def _queue(
        self, instr: Instr, env: Env, shared: Shared, feed: bool | None
    ) -> Iterator[tuple[int, Env, Shared]]:
        if instr.op is Op.TAKE:
            for i, first in enumerate(shared.queue):
                if self._queue_of(first) == self._queue_name(instr):
                    chunk = first if isinstance(first, bool) else first[1]
                    rest = (*shared.queue[:i], *shared.queue[i + 1 :])
                    yield instr.next, self.put(instr, env, chunk), shared.having(queue=rest)
                    break
        elif instr.op is Op.PUT:
            given = self.get(instr.args[0], env)
            last = given if isinstance(given, bool) else bool(feed)
            name = self._queue_name(instr)
            item: Queued = (name, last) if name else last
            yield instr.next, env, shared.having(queue=(*shared.queue, item))
        else:
            for frame in sorted(shared.frames, key=str):
                outside = isinstance(frame, Outside)
                if instr.name != (frame.queue if isinstance(frame, Outside) else ""):
                    continue
                after = self.put(instr, env, UNKNOWN if outside else frame)
                yield instr.next, after, shared.having(frames=shared.frames - {frame})

    def _queue_name(self, instr: Instr) -> str:
        """Which queue an instruction means; empty for the one that the scheduler feeds."""
        if self.main_queues is None or instr.name in self.main_queues:
            return ""
        return instr.name

    @staticmethod
    def _queue_of(item: Queued) -> str:
        return "" if isinstance(item, bool) else item[0]

    # -- conditions ------------------------------------------------------------------

    def decide(self, instr: Instr, env: Env) -> bool | None:
        """What a branch condition is worth; None if it cannot be told."""
        return answer(instr.cond, [self.get(arg, env) for arg in instr.args])


_TABLE_OPS = frozenset({Op.LOAD, Op.TEST, Op.STORE, Op.POP, Op.SETDEFAULT, Op.ITER})


def _noted(instr: Instr, value: object, shared: Shared) -> Shared:
    """The shared state when a field has this value."""
    others = tuple(f for f in shared.fields if f[0] != instr.name)
    fields = tuple(sorted((*others, (instr.name, value)), key=lambda f: f[0]))
    return shared.having(fields=fields)


def _both(answer: bool | None) -> tuple[bool, ...]:
    return (True, False) if answer is None else (answer,)
