"""Shrink a program without changing what it can do to a room.

Unreachable code and jumps go; a branch whose sides meet at once goes; a region that only makes
unknown choices collapses to its exits.
"""

from __future__ import annotations

from kvlint.programs.ir import ANY, Const, Instr, Op, Var

PURE = frozenset({Op.SET, Op.MAX, Op.MIN, Op.CHUNK_FIELD})


def simplify(code: list[Instr]) -> list[Instr]:
    """The smaller program; instruction objects are reused."""
    entry = 0
    for _ in range(4):
        before = len(code)
        _fold_branches(code)
        entry = _thread_jumps(code, entry)
        code = _compact(code, entry)
        entry = 0
        _drop_dead_locals(code)
        if len(code) == before:
            break
    return code


def _fold_branches(code: list[Instr]) -> None:
    """Decide branches on constants; merge branches whose sides agree."""
    for instr in code:
        if instr.op is Op.BRANCH and instr.next == instr.alt:
            _make_jump(instr)
        elif instr.op is Op.BRANCH and instr.cond == "true" and isinstance(instr.args[0], Const):
            if instr.args[0] is not ANY and instr.args[0].value != ANY.value:
                if not truth_of(instr.args[0].value):
                    instr.next = instr.alt
                _make_jump(instr)
        elif instr.op is Op.CHOICE:
            instr.targets = tuple(t for t in instr.targets if t != instr.next)
            if not instr.targets:
                _make_jump(instr)


def truth_of(value: object) -> bool:
    """Truth of a known value; only called for values that have one."""
    from kvlint.programs.ir import EMPTY, PRESENT
    from kvlint.protocol.domain import Member

    if value is PRESENT:
        return True
    if value is EMPTY or value is None:
        return False
    if isinstance(value, Member):
        return bool(value.value)
    return bool(value)


def _make_jump(instr: Instr) -> None:
    instr.op = Op.JUMP
    instr.alt = -1
    instr.targets = ()
    instr.args = ()


def _thread_jumps(code: list[Instr], entry: int) -> int:
    final = {}

    def follow(pc: int) -> int:
        seen = []
        while pc not in final and 0 <= pc < len(code) and code[pc].op is Op.JUMP:
            if pc in seen:
                break
            seen.append(pc)
            pc = code[pc].next
        end = final.get(pc, pc)
        for passed in seen:
            final[passed] = end
        return end

    for instr in code:
        if instr.next >= 0:
            instr.next = follow(instr.next)
        if instr.alt >= 0:
            instr.alt = follow(instr.alt)
        instr.targets = tuple(sorted({follow(t) for t in instr.targets}))
    return follow(entry)


def _compact(code: list[Instr], entry: int) -> list[Instr]:
    """Keep what is reachable from the entry, in source order, entry first."""
    reachable = {entry}
    todo = [entry]
    while todo:
        for successor in code[todo.pop()].successors():
            if successor not in reachable:
                reachable.add(successor)
                todo.append(successor)
    order = [entry, *sorted(reachable - {entry})]
    place = {pc: i for i, pc in enumerate(order)}
    for pc in order:
        instr = code[pc]
        instr.next = place.get(instr.next, -1)
        instr.alt = place.get(instr.alt, -1)
        instr.targets = tuple(place[t] for t in instr.targets)
    return [code[pc] for pc in order]


def _drop_dead_locals(code: list[Instr]) -> None:
    """Assignments that nothing reads become jumps."""
    read = {arg.name for instr in code for arg in instr.args if isinstance(arg, Var)}
    for name in list(read):
        read.add(name.split("#")[0])
    for instr in code:
        if instr.op in PURE and instr.dst not in read:
            instr.dst = None
            _make_jump(instr)
