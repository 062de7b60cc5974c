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
        machine = view.machine(thread.program)
        takes = [pc for pc, i in enumerate(machine.code) if i.op is Op.TAKE] or [0]
        seen: set[int] = set()
        for status in live:
            for pc in takes:
                start = (pc, machine.initial(), Shared(status, sides, queue=(True,)))
                if not _concludes(view, machine, start):
                    continue  # this thread is not the one that ends a room
                for entry in _entered(machine, start):
                    handler = machine.code[entry[0]]
                    if id(handler.where.node) not in seen and _leaves(view, machine, entry):
                        seen.add(id(handler.where.node))
                        yield _hit(handler, thread.root.name)
                        raised = _raised(machine, start).get(entry[0], set())
                        yield from _raisers(raised, handler, seen)


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


def _entered(machine: Machine, start: State) -> list[State]:
    """How one iteration first gets into every handler that it may enter.

    Most of an iteration is walked only to find that no further handler is there, so the walk
    ends with the last one that can be.
    """
    missing = _handlers(machine, start[0])
    found: list[State] = []
    for _, after in _iteration(machine, start) if missing else ():
        if after[0] in missing:
            missing.discard(after[0])
            found.append(after)
            if not missing:
                break
    return found


def _handlers(machine: Machine, start: int) -> set[int]:
    """The handlers that lie on some way through one iteration, possible or not."""
    code = machine.code
    seen: set[int] = set()
    todo = list(code[start].successors())
    while todo:
        pc = todo.pop()
        if pc not in seen:
            seen.add(pc)
            if code[pc].op not in ENDS:
                todo.extend(code[pc].successors())
    return {pc for pc in seen if code[pc].op is Op.HANDLER}


def _raised(machine: Machine, start: State) -> dict[int, set[Instr]]:
    """Per handler, the `raise` statements that one iteration may enter it from."""
    code = machine.code
    found: dict[int, set[Instr]] = {}
    for before, after in _iteration(machine, start):
        instr = code[before[0]]
        explicit = instr.op is Op.RAISE and isinstance(instr.where.node, ast.Raise)
        if explicit and code[after[0]].op is Op.HANDLER:
            found.setdefault(after[0], set()).add(instr)
    return found


def _iteration(machine: Machine, start: State) -> Iterator[tuple[State, State]]:
    """Every step of one iteration, depth first: the state before it and the one after."""
    code = machine.code
    seen = {start}
    todo = [start]
    while todo:
        state = todo.pop()
        if code[state[0]].op in ENDS and state != start:
            continue
        for step in machine.steps(*state):
            after = (step.pc, step.env, step.shared)
            yield state, after
            if after not in seen:
                seen.add(after)
                todo.append(after)


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


def _leaves(view: View, machine: Machine, start: State) -> bool:
    """Whether every way on from the handler ends the iteration with the room still live.

    A chunk that is put back is not lost, so such a way does not count as leaving it.
    """
    domain = view.protocol.domain
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
