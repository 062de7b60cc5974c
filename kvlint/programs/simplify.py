"""Shrink a program without changing what it can do to a room.

Unreachable code and jumps go; a branch that cannot decide or whose sides do the same goes;
instructions that cannot be told apart are merged (partition refinement, as when a finite automaton
is minimised).
"""

from __future__ import annotations

from kvlint.programs.ir import EMPTY, PRESENT, UNKNOWN, Const, Instr, Op, Var
from kvlint.protocol.domain import Member

PURE = frozenset({Op.SET, Op.MAX, Op.MIN, Op.CHUNK_FIELD})
SILENT = PURE | {Op.BRANCH, Op.JUMP, Op.CHOICE}
MAX_ROUNDS = 8


def simplify(code: list[Instr]) -> list[Instr]:
    """The smaller program; instruction objects are reused."""
    entry = 0
    for _ in range(MAX_ROUNDS):
        before = len(code)
        _propagate_unknown(code)
        _fold_branches(code)
        entry = _thread_jumps(code, entry)
        entry = _merge(code, entry)
        code = _compact(code, entry)
        entry = 0
        changed = _drop_dead_locals(code)
        if len(code) == before and not changed:
            break
    return code


def _propagate_unknown(code: list[Instr]) -> None:
    """A local that is only ever unknown makes its readers unknown."""
    sources: dict[str, list[Instr]] = {}
    for instr in code:
        if instr.dst is not None:
            sources.setdefault(instr.dst, []).append(instr)
    unknown = {
        name
        for name, found in sources.items()
        if all(i.op is Op.SET and _unknown(i.args[0]) for i in found)
    }
    unknown -= {a.name for i in code if _tells(i) for a in i.args if isinstance(a, Var)}
    for instr in code:
        if instr.args and any(isinstance(a, Var) and a.name in unknown for a in instr.args):
            instr.args = tuple(
                Const(UNKNOWN) if isinstance(a, Var) and a.name in unknown else a
                for a in instr.args
            )


def _tells(instr: Instr) -> bool:
    """A comparison with a status, from which a run learns what an unknown local is."""
    return instr.op is Op.BRANCH and any(
        isinstance(a, Const) and isinstance(a.value, Member) for a in instr.args
    )


def _unknown(operand: object) -> bool:
    return isinstance(operand, Const) and operand.value is UNKNOWN


def _fold_branches(code: list[Instr]) -> None:
    """Decide branches on constants; forget operands that cannot decide."""
    for instr in code:
        if instr.op is Op.CHOICE:
            _fold_choice(instr, code)
        elif instr.op is Op.BRANCH:
            if instr.cond not in ("unknown", "frame", "length") and any(_unknown(a) for a in instr.args):
                if instr.cond != "in" or _unknown(instr.args[0]):
                    instr.cond, instr.args = "unknown", ()
            decided = _constant_branch(instr)
            if decided is not None:
                instr.next = instr.next if decided else instr.alt
                _make_jump(instr)


def _fold_choice(instr: Instr, code: list[Instr]) -> None:
    instr.targets = tuple(t for t in instr.targets if t != instr.next)
    after = code[instr.next] if instr.next >= 0 else None
    repeated = (
        after is not None
        and after.op is Op.CHOICE
        and after is not instr
        and set(instr.targets) <= set(after.targets)
    )
    if not instr.targets or repeated:
        _make_jump(instr)


def _constant_branch(instr: Instr) -> bool | None:
    if instr.next == instr.alt:
        return True
    if not instr.args or not all(isinstance(a, Const) for a in instr.args):
        return None
    values = [a.value for a in instr.args if isinstance(a, Const)]
    if instr.cond == "true":
        return truth_of(values[0])
    if instr.cond == "equal" and all(
        v is None or isinstance(v, (Member, bool)) for v in values
    ):
        return values[0] == values[1]
    if instr.cond == "equal" and None in values and PRESENT in values:
        return False
    return None


def truth_of(value: object) -> bool | None:
    """Truth of a known value."""
    if value is UNKNOWN:
        return None
    if value is PRESENT:
        return True
    if value is EMPTY or value is None:
        return False
    return bool(value.value if isinstance(value, Member) else value)


def _make_jump(instr: Instr) -> None:
    instr.op = Op.JUMP
    instr.alt = -1
    instr.targets = ()
    instr.args = ()
    instr.dst = None


def _thread_jumps(code: list[Instr], entry: int) -> int:
    final: dict[int, int] = {}

    def follow(pc: int) -> int:
        seen: list[int] = []
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


def _merge(code: list[Instr], entry: int) -> int:
    """Let instructions that do the same and go on alike be one (Moore's refinement)."""
    classes = _number([_signature(i, pc, code) for pc, i in enumerate(code)])
    while True:
        refined = _number(
            [
                (
                    classes[pc],
                    classes[i.next] if i.next >= 0 else -1,
                    classes[i.alt] if i.alt >= 0 else -1,
                    tuple(sorted({classes[t] for t in i.targets})),
                )
                for pc, i in enumerate(code)
            ]
        )
        if max(refined, default=0) == max(classes, default=0):
            break
        classes = refined
    first: dict[int, int] = {}
    for pc, number in enumerate(classes):
        first.setdefault(number, pc)
    for instr in code:
        instr.next = first[classes[instr.next]] if instr.next >= 0 else -1
        instr.alt = first[classes[instr.alt]] if instr.alt >= 0 else -1
        instr.targets = tuple(sorted({first[classes[t]] for t in instr.targets}))
    return first[classes[entry]]


def _signature(instr: Instr, pc: int, code: list[Instr]) -> object:
    where: object = None
    if instr.op not in SILENT:
        where = (id(instr.where.node), tuple(id(w.node) for w in instr.stack))
    return (instr.op, where, instr.dst, instr.name, instr.args, instr.cond, instr.note)


def _number(keys: list[object]) -> list[int]:
    seen: dict[object, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


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


def _drop_dead_locals(code: list[Instr]) -> bool:
    """Assignments that nothing reads become jumps; says whether there were any."""
    read = {arg.name for instr in code for arg in instr.args if isinstance(arg, Var)}
    changed = False
    for instr in code:
        if instr.op in PURE and instr.dst not in read:
            _make_jump(instr)
            changed = True
    return changed
