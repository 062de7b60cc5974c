"""Macro-steps: run one thread from a switch point to the next, remembering the result.

A thread's local steps cannot be seen by others, so only the points where a switch can matter
become states of the search. In the wide mode that is where a thread blocks, and the first wait or
transfer after an access to something shared; in the narrow mode every access to something shared.

Local steps do not depend on the shared state, so the way from one access to the next is worked out
once per place; and a macro-step is worked out once per part of the shared state that the thread
looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvlint.programs.ir import EITHER, SHARED, Instr, Op
from kvlint.programs.machine import Env, Machine, Shared, Step

BLOCKS = frozenset({Op.TAKE, Op.RECV})
FIELDS = frozenset({Op.FIELD_LOAD, Op.FIELD_STORE})
VISIBLE = SHARED - FIELDS
ENDS = frozenset({Op.END, Op.DEAD})
SHOWN = frozenset({Op.WINDOW, Op.SKIP, Op.HANDLER, Op.RAISE})
STOPS = SHARED | ENDS
CHOOSES = frozenset({Op.BRANCH, Op.CHOICE})
MAX_LOCAL_STEPS = 20_000

Decision = tuple[Instr | str, int]


class Event(NamedTuple):
    """One executed instruction that a witness may show, and the shared state around it."""

    instr: Instr
    before: Shared
    after: Shared
    taken: int


@dataclass(slots=True)
class MacroStep:
    """A run from one switch point to the next.

    `wide` says that a switch at its end needs no bad luck, `waiting` that the thread is then in
    one of the waits or transfers that follow the last access. `events` are the shared accesses and
    waits on the way, `decisions` the unknown choices that were made: (instruction, successor); for
    a field that had been left open, (its name, truth), whoever was the first to look.
    """

    pc: int
    env: Env
    shared: Shared
    wide: bool
    events: tuple[Event, ...]
    decisions: tuple[Decision, ...]
    death: Instr | None = None
    waiting: bool = False


@dataclass(slots=True)
class LocalPath:
    """The local way from one place to the next access, wait or end."""

    pc: int
    env: Env
    waited: bool
    shown: tuple[tuple[Instr, int], ...]
    decisions: tuple[Decision, ...]


_Way = tuple[
    int, Env, bool, tuple[tuple[Instr, int], ...], tuple[Decision, ...]
]  # a local path, begun


class _Run:
    """A macro-step under way."""

    __slots__ = ("decisions", "env", "events", "pc", "shared", "touched", "waited")

    def __init__(
        self,
        pc: int,
        env: Env,
        shared: Shared,
        touched: bool,
        waited: bool,
        events: tuple[Event, ...],
        decisions: tuple[Decision, ...],
    ) -> None:
        self.pc, self.env, self.shared = pc, env, shared
        self.touched, self.waited = touched, waited
        self.events, self.decisions = events, decisions


class Stepper:
    """The macro-steps of one thread through one program.

    `twin` is the stepper of the other pass; local ways are the same in both.
    """

    def __init__(self, machine: Machine, narrow: bool, twin: Stepper | None = None) -> None:
        self.machine = machine
        self.narrow = narrow
        self.cut = False
        ops = {instr.op for instr in machine.code}
        self._reads_frames = Op.RECV in ops
        self.reads_fields = bool(ops & FIELDS)
        self._reads_queue = bool(ops & {Op.TAKE, Op.PUT})
        self._local_paths: dict[tuple[int, Env], tuple[LocalPath, ...]] = (
            {} if twin is None else twin._local_paths
        )
        self._macro_steps: dict[tuple[int, Env, Shared, bool | None, bool], list[MacroStep]] = {}

    def macro_steps(
        self,
        pc: int,
        env: Env,
        shared: Shared,
        feed: bool | None = None,
        waiting: bool = False,
    ) -> list[MacroStep]:
        """Every way from here to the next switch point; empty if blocked or over.

        The events of a macro-step show the shared state without the parts that the program never
        looks at.
        """
        key = (pc, env, self.seen_of(shared), feed, waiting)
        found = self._macro_steps.get(key)
        if found is None:
            found = self._macro_steps[key] = self.expand(pc, env, key[2], feed, waiting)
        if key[2] == shared:
            return found
        return [
            MacroStep(
                macro_step.pc,
                macro_step.env,
                self._complete(macro_step.shared, shared),
                macro_step.wide,
                macro_step.events,
                macro_step.decisions,
                macro_step.death,
                macro_step.waiting,
            )
            for macro_step in found
        ]

    def seen_of(self, shared: Shared) -> Shared:
        """The part of the shared state that the program can look at."""
        return Shared(
            shared.status,
            shared.sides,
            shared.fields if self.reads_fields else (),
            shared.locks,
            shared.queue if self._reads_queue else (),
            shared.frames if self._reads_frames else frozenset(),
            shared.failed,
        )

    def _complete(self, seen: Shared, before: Shared) -> Shared:
        """A shared state of a macro-step with the parts that the program cannot have changed."""
        return Shared(
            seen.status,
            seen.sides,
            seen.fields if self.reads_fields else before.fields,
            seen.locks,
            seen.queue if self._reads_queue else before.queue,
            seen.frames if self._reads_frames else before.frames,
            seen.failed,
        )

    # -- local ways ------------------------------------------------------------------

    def local_paths(self, pc: int, env: Env) -> tuple[LocalPath, ...]:
        """The local ways on from a place, waits included, to the next access or end."""
        found = self._local_paths.get((pc, env))
        if found is None:
            found = self._local_paths[pc, env] = tuple(self._walk(pc, env))
        return found

    def _walk(self, pc: int, env: Env) -> list[LocalPath]:
        code, local = self.machine.code, self.machine.local
        todo: list[_Way] = [(pc, env, False, (), ())]
        seen = {(pc, env, False)}
        ends: list[LocalPath] = []
        while todo and len(seen) < MAX_LOCAL_STEPS:
            ahead: list[_Way] = []
            for way in todo:
                pc, env, waited, shown, decisions = way
                instr = code[pc]
                if instr.op in STOPS:
                    ends.append(LocalPath(*way))
                    continue
                steps = local(pc, env)
                chosen = len(steps) > 1 and instr.op in CHOOSES
                waited = waited or instr.op is Op.WINDOW
                for to, after in steps:
                    key = (to, after, waited)
                    if key in seen:
                        continue
                    seen.add(key)
                    choice = (instr, to)
                    ahead.append(
                        (
                            to,
                            after,
                            waited,
                            (*shown, choice) if instr.op in SHOWN else shown,
                            (*decisions, choice) if chosen else decisions,
                        )
                    )
            todo = ahead  # level by level, so the first way found is a shortest one
        self.cut = self.cut or bool(todo)
        return ends

    # -- macro-steps -----------------------------------------------------------------------

    def expand(
        self,
        pc: int,
        env: Env,
        shared: Shared,
        feed: bool | None = None,
        waiting: bool = False,
    ) -> list[MacroStep]:
        """`macro_steps` without memory, for a shared state cut down to what the program reads."""
        if self.narrow and not waiting and self.machine.code[pc].op in VISIBLE:
            found = self._one_access(pc, env, shared, feed)
            if found is not None:
                return found
        start = _Run(pc, env, shared, False, False, (), ())
        done: _Done = {}
        seen: _Seen = set()
        if waiting or self.machine.code[pc].op not in STOPS:
            todo = self._onward(start, pc, env, shared, done, seen, waiting)
        else:
            todo = [start]
        first = True
        while todo and len(seen) < MAX_LOCAL_STEPS:
            ahead: list[_Run] = []
            for run in todo:
                ahead += self._execute(run, feed, done, seen, first and run is start)
            first = False
            todo = ahead
        self.cut = self.cut or bool(todo)
        return list(done.values())

    def _one_access(
        self, pc: int, env: Env, shared: Shared, feed: bool | None
    ) -> list[MacroStep] | None:
        """One access and the local ways to the next one: most macro-steps of the narrow pass.

        None if there is more to them, such as a field on the way.
        """
        code = self.machine.code
        instr = code[pc]
        done: _Done = {}
        for step in self.machine.steps(pc, env, shared, feed):
            after = step.shared
            event = Event(instr, shared, after, step.pc)
            local_paths = self.local_paths(step.pc, step.env)
            if not local_paths:
                return None
            for local_path in local_paths:
                op = code[local_path.pc].op
                if op in FIELDS:
                    return None
                wide = local_path.waited or op not in VISIBLE or op in BLOCKS
                key = (local_path.pc, local_path.env, after, wide, False)
                if key not in done:
                    events = (event, *(Event(i, after, after, to) for i, to in local_path.shown))
                    death = code[local_path.pc] if op is Op.DEAD else None
                    done[key] = MacroStep(
                        local_path.pc,
                        local_path.env,
                        after,
                        wide,
                        events,
                        local_path.decisions,
                        death,
                    )
        return list(done.values())

    def _execute(
        self, run: _Run, feed: bool | None, done: _Done, seen: _Seen, first: bool
    ) -> list[_Run]:
        """One access, then every local way on from it."""
        instr = self.machine.code[run.pc]
        steps = self.machine.steps(run.pc, run.env, run.shared, feed)
        if not steps and not first:
            self._stop(run, run.pc, run.env, True, done)  # somebody holds the lock
        touches = instr.op in VISIBLE
        ahead: list[_Run] = []
        for step in steps:
            event = Event(instr, run.shared, step.shared, step.pc)
            after = _Run(
                step.pc,
                step.env,
                step.shared,
                run.touched or touches,
                run.waited and not touches,
                (*run.events, event) if touches else run.events,
                run.decisions if touches else (*run.decisions, *_late(instr, run.shared, step)),
            )
            ahead += self._onward(after, step.pc, step.env, step.shared, done, seen, False)
        return ahead

    def _onward(
        self,
        run: _Run,
        pc: int,
        env: Env,
        shared: Shared,
        done: _Done,
        seen: _Seen,
        waiting: bool,
    ) -> list[_Run]:
        """Every local way on; only those through a wait if the thread is known to be in one."""
        local_paths = self.local_paths(pc, env)
        pauses = not self.narrow and run.touched
        if pauses and any(local_path.waited for local_path in local_paths):
            self._stop(run, pc, env, True, done, waiting=True)
        elif run.touched and not local_paths:
            self._stop(run, pc, env, True, done)  # from here it goes round and does nothing more
        ahead: list[_Run] = []
        for local_path in local_paths:
            if local_path.waited if pauses else (waiting and not local_path.waited):
                continue
            after = self._extended(run, local_path, shared)
            op = self.machine.code[local_path.pc].op
            if op in ENDS or op in BLOCKS:
                self._stop(after, local_path.pc, local_path.env, True, done)
            elif self.narrow and run.touched and op in VISIBLE:
                self._stop(after, local_path.pc, local_path.env, after.waited, done)
            else:
                key = (local_path.pc, local_path.env, shared, run.touched, after.waited)
                if key not in seen:
                    seen.add(key)
                    ahead.append(after)
        return ahead

    @staticmethod
    def _extended(run: _Run, local_path: LocalPath, shared: Shared) -> _Run:
        events, decisions = run.events, run.decisions
        if local_path.shown:
            events = (*events, *(Event(i, shared, shared, to) for i, to in local_path.shown))
        if local_path.decisions:
            decisions = (*decisions, *local_path.decisions)
        waited = run.waited or local_path.waited
        return _Run(local_path.pc, local_path.env, shared, run.touched, waited, events, decisions)

    def _stop(
        self, run: _Run, pc: int, env: Env, wide: bool, done: _Done, waiting: bool = False
    ) -> None:
        key = (pc, env, run.shared, wide, waiting)
        if key not in done:
            instr = self.machine.code[pc]
            death = instr if instr.op is Op.DEAD else None
            done[key] = MacroStep(
                pc, env, run.shared, wide, run.events, run.decisions, death, waiting
            )


def _late(instr: Instr, before: Shared, step: Step) -> tuple[Decision, ...]:
    """The choice that reading a field makes, if it had been left open."""
    if instr.op is not Op.FIELD_LOAD or before.field(instr.name) is not EITHER:
        return ()
    return ((instr.name, int(step.shared.field(instr.name) is True)),)


# One macro-step for each place and state, once with a wait before it and once without.
_Done = dict[tuple[int, Env, Shared, bool, bool], MacroStep]
_Seen = set[tuple[int, Env, Shared, bool, bool]]
