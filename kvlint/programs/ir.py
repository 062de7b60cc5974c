"""The small language that thread roots are lowered to: one symbolic room, tracked effects only.

A program is a list of instructions with explicit successors. Locals hold abstract values; a
condition whose operands are unknown may go both ways. Calls are inlined, so an instruction knows
the call sites around it (`stack`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from kvlint.discover.project import Module


class Abstract(Enum):
    """Abstract values beside members, None, booleans and literals."""

    UNKNOWN = "unknown"
    PRESENT = "some object"
    EMPTY = "an empty collection"
    EITHER = "True or False"  # in a field only: whoever reads it first decides

    __hash__ = object.__hash__  # members are single objects; Enum's own is slow

    def __repr__(self) -> str:
        return self.value


UNKNOWN, PRESENT, EMPTY = Abstract.UNKNOWN, Abstract.PRESENT, Abstract.EMPTY
EITHER = Abstract.EITHER


@dataclass(frozen=True)
class Const:
    """An operand whose value is known when the program is built."""

    value: object


@dataclass(frozen=True)
class Var:
    """An operand that is a local of the running program."""

    name: str


Operand = Const | Var
ANY = Const(UNKNOWN)


class Op(Enum):
    """What an instruction does; its operands are described at `Instr`."""

    SET = "set"
    MAX = "max"
    MIN = "min"
    LOAD = "load"
    TEST = "test"
    STORE = "store"
    POP = "pop"
    SETDEFAULT = "setdefault"
    ITER = "iterate"
    FIELD_LOAD = "read field"
    FIELD_STORE = "write field"
    LOCK = "acquire"
    UNLOCK = "release"
    TAKE = "take"
    PUT = "put"
    RECV = "receive"
    CHUNK_FIELD = "chunk field"
    BRANCH = "branch"
    JUMP = "jump"
    CHOICE = "may raise"
    WINDOW = "window"
    NULLABLE = "attribute of a field that may be None"
    HANDLER = "handler"
    RAISE = "raise"
    SKIP = "continue"
    DEAD = "thread dies"
    END = "end"

    __hash__ = object.__hash__  # as in Abstract


SHARED = frozenset(
    {
        Op.LOAD,
        Op.TEST,
        Op.STORE,
        Op.POP,
        Op.SETDEFAULT,
        Op.ITER,
        Op.FIELD_LOAD,
        Op.FIELD_STORE,
        Op.LOCK,
        Op.UNLOCK,
        Op.TAKE,
        Op.PUT,
        Op.RECV,
    }
)


@dataclass(frozen=True)
class Where:
    """The source of an instruction."""

    module: Module
    node: ast.AST
    class_name: str
    function: str

    @property
    def line(self) -> int:
        """First line, from 1."""
        return getattr(self.node, "lineno", 1)


@dataclass(eq=False)
class Instr:
    """One instruction.

    `name` is the table, queue, lock or field; `args` the operands; `cond` the kind of a branch.
    `next` is where it goes on; `alt` where a false branch, a failed test or a `KeyError` goes;
    `targets` the handlers that a `CHOICE` may reach. LOAD and POP have no `alt` if they have a
    default as second operand. `note` tells variants apart (`del`, the exception of a DEAD, the
    kind of a WINDOW).
    """

    op: Op
    where: Where
    stack: tuple[Where, ...]
    dst: str | None = None
    name: str = ""
    args: tuple[Operand, ...] = ()
    cond: str = ""
    next: int = -1
    alt: int = -1
    targets: tuple[int, ...] = ()
    note: str = ""
    held: frozenset[str] = frozenset()

    def successors(self) -> Iterator[int]:
        """Every instruction that may run next."""
        if self.next >= 0:
            yield self.next
        if self.alt >= 0:
            yield self.alt
        yield from self.targets


@dataclass(eq=False)
class Program:
    """One lowered thread root or entry point.

    `slices` and `decided` are for `slicing`; programs with the same code share them. `slots` is
    for `slots`.
    """

    name: str
    title: str
    code: list[Instr]
    kind: str = "entry"
    cut: list[str] = field(default_factory=list)
    ambiguous: bool = False
    slices: dict[object, Program] = field(default_factory=dict, repr=False)
    decided: dict[tuple[str, str], bool] = field(default_factory=dict, repr=False)
    slots: tuple[dict[str, int], list[int]] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Program {self.name} {len(self.code)}>"

    def change(self, changes: dict[int, Op]) -> None:
        """Give instructions another operation, here only: the code may be shared."""
        self.code = [copied(instr) for instr in self.code]
        self.slices, self.decided, self.slots = {}, {}, None
        for pc, op in changes.items():
            self.code[pc].op = op


def predecessors(code: list[Instr]) -> list[list[int]]:
    """Per instruction, those that it may run next after, each once."""
    found: list[list[int]] = [[] for _ in code]
    for pc, instr in enumerate(code):
        for successor in dict.fromkeys(instr.successors()):
            found[successor].append(pc)
    return found


def copied(instr: Instr) -> Instr:
    """`copy.copy` without its detours."""
    new = Instr.__new__(Instr)
    new.__dict__.update(instr.__dict__)
    return new


def listing(program: Program) -> str:
    """The program as text, for tests and for looking at it."""
    lines = []
    for pc, instr in enumerate(program.code):
        args = ", ".join(repr(a.value) if isinstance(a, Const) else a.name for a in instr.args)
        text = f"{pc:4} {instr.op.value} {instr.name} {instr.cond} ({args})"
        if instr.dst:
            text += f" -> {instr.dst}"
        ends = [f"next {instr.next}"] if instr.next not in (-1, pc + 1) else []
        ends += [f"else {instr.alt}"] if instr.alt >= 0 else []
        ends += [f"or {instr.targets}"] if instr.targets else []
        held = f" holding {sorted(instr.held)}" if instr.held else ""
        lines.append(f"{text}  {'; '.join(ends)}{held} {instr.note}  # {instr.where.line}")
    return "\n".join(lines)
