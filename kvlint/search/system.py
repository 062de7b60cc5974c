"""One room's environment: the threads that touch it, and what the scheduler and the peers may do.

The environment is data: which operations the scheduler has on a room (open, feed, poll, abort,
clear), which messages may arrive, and which single disturbance a run allows.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvlint.discover.project import ClassInfo
from kvlint.programs.ir import Program
from kvlint.programs.machine import Machine
from kvlint.protocol.facts import call_name
from kvlint.protocol.model import Protocol, ThreadRoot
from kvlint.search.liveness import ReadSet, fields_ahead, read_set_of
from kvlint.search.macro_steps import Stepper

if TYPE_CHECKING:
    from kvlint.search.driver import SchedulerModel
    from kvlint.search.relation import Memo


@dataclass(eq=False)
class Operation:
    """Something that code outside the threads may call."""

    kind: str  # open, feed, step, poll, abort, close, finish, other
    cls: ClassInfo
    name: str
    full: Program
    program: Program


@dataclass(eq=False)
class Thread:
    """A thread root with its full and its sliced program."""

    kind: str  # consumer, control, ticker, task
    root: ThreadRoot
    full: Program
    program: Program


@dataclass(eq=False)
class System:
    """A protocol with all its programs."""

    protocol: Protocol
    threads: list[Thread] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    tracked: frozenset[str] = frozenset()
    locks: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    main_queues: frozenset[str] | None = None
    frames: tuple[object, ...] = ()
    gaps: list[tuple[int, str]] = field(default_factory=list)
    scheduler_model: SchedulerModel | None = None
    memos: dict[object, Memo] = field(default_factory=dict)
    _steppers: dict[tuple[Program, int, bool], Stepper] = field(default_factory=dict)
    _fields_ahead: dict[Program, list[frozenset[str]]] = field(default_factory=dict)
    _read_sets: dict[Program, ReadSet] = field(default_factory=dict)

    @property
    def cooperative(self) -> bool:
        """Whether everything runs in one event loop."""
        return bool(self.threads) and all(_is_coroutine(t) for t in self.threads)

    def of_kind(self, kind: str) -> list[Operation]:
        """The operations of one kind."""
        return [o for o in self.operations if o.kind == kind]

    def stepper(self, program: Program, thread: int, narrow: bool) -> Stepper:
        """The macro-steps of a program when thread `thread` runs it; kept for all runs."""
        key = (program, thread, narrow)
        if key not in self._steppers:
            twin = self._steppers.get((program, thread, not narrow))
            machine = self.machine(program, thread) if twin is None else twin.machine
            self._steppers[key] = Stepper(machine, narrow, twin)
        return self._steppers[key]

    def fields_ahead(self, program: Program, pc: int) -> frozenset[str]:
        """The fields that a program may still read, from an instruction on."""
        if program not in self._fields_ahead:
            self._fields_ahead[program] = fields_ahead(program)
        return self._fields_ahead[program][pc]

    def read_set(self, program: Program) -> ReadSet:
        """What a program asks of the shared state."""
        if program not in self._read_sets:
            self._read_sets[program] = read_set_of(program)
        return self._read_sets[program]

    def signature(self) -> object:
        """What two systems share if every run of the search is the same for both."""
        programs = (
            *((t.kind, t.root.name, t.program) for t in self.threads),
            *((o.kind, o.name, o.program) for o in self.operations),
        )
        return (
            tuple((kind, name, _text(program)) for kind, name, program in programs),
            self.tracked,
            self.fields,
            tuple(str(f) for f in self.frames),
        )

    def cut(self) -> bool:
        """Whether some macro-step was too long to be worked out to its end."""
        return any(stepper.cut for stepper in self._steppers.values())

    def machine(self, program: Program, thread: int) -> Machine:
        """A machine for one of the programs."""
        return Machine(
            program,
            self.protocol.domain,
            self.protocol.status_table,
            self.tracked,
            thread,
            self.main_queues,
        )


def _is_coroutine(thread: Thread) -> bool:
    origin = thread.root.origin
    return isinstance(origin, ast.Call) and call_name(origin) in ("ensure_future", "create_task")


def _text(program: Program) -> tuple[object, ...]:
    return tuple(
        (
            i.op,
            id(i.where.node),
            i.name,
            i.args,
            i.cond,
            i.next,
            i.alt,
            i.targets,
            i.dst,
        )
        for i in program.code
    )
