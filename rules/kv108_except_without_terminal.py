"""KV108: a handler swallows the worker's exception and leaves the room non-terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.rulekit import Hit, View

State = tuple[int, Env, Shared]
ENDS = frozenset({Op.TAKE, Op.END, Op.DEAD})


def find(view: View) -> Iterator[Hit]:
    """Run the last chunk of a live room; look at what every handler on the way leaves behind."""
    domain = view.protocol.domain
    live = [m for m in domain.members if not domain.is_terminal(m)]
    sides = view.live_sides
    for thread in view.system.threads:
        if thread.kind not in ("consumer", "task"):
            continue
        machine = view.system.machine(thread.program, 1)
        takes = [pc for pc, i in enumerate(machine.code) if i.op is Op.TAKE] or [0]
        seen: set[int] = set()
        for status in live:
            for pc in takes:
                start = (pc, machine.initial(), Shared(status, sides, queue=(True,)))
                if not _concludes(view, machine, start):
                    continue  # this thread is not the one that ends a room
                for handler, raised in _entered(machine, start):
                    if id(handler[0].where.node) not in seen and _leaves(view, machine, handler):
                        seen.add(id(handler[0].where.node))
                        yield _hit(handler[0], thread.root.name)
                        yield from _raisers(raised, handler[0], seen)


def _hit(handler: Instr, thread: str) -> Hit:
    return Hit(
        handler.where,
        "confirmed",
        f"`{thread}` gets here with a live room and leaves it so; write a terminal status",
        (),
        "pinned",
        cause=("handler", id(handler.where.node)),
    )


def _raisers(raised: set[Instr], handler: Instr, seen: set[int]) -> Iterator[Hit]:
    """Statements whose own `raise` ends in such a handler.

    As strong as the handler: no other thread is needed, and of all that may raise there these are
    the ones that the code itself foresees.
    """
    for instr in sorted(raised, key=lambda i: i.where.line):
        if id(instr.where.node) not in seen:
            seen.add(id(instr.where.node))
            yield Hit(
                instr.where,
                "confirmed",
                "raised with a live room, and the handler writes no terminal status",
                (),
                "pinned",
                ((handler.where, "handled here"),),
                cause=("handler", id(handler.where.node)),
            )


def _entered(machine: Machine, start: State) -> Iterator[tuple[tuple[Instr, State], set[Instr]]]:
    """Every handler that one iteration may enter, its state there, and who raised into it."""
    code = machine.code
    seen = {start}
    todo = [start]
    entered: dict[int, tuple[tuple[Instr, State], set[Instr]]] = {}
    while todo:
        state = todo.pop()
        pc, env, shared = state
        if code[pc].op in ENDS and state != start:
            continue
        for step in machine.steps(pc, env, shared):
            after = (step.pc, step.env, step.shared)
            if code[step.pc].op is Op.HANDLER:
                _, raised = entered.setdefault(step.pc, ((code[step.pc], after), set()))
                if code[pc].op is Op.RAISE and isinstance(code[pc].where.node, ast.Raise):
                    raised.add(code[pc])
            if after not in seen:
                seen.add(after)
                todo.append(after)
    yield from entered.values()


def _concludes(view: View, machine: Machine, start: State) -> bool:
    """Whether an iteration without any exception may end the room."""
    seen = {start}
    todo = [start]
    while todo:
        pc, env, shared = todo.pop()
        op = machine.code[pc].op
        if op is Op.HANDLER:
            continue
        if op in ENDS and (pc, env, shared) != start:
            if view.protocol.domain.is_terminal(shared.status):
                return True
            continue
        for step in machine.steps(pc, env, shared):
            after = (step.pc, step.env, step.shared)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def _leaves(view: View, machine: Machine, handler: tuple[Instr, State]) -> bool:
    """Whether every way on from the handler ends the iteration with the room still live.

    A chunk that is put back is not lost, so such a way does not count as leaving it.
    """
    domain = view.protocol.domain
    start = handler[1]
    if start[2].status is None or domain.is_terminal(start[2].status):
        return False
    seen = {start}
    todo = [start]
    ends = 0
    while todo:
        pc, env, shared = todo.pop()
        if machine.code[pc].op in ENDS:
            if shared.status is None or domain.is_terminal(shared.status) or shared.queue:
                return False
            ends += 1
            continue
        for step in machine.steps(pc, env, shared):
            after = (step.pc, step.env, step.shared)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return ends > 0
