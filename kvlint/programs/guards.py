"""Which locks can keep threads from something; the others only make programs longer.

A lock changes no order of accesses if one thread alone acquires it, or if whatever it is held
around is a single access: that is one step with the lock and without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvlint.programs.ir import SHARED, Instr, Op, Program

FIELDS = frozenset({Op.FIELD_LOAD, Op.FIELD_STORE})
# Others would have to wait for the lock while whoever holds it waits for something else.
STAYS = frozenset({Op.WINDOW, Op.TAKE, Op.RECV, Op.END, Op.DEAD})


def contended_locks(
    users: Sequence[Sequence[Program]], tracked: frozenset[str], locks: frozenset[str]
) -> frozenset[str]:
    """Those of `locks` that decide on an order of accesses to `tracked` tables.

    `users` are the programs of each thread that there may be.
    """
    taken = [{i.name for p in of for i in p.code if i.op is Op.LOCK} for of in users]
    kept = frozenset(name for name in locks if sum(name in names for names in taken) > 1)
    programs = dict.fromkeys(program for of in users for program in of)
    while True:
        found = frozenset(
            name for name in kept if any(_guards(p, name, tracked, kept) for p in programs)
        )
        if found == kept:
            return kept
        kept = found


def _guards(program: Program, lock: str, tracked: frozenset[str], kept: frozenset[str]) -> bool:
    """Whether a program holds a lock around more than one access, or does not let go of it soon."""
    code = program.code
    todo = [(i.next, False) for i in code if i.op is Op.LOCK and i.name == lock]
    before: dict[tuple[int, bool], list[tuple[int, bool]]] = {state: [] for state in todo}
    last: list[tuple[int, bool]] = []
    while todo:
        state = pc, accessed = todo.pop()
        instr = code[pc]
        if instr.op is Op.UNLOCK and instr.name == lock:
            last.append(state)
            continue
        if instr.op in STAYS or (instr.op is Op.LOCK and instr.name in kept):
            return True
        if _is_access(instr, tracked, kept):
            if accessed:
                return True
            accessed = True
        for to in instr.successors():
            after = (to, accessed)
            if after not in before:
                before[after] = []
                todo.append(after)
            before[after].append(state)
    return len(_behind(last, before)) < len(before)


def _behind(
    last: list[tuple[int, bool]], before: dict[tuple[int, bool], list[tuple[int, bool]]]
) -> set[tuple[int, bool]]:
    """Everything from which one of the last states can be reached."""
    found = set(last)
    todo = list(last)
    while todo:
        for state in before[todo.pop()]:
            if state not in found:
                found.add(state)
                todo.append(state)
    return found


def _is_access(instr: Instr, tracked: frozenset[str], kept: frozenset[str]) -> bool:
    """Whether the instruction is a step that others may see; what is not tracked is none."""
    if instr.op is Op.UNLOCK:
        return instr.name in kept
    if instr.op in FIELDS or instr.op is Op.PUT:
        return True
    return instr.op in SHARED and instr.op not in (Op.ITER, Op.LOCK) and instr.name in tracked
