"""Fold steps: run one thread from a switch point to the next, remembering the result.

A thread's local steps cannot be seen by others, so only the points where a switch can matter
become states of the search. In the wide mode that is where a thread blocks, and the first wait or
transfer after an access to something shared; in the narrow mode every access to something shared.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlint.programs.ir import SHARED, Instr, Op
from kvlint.programs.machine import Env, Machine, Shared

BLOCKS = frozenset({Op.TAKE, Op.RECV})
VISIBLE = SHARED - {Op.FIELD_LOAD, Op.FIELD_STORE}
ENDS = frozenset({Op.END, Op.DEAD})
SHOWN = frozenset({Op.WINDOW, Op.SKIP, Op.HANDLER, Op.RAISE})
MAX_FOLD = 20_000


@dataclass(frozen=True)
class Event:
    """One executed instruction that a witness may show, and the shared state around it."""

    instr: Instr
    before: Shared
    after: Shared
    taken: int


@dataclass(frozen=True)
class Leap:
    """A run from one switch point to the next.

    `wide` says that a switch at its end needs no bad luck. `events` are the shared accesses and
    waits on the way, `decisions` the unknown choices that were made: (instruction, successor).
    """

    pc: int
    env: Env
    shared: Shared
    wide: bool
    events: tuple[Event, ...]
    decisions: tuple[tuple[Instr, int], ...]
    death: Instr | None = None


@dataclass(frozen=True)
class _Run:
    pc: int
    env: Env
    shared: Shared
    touched: bool
    waited: bool
    events: tuple[Event, ...]
    decisions: tuple[tuple[Instr, int], ...]

    @property
    def key(self) -> tuple[int, Env, Shared, bool, bool]:
        return (self.pc, self.env, self.shared, self.touched, self.waited)


class Folder:
    """The leaps of one thread."""

    def __init__(self, machine: Machine, narrow: bool) -> None:
        self.machine = machine
        self.narrow = narrow
        self.folded = 0
        self.cut = False

    def leaps(self, pc: int, env: Env, shared: Shared, feed: bool | None = None) -> list[Leap]:
        """Every way from here to the next switch point; empty if blocked or over."""
        todo = [_Run(pc, env, shared, False, False, (), ())]
        seen = {todo[0].key}
        done: dict[tuple[int, Env, Shared], Leap] = {}
        while todo and len(seen) < MAX_FOLD:
            ahead: list[_Run] = []
            for run in todo:
                self._expand(run, feed, ahead, seen, done)
            todo = ahead  # level by level, so the first way found is a shortest one
        self.folded += len(seen)
        self.cut = self.cut or bool(todo)
        return list(done.values())

    def _expand(
        self,
        run: _Run,
        feed: bool | None,
        ahead: list[_Run],
        seen: set[tuple[int, Env, Shared, bool, bool]],
        done: dict[tuple[int, Env, Shared], Leap],
    ) -> None:
        instr = self.machine.code[run.pc]
        successors = self.machine.steps(run.pc, run.env, run.shared, feed)
        if not successors:
            if run.events or run.decisions or instr.op in ENDS:
                self._stop(run, True, done)
            return
        for step in successors:
            after = self._after(run, instr, step.pc, step.env, step.shared, len(successors) > 1)
            op = self.machine.code[after.pc].op
            if op in ENDS or op in BLOCKS:
                self._stop(after, True, done)
            elif self.narrow and after.touched and op in VISIBLE:
                self._stop(after, after.waited, done)
            elif not self.narrow and after.touched and op is Op.WINDOW:
                self._stop(after, True, done)
            elif after.key not in seen:
                seen.add(after.key)
                ahead.append(after)

    @staticmethod
    def _after(
        run: _Run, instr: Instr, pc: int, env: Env, shared: Shared, chosen: bool
    ) -> _Run:
        touches = instr.op in VISIBLE
        events, decisions = run.events, run.decisions
        if touches or instr.op in SHOWN:
            events = (*events, Event(instr, run.shared, shared, pc))
        if chosen and instr.op in (Op.BRANCH, Op.CHOICE):
            decisions = (*decisions, (instr, pc))
        waited = instr.op is Op.WINDOW or (run.waited and not touches)
        return _Run(pc, env, shared, run.touched or touches, waited, events, decisions)

    def _stop(self, run: _Run, wide: bool, done: dict[tuple[int, Env, Shared], Leap]) -> None:
        instr = self.machine.code[run.pc]
        death = instr if instr.op is Op.DEAD else None
        leap = Leap(run.pc, run.env, run.shared, wide, run.events, run.decisions, death)
        done.setdefault((run.pc, run.env, run.shared), leap)
