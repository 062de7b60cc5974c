"""What a rule gets to see and what it hands back."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from kvlint.discover.project import Module
from kvlint.programs.ir import Instr, Op, Program, Where
from kvlint.programs.machine import Machine, Shared
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import terminal_name
from kvlint.protocol.model import Protocol
from kvlint.search.driver import endings
from kvlint.search.environment import sort_frames
from kvlint.search.evidence import Evidence, Moment, Witness, outer_site
from kvlint.search.macro_steps import Stepper
from kvlint.search.system import Operation, System, Thread
from kvlint.waiting import endless_polls
from kvlint.walking import statements

T = TypeVar("T")
LOOPS = frozenset({"consumer", "control", "ticker"})


@dataclass(frozen=True)
class Hit:
    """One site that breaks a rule, before it is placed in a file.

    `cause` names the root cause: hits that share one are shown as one block. `cleared` says why a
    latent one is no more than that.
    """

    where: Where
    verdict: str
    message: str
    fixes: tuple[str, ...] = ()
    bad_end: str | None = None
    related: tuple[tuple[Where, str], ...] = ()
    witness: Witness | None = None
    cause: tuple[object, ...] = ()
    cleared: str = ""


@dataclass(eq=False)
class View:
    """One protocol with everything that was found out about it."""

    protocol: Protocol
    system: System
    evidence: Evidence
    siblings: tuple[Protocol, ...] = ()
    updaters: frozenset[str] = field(default_factory=frozenset)
    shared: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Something that is the same for all views of one status domain in a project."""
        full = (key, self.protocol.domain)
        if full not in self.shared:
            self.shared[full] = make()
        found: T = self.shared[full]
        return found

    def stepper(self, program: Program) -> Stepper:
        """The wide macro-steps of a program, shared with whatever else asks for them."""
        return self.system.stepper(program, 1, False)

    def machine(self, program: Program) -> Machine:
        """The machine for a program; there is one, as it takes long to find out what is live."""
        return self.stepper(program).machine

    @property
    def table(self) -> str:
        """The status table's name."""
        return self.protocol.status_table

    def written_at(self, instr: Instr) -> Where:
        """The call that writes a status, seen from outside the update methods."""
        return outer_site(instr, self.updaters)

    def programs(self) -> Iterator[tuple[str, str, Program]]:
        """(kind, name, full program) of every thread and operation."""
        for thread in self.system.threads:
            yield thread.kind, thread.root.name, thread.full
        for operation in self.system.operations:
            yield operation.kind, operation.name, operation.full

    @cached_property
    def consumers(self) -> list[Thread]:
        """Threads that take chunks from a queue."""
        return [t for t in self.system.threads if t.kind == "consumer"]

    @cached_property
    def removers(self) -> dict[str, set[str]]:
        """Per table, the threads (`scheduler` for its operations) that remove rooms from it."""
        found: dict[str, set[str]] = {}
        for kind, name, program in self.programs():
            who = name if kind in (*LOOPS, "task") else "scheduler"
            for instr in program.code:
                if instr.op is Op.POP:
                    found.setdefault(instr.name, set()).add(who)
        return found

    @cached_property
    def writers(self) -> dict[str, set[str]]:
        """Per table, the threads that store, insert or remove (inner containers included)."""
        found: dict[str, set[str]] = {}
        for kind, name, program in self.programs():
            who = name if kind in (*LOOPS, "task") else "scheduler"
            for instr in program.code:
                if instr.op in (Op.STORE, Op.POP, Op.SETDEFAULT):
                    found.setdefault(instr.name, set()).add(who)
        return found

    @cached_property
    def pins(self) -> list[Witness]:
        """Ways to a pinned room, wide ones first; of those the ones that tell most.

        A worker that takes Failed back and then drops the last chunk is what happens in practice;
        a shorter way may need a peer that speaks out of turn.
        """
        failures = self.protocol.domain.failures

        def rank(witness: Witness) -> tuple[bool, int]:
            revived = any(m.kind == "consumer" for m in revivals(witness, failures))
            taken = [m for m in witness.of(Op.TAKE) if m.kind == "consumer"]
            dropped = bool(taken) and witness.moments[-1].event.instr.op is Op.SKIP
            last = bool(taken) and taken[-1].event.before.queue[:1] == (True,)
            return (not witness.wide, -(revived * 4 + dropped * 2 + last))

        return sorted(self.evidence.of("pinned"), key=rank)

    @cached_property
    def endless(self) -> list[tuple[Operation, Member]]:
        """Polls that never end while the peer is silent, each with a status that it is so in."""
        return list(endless_polls(self))

    @cached_property
    def early_sides(self) -> frozenset[str]:
        """Side tables that a message fills for a room that is not registered: order is free."""
        helpful, _ = sort_frames(self.system)
        found: set[str] = set()
        for thread in self.system.threads:
            if self._fills(thread.program) <= found:
                continue
            stepper = self.stepper(thread.program)
            for pc, instr in enumerate(stepper.machine.code):
                if instr.op is Op.RECV:
                    for frame in helpful:
                        start = Shared(frames=frozenset({frame}))
                        for macro_step in stepper.macro_steps(pc, stepper.machine.initial(), start):
                            found |= macro_step.shared.sides
        return frozenset(found)

    @cached_property
    def live_sides(self) -> frozenset[str]:
        """Side tables that have a room while it is live: filled early or on opening."""
        found = set(self.early_sides)
        for operation in self.system.of_kind("open"):
            if self._fills(operation.program) <= found:
                continue
            machine = self.machine(operation.program)
            for shared in endings(machine, Shared(sides=self.early_sides)):
                found |= shared.sides
        return frozenset(found)

    def _fills(self, program: Program) -> set[str]:
        """The tracked side tables that a program may enter the room into."""
        sides = self.system.tracked - {self.table}
        fills = (Op.STORE, Op.SETDEFAULT)
        return {i.name for i in program.code if i.op in fills and i.name in sides}

    @cached_property
    def readers(self) -> frozenset[str]:
        """Methods that only return what the status table says, under a lock or not."""
        if self.protocol.readers:
            return self.protocol.readers
        found = set()
        for cls in self.protocol.classes:
            for name, function in cls.methods.items():
                body = [s for s in function.body if not isinstance(s, ast.Expr)]
                if len(body) == 1 and isinstance(body[0], ast.With):
                    body = body[0].body
                if (
                    len(body) == 1
                    and isinstance(body[0], ast.Return)
                    and any(getattr(n, "attr", "") == self.table for n in ast.walk(body[0]))
                ):
                    found.add(name)
        return frozenset(found)

    def escapes(self, program: Program, pc: int) -> bool:
        """Whether what is raised to this place can end the thread in the same iteration."""
        seen: set[int] = set()
        todo = [pc]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            op = program.code[at].op
            if op is Op.DEAD:
                return True
            if op not in (Op.TAKE, Op.RECV, Op.END):
                todo.extend(program.code[at].successors())
        return False

    def condition_of(self, instr: Instr) -> Where:
        """The test that a read of the status is for."""
        for _, _, program in self.programs():
            for pc, other in enumerate(program.code):
                if other.where.node is instr.where.node and other.op is instr.op:
                    for step in range(pc, min(pc + 4, len(program.code))):
                        if (
                            program.code[step].op in (Op.BRANCH, Op.TEST)
                            and program.code[step].where.function == instr.where.function
                        ):
                            return program.code[step].where
        return instr.where

    def statements(self, module: Module) -> list[ast.AST]:
        """Every statement of a module, handler and case, in the order of `ast.walk`."""
        return self.once(("statements", module), lambda: list(statements(module.tree)))

    def branch_without(self, test: Where) -> Where | None:
        """The first statement of the `else` of the `if` that a test belongs to, if there is one.

        The test may be stored in a local first and asked for in the next `if`.
        """
        stored: str | None = None
        nodes = self.statements(test.module)
        for node in nodes:
            if isinstance(node, ast.Assign) and _covers(node, test.line):
                stored = terminal_name(node.targets[0])
        found: ast.If | None = None
        for node in nodes:
            if not isinstance(node, ast.If) or not node.orelse:
                continue
            asked = isinstance(node.test, ast.Name) and node.test.id == stored
            if (_covers(node.test, test.line) or (asked and node.lineno > test.line)) and (
                found is None or node.lineno < found.lineno
            ):
                found = node
        if found is None or isinstance(found.orelse[0], ast.If):
            return None
        return Where(test.module, found.orelse[0], test.class_name, test.function)


def _covers(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def verdict_of(witness: Witness) -> str:
    """Confirmed if a wide switch is enough."""
    return "confirmed" if witness.wide else "narrow"


def revivals(witness: Witness, failure: frozenset[str]) -> Iterator[Moment]:
    """Moments that turn Failed into something else."""
    for moment in witness.moments:
        before, after = moment.event.before.status, moment.event.after.status
        if (
            before is not None
            and before.name in failure
            and after is not None
            and after.name not in failure
        ):
            yield moment


def cause_of(witness: Witness, failure: frozenset[str]) -> tuple[object, ...]:
    """The root cause of a witness: the store that revives, else the removal, else the end."""
    for moment in revivals(witness, failure):
        return ("store", id(moment.event.instr.where.node))
    for moment in witness.of(Op.POP):
        if moment.event.before.sides != moment.event.after.sides and moment.kind != "scheduler":
            return ("pop", id(moment.event.instr.where.node))
    return (witness.kind, witness.run)
