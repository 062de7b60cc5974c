"""Shrink a program without changing what it can do to a room.

Unreachable code and jumps go; a branch that cannot decide or whose sides do the same goes;
instructions that cannot be told apart are merged (partition refinement, as when a finite automaton
is minimised).
"""

from __future__ import annotations

from kvlint.programs.answers import truth
from kvlint.programs.ir import ANY, PRESENT, UNKNOWN, Const, Instr, Op, Var
from kvlint.protocol.domain import Member

PURE = frozenset({Op.SET, Op.MAX, Op.MIN, Op.CHUNK_FIELD})
SILENT = PURE | {Op.BRANCH, Op.JUMP, Op.CHOICE}
MAX_ROUNDS = 8
JUMPS, NOTHING = -1, -2  # the classes of all jumps and of no successor (index -1)


def simplify(code: list[Instr]) -> list[Instr]:
    """The smaller program; instruction objects are reused."""
    entry, loops = _thread_jumps(code, 0)
    code = _compact(code, entry)  # what nobody comes to would cost time in every round
    looks = _Looks()
    for _ in range(MAX_ROUNDS):
        code, loops = _shrink(code, loops)
        before = len(code)
        code = _compact(code, _merge(code, 0, looks, loops))
        if len(code) == before:
            break
    return code


def _shrink(code: list[Instr], loops: bool) -> tuple[list[Instr], bool]:
    """All that costs one look at each instruction, so that merging has less to compare."""
    while True:
        changed = _drop_dead_locals(code)
        changed = _propagate_unknown(code) or changed
        changed = _fold_branches(code) or changed
        if not changed:
            return code, loops
        entry, loops = _thread_jumps(code, 0)
        code = _compact(code, entry)


def _propagate_unknown(code: list[Instr]) -> bool:
    """A local that is only ever unknown makes its readers unknown; says whether there were any."""
    changed = False
    told: set[str] | None = None
    while True:
        unknown: dict[str, bool] = {}
        for instr in code:
            if instr.dst is not None and unknown.get(instr.dst, True):
                unknown[instr.dst] = instr.op is Op.SET and _unknown(instr.args[0])
        names = {name for name, always in unknown.items() if always}
        if names and told is None:
            told = {a.name for i in code if _tells(i) for a in i.args if isinstance(a, Var)}
        if not names or not _forget(code, names - (told or set())):
            return changed
        changed = True


def _forget(code: list[Instr], names: set[str]) -> bool:
    """Make these locals unknown where they are read."""
    changed = False
    for instr in code if names else ():
        for arg in instr.args:
            if isinstance(arg, Var) and arg.name in names:
                instr.args = tuple(
                    ANY if isinstance(a, Var) and a.name in names else a for a in instr.args
                )
                changed = True
                break
    return changed


def _tells(instr: Instr) -> bool:
    """A comparison with a status, from which a run learns what an unknown local is."""
    return instr.op is Op.BRANCH and any(
        isinstance(a, Const) and isinstance(a.value, Member) for a in instr.args
    )


def _unknown(operand: object) -> bool:
    return isinstance(operand, Const) and operand.value is UNKNOWN


def _fold_branches(code: list[Instr]) -> bool:
    """Decide branches on constants; forget operands that cannot decide; says whether it did."""
    changed = False
    for instr in code:
        if instr.op is Op.CHOICE:
            changed = _fold_choice(instr, code) or changed
        elif instr.op is Op.BRANCH:
            if _undecidable(instr):
                instr.cond, instr.args = "unknown", ()
                changed = True
            decided = _constant_branch(instr)
            if decided is not None:
                instr.next = instr.next if decided else instr.alt
                _make_jump(instr)
                changed = True
    return changed


def _undecidable(instr: Instr) -> bool:
    if instr.cond in ("unknown", "frame", "length", "number"):
        return False
    if instr.cond == "in":
        return _unknown(instr.args[0])
    return any(_unknown(a) for a in instr.args)


def _fold_choice(instr: Instr, code: list[Instr]) -> bool:
    targets = tuple([t for t in instr.targets if t != instr.next])
    after = code[instr.next] if instr.next >= 0 else None
    repeated = (
        after is not None
        and after.op is Op.CHOICE
        and after is not instr
        and set(targets) <= set(after.targets)
    )
    changed = len(targets) != len(instr.targets)
    instr.targets = targets
    if not targets or repeated:
        _make_jump(instr)
        return True
    return changed


def _constant_branch(instr: Instr) -> bool | None:
    if instr.next == instr.alt:
        return True
    if not instr.args or not all(isinstance(a, Const) for a in instr.args):
        return None
    values = [a.value for a in instr.args if isinstance(a, Const)]
    if instr.cond == "true":
        return truth(values[0])
    if instr.cond == "equal" and all(v is None or isinstance(v, (Member, bool)) for v in values):
        return values[0] == values[1]
    if instr.cond == "equal" and None in values and PRESENT in values:
        return False
    return None


def _make_jump(instr: Instr) -> None:
    instr.op = Op.JUMP
    instr.alt = -1
    instr.targets = ()
    instr.args = ()
    instr.dst = None


def _thread_jumps(code: list[Instr], entry: int) -> tuple[int, bool]:
    """The new entry, and whether some jump leads to nothing but jumps (an empty loop)."""
    jumps = [pc for pc, instr in enumerate(code) if instr.op is Op.JUMP]
    if not jumps:
        return entry, False
    final = _ends(code, jumps)
    for instr in code:
        if instr.next in final:
            instr.next = final[instr.next]
        if instr.alt in final:
            instr.alt = final[instr.alt]
        if instr.targets:
            instr.targets = tuple(sorted({final.get(t, t) for t in instr.targets}))
    loops = any(end >= 0 and code[end].op is Op.JUMP for end in final.values())
    return final.get(entry, entry), loops


def _ends(code: list[Instr], jumps: list[int]) -> dict[int, int]:
    """Where each jump leads in the end; in an empty loop, to a jump in it."""
    final: dict[int, int] = {}
    for pc in jumps:
        passed: dict[int, None] = {}
        while pc not in final and pc not in passed and pc >= 0 and code[pc].op is Op.JUMP:
            passed[pc] = None
            pc = code[pc].next
        end = final.get(pc, pc)
        for seen in passed:
            final[seen] = end
    return final


class _Looks:
    """Numbers for what instructions do by themselves; kept while one program shrinks."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._known: dict[Instr, tuple[Op, object, str, int]] = {}
        self._stacks: dict[int, object] = {}

    def of(self, instr: Instr) -> int:
        """Equal for two instructions that do the same."""
        if instr.op is Op.JUMP:
            return JUMPS
        # An instruction changes by getting other operands or another operation.
        op, args, cond = instr.op, instr.args, instr.cond
        known = self._known.get(instr)
        if known is not None and known[0] is op and known[1] is args and known[2] == cond:
            return known[3]
        number = self._numbers.setdefault(self._signature(instr), len(self._numbers))
        self._known[instr] = (op, args, cond, number)
        return number

    def _signature(self, instr: Instr) -> object:
        where: object = None
        if instr.op not in SILENT:
            stack = self._stacks.get(id(instr.stack))
            if stack is None:
                stack = self._stacks[id(instr.stack)] = tuple(id(w.node) for w in instr.stack)
            where = (id(instr.where.node), stack)
        return (instr.op, where, instr.dst, instr.name, instr.args, instr.cond, instr.note)


def _merge(code: list[Instr], entry: int, looks: _Looks, loops: bool) -> int:
    """Let instructions that do the same and go on alike be one (Moore's refinement)."""
    of = looks.of
    classes = [of(instr) for instr in code]
    classes.append(NOTHING)
    members: dict[int, list[int]] = {}
    for pc, number in enumerate(classes):
        members.setdefault(number, []).append(pc)
    if not loops:
        members.pop(JUMPS, None)  # nothing goes to a jump any more
    _refine(code, classes, [group for group in members.values() if len(group) > 1])
    first: dict[int, int] = {}
    for pc, number in enumerate(classes):
        first.setdefault(number, pc)
    place = [first[number] for number in classes]
    for instr in code:
        if instr.next >= 0:
            instr.next = place[instr.next]
        if instr.alt >= 0:
            instr.alt = place[instr.alt]
        if instr.targets:
            instr.targets = tuple(sorted({place[t] for t in instr.targets}))
    return place[entry]


def _refine(code: list[Instr], classes: list[int], groups: list[list[int]]) -> None:
    """Split the groups until the members of each go on to the same classes.

    A group is a class with more than one member; all groups of a round look at the classes as
    the round before left them.
    """
    fresh = max(classes) + 1
    while groups:
        kept: list[list[int]] = []
        moved: list[tuple[int, list[int]]] = []
        for group in groups:
            parts: dict[object, list[int]] = {}
            for pc in group:
                instr = code[pc]
                on = instr.targets
                key = (
                    classes[instr.next],
                    classes[instr.alt],
                    tuple(sorted({classes[t] for t in on})) if on else on,
                )
                parts.setdefault(key, []).append(pc)
            split = list(parts.values())
            moved.extend((fresh + i, part) for i, part in enumerate(split[1:]))
            fresh += len(split) - 1
            kept += [part for part in split if len(part) > 1]
        for number, part in moved:
            for pc in part:
                classes[pc] = number
        groups = kept if moved else []


def _compact(code: list[Instr], entry: int) -> list[Instr]:
    """Keep what is reachable from the entry, in source order, entry first."""
    seen = bytearray(len(code) + 1)
    seen[entry] = seen[-1] = 1  # -1 is no successor
    todo = [entry]
    while todo:
        instr = code[todo.pop()]
        for successor in (instr.next, instr.alt):
            if not seen[successor]:
                seen[successor] = 1
                todo.append(successor)
        for successor in instr.targets:
            if not seen[successor]:
                seen[successor] = 1
                todo.append(successor)
    if entry == 0 and all(seen):
        return code
    order = [entry, *(pc for pc in range(len(code)) if seen[pc] and pc != entry)]
    place = [-1] * (len(code) + 1)  # the last stands for -1, no successor
    for new, pc in enumerate(order):
        place[pc] = new
    for pc in order:
        instr = code[pc]
        instr.next = place[instr.next]
        instr.alt = place[instr.alt]
        if instr.targets:
            instr.targets = tuple([place[t] for t in instr.targets])
    return [code[pc] for pc in order]


def _drop_dead_locals(code: list[Instr]) -> bool:
    """Assignments that nothing reads become jumps; says whether there were any."""
    reads: dict[str, int] = {}
    for instr in code:
        for arg in instr.args:
            if isinstance(arg, Var):
                reads[arg.name] = reads.get(arg.name, 0) + 1
    pure = [instr for instr in code if instr.op in PURE]
    changed = False
    while True:
        dead = [instr for instr in pure if not reads.get(instr.dst or "")]
        if not dead:
            return changed
        changed = True
        pure = [instr for instr in pure if reads.get(instr.dst or "")]
        for instr in dead:
            for arg in instr.args:
                if isinstance(arg, Var):
                    reads[arg.name] -= 1
            _make_jump(instr)
