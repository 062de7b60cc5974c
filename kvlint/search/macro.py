"""Fold steps: run one thread from a switch point to the next, remembering the result.

A thread's local steps cannot be seen by others, so only the points where a switch is possible
become states of the search: waits and transfers in the wide mode, every access to something shared
in the narrow mode.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlint.programs.ir import SHARED, Op
from kvlint.programs.machine import Env, Machine, Shared

WIDE_STOPS = frozenset({Op.TAKE, Op.RECV, Op.WINDOW})
NARROW_STOPS = SHARED | {Op.WINDOW}
ENDS = frozenset({Op.END, Op.DEAD})
MAX_FOLD = 4000


@dataclass(frozen=True)
class Event:
    """One executed instruction that a witness shows: where, and the shared state around it."""

    pc: int
    before: Shared
    after: Shared
    taken: int


@dataclass(frozen=True)
class Leap:
    """A run from one switch point to the next.

    `events` are the shared accesses on the way, `decisions` the unknown choices that were made:
    (pc, successor).
    """

    pc: int
    env: Env
    shared: Shared
    events: tuple[Event, ...]
    decisions: tuple[tuple[int, int], ...]


class Folder:
    """Memoised leaps of one thread."""

    def __init__(self, machine: Machine, narrow: bool) -> None:
        self.machine = machine
        self.stops = NARROW_STOPS if narrow else WIDE_STOPS
        self.memo: dict[tuple[int, Env, Shared, bool | None], tuple[Leap, ...]] = {}
        self.folded = 0

    def is_wide(self, pc: int) -> bool:
        """Whether a switch before this instruction needs no bad luck."""
        return self.machine.code[pc].op in WIDE_STOPS or self.machine.code[pc].op in ENDS

    def leaps(self, pc: int, env: Env, shared: Shared, feed: bool | None = None) -> tuple[Leap, ...]:
        """Every way from here to the next switch point; empty if blocked or over."""
        key = (pc, env, shared, feed)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = tuple(self._run(pc, env, shared, feed))
        return found

    def _run(self, pc: int, env: Env, shared: Shared, feed: bool | None) -> list[Leap]:
        code = self.machine.code
        start = Leap(pc, env, shared, (), ())
        todo = [start]
        seen: set[tuple[int, Env, Shared, bool]] = set()
        done: dict[tuple[int, Env, Shared], Leap] = {}
        first = True
        while todo and len(seen) < MAX_FOLD:
            now = todo.pop(0)
            instr = code[now.pc]
            if not first and (instr.op in self.stops or instr.op in ENDS):
                done.setdefault((now.pc, now.env, now.shared), now)
                continue
            successors = self.machine.steps(now.pc, now.env, now.shared, feed)
            if not successors and not first:
                done.setdefault((now.pc, now.env, now.shared), now)  # a lock is taken
                continue
            first = False
            for step in successors:
                key = (step.pc, step.env, step.shared, bool(now.events))
                if key in seen:
                    continue
                seen.add(key)
                events, decisions = now.events, now.decisions
                if instr.op in SHARED or instr.op is Op.WINDOW:
                    events = (*events, Event(now.pc, now.shared, step.shared, step.pc))
                if len(successors) > 1 and instr.op in (Op.BRANCH, Op.CHOICE):
                    decisions = (*decisions, (now.pc, step.pc))
                todo.append(Leap(step.pc, step.env, step.shared, events, decisions))
        self.folded += len(seen)
        return list(done.values())
