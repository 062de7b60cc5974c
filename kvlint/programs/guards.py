"""Which locks can keep threads from something; the others only make programs longer.

A lock changes no order of accesses if one program alone acquires it, or if whatever it is held
around is a single access: that is one step with the lock and without it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvlint.programs.ir import SHARED, Instr, Op, Program

LOCKS = frozenset({Op.LOCK, Op.UNLOCK})
FIELDS = frozenset({Op.FIELD_LOAD, Op.FIELD_STORE})
OUTSIDE = frozenset({Op.TAKE, Op.PUT, Op.RECV, *FIELDS})  # shared, but in no table
LEAVES = frozenset({Op.WINDOW, Op.END, Op.DEAD})  # the lock is held while the thread does not run


def contended_locks(
    programs: Iterable[Program], tracked: frozenset[str], locks: frozenset[str]
) -> frozenset[str]:
    """Those of `locks` that decide on an order of accesses to `tracked` tables.

    What is left out must not matter to any other: a lock held around another one that stays does.
    """
    users: dict[str, list[Program]] = {}
    for program in programs:
        for name in {i.name for i in program.code if i.op is Op.LOCK and i.name in locks}:
            users.setdefault(name, []).append(program)
    kept = frozenset(name for name, of in users.items() if len(of) > 1)
    while True:
        found = frozenset(
            name for name in kept if any(_guards(p, name, tracked, kept) for p in users[name])
        )
        if found == kept:
            return kept
        kept = found


def _guards(program: Program, lock: str, tracked: frozenset[str], kept: frozenset[str]) -> bool:
    """Whether a program holds a lock around more than one access, or leaves off with it."""
    code = program.code
    todo = [(i.next, False) for i in code if i.op is Op.LOCK and i.name == lock]
    seen = set(todo)
    while todo:
        pc, accessed = todo.pop()
        if pc < 0:
            return True
        instr = code[pc]
        if instr.op is Op.UNLOCK and instr.name == lock:
            continue
        if instr.op in LEAVES:
            return True
        if _is_access(instr, tracked, kept):
            if accessed:
                return True
            accessed = True
        for state in ((after, accessed) for after in instr.successors()):
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def _is_access(instr: Instr, tracked: frozenset[str], kept: frozenset[str]) -> bool:
    """Whether the instruction is a step of its own; what is not tracked is none."""
    if instr.op in LOCKS:
        return instr.name in kept
    if instr.op in OUTSIDE:
        return True
    return instr.op in SHARED and instr.op is not Op.ITER and instr.name in tracked
