"""What of the shared state can still matter in one run; the rest is forgotten between macro-steps.

The same idea as for the locals of a program, for side tables, fields of the holder, messages that
nobody will receive, and who made the room fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvlint.programs.ir import Instr, Op, Program, predecessors
from kvlint.programs.machine import Outside, Shared
from kvlint.protocol.domain import StatusDomain
from kvlint.search.macro_steps import ENDS

LOOKS = frozenset({Op.LOAD, Op.POP, Op.SETDEFAULT})


class ReadSet(NamedTuple):
    """What one program asks of the shared state: tables and fields that it reads, all its ops."""

    tables: frozenset[str]
    fields: frozenset[str]
    ops: frozenset[Op]


def read_set_of(program: Program) -> ReadSet:
    """What a program looks at, wherever in it."""
    code = program.code
    return ReadSet(
        frozenset(i.name for i in code if _looks(i)),
        frozenset(i.name for i in code if i.op is Op.FIELD_LOAD),
        frozenset(i.op for i in code),
    )


class Liveness:
    """The parts of the shared state that some program of a run looks at.

    `works` are the numbers of the worker threads, the only ones whose own failures count apart.
    """

    def __init__(
        self, looks: Sequence[ReadSet], domain: StatusDomain, works: frozenset[int]
    ) -> None:
        self.domain = domain
        self.works = works
        self.tables = frozenset[str]().union(*(look.tables for look in looks))
        self.fields = frozenset[str]().union(*(look.fields for look in looks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Liveness) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> object:
        return self.tables, self.fields, self.works

    def kept(self, shared: Shared, fields: frozenset[str], *, frames: bool = True) -> Shared:
        """`shared` without what no longer matters.

        `fields` are those of the holder that somebody may still look at; `frames` says that
        somebody may still receive.
        """
        return Shared(
            shared.status,
            shared.sides & self.tables,
            tuple(f for f in shared.fields if f[0] in fields),
            shared.locks,
            shared.queue,
            shared.frames if frames else frozenset(),
            self._failed(shared),
        )

    def _failed(self, shared: Shared) -> int:
        """Who made the room fail, as far as anybody asks: a worker, or any other thread (-1)."""
        mine = shared.failed in self.works and self.domain.is_failure(shared.status)
        return shared.failed if mine or not shared.failed else -1


def fields_ahead(program: Program) -> list[frozenset[str]]:
    """Per instruction, the fields that it or a later one may read before it is written."""
    code = program.code
    ahead: list[frozenset[str]] = [frozenset()] * len(code)
    before = predecessors(code)
    todo = [pc for pc, instr in enumerate(code) if instr.op is Op.FIELD_LOAD]
    while todo:
        pc = todo.pop()
        instr = code[pc]
        found = frozenset[str]().union(*(ahead[to] for to in instr.successors()))
        if instr.op is Op.FIELD_STORE:
            found -= {instr.name}
        elif instr.op is Op.FIELD_LOAD:
            found |= {instr.name}
        if found != ahead[pc]:
            ahead[pc] = found
            todo += before[pc]
    return ahead


def _looks(instr: Instr) -> bool:
    """Whether what happens next may depend on the presence of the room in a table."""
    if instr.op is Op.TEST:
        return True
    return instr.op in LOOKS and (instr.dst is not None or instr.alt >= 0)


def waits_in_vain(instr: Instr, shared: Shared) -> bool:
    """Whether a thread at this instruction is through: ended, or without a message to come."""
    if instr.op is not Op.RECV:
        return instr.op in ENDS
    return not any(
        instr.name == (frame.queue if isinstance(frame, Outside) else "") for frame in shared.frames
    )
