"""Cut programs down to what can matter to one room, before any search.

A side table matters if something looks at it and something removes from it; a lock matters if it
guards a tracked access. Everything else becomes a jump, and what then does the same is merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvlint.programs.ir import ANY, UNKNOWN, Abstract, Const, Instr, Op, Program, Var, copied
from kvlint.programs.late import leave_open
from kvlint.programs.simplify import simplify
from kvlint.protocol.domain import Member

CHANGES = frozenset({Op.STORE, Op.POP, Op.SETDEFAULT})
FILLS = frozenset({Op.STORE, Op.SETDEFAULT})
TELLING = frozenset({"true", "equal", "nonempty", "in"})
LOOKS = frozenset({Op.TEST, Op.LOAD, Op.POP, Op.SETDEFAULT})
RESULTS = frozenset({Op.LOAD, Op.POP, Op.SETDEFAULT})
TABLE_OPS = frozenset({Op.LOAD, Op.TEST, Op.STORE, Op.POP, Op.SETDEFAULT, Op.ITER})


def tracked_tables(
    programs: Iterable[Program], status_table: str, room_tables: frozenset[str]
) -> frozenset[str]:
    """The status table and the side tables whose presence decides something."""
    decisive: set[str] = set()
    removed: set[str] = set()
    for program in programs:
        removed |= {i.name for i in program.code if i.op is Op.POP}
        looked = {i.name for i in program.code if i.op in LOOKS and i.name in room_tables}
        decisive |= {n for n in looked - decisive if _decides(program, n, status_table)}
    return frozenset(decisive & removed) | {status_table}


def _decides(program: Program, name: str, status_table: str) -> bool:
    """Whether the way of some fork depends on what a table holds, and its sides differ."""
    key = (name, status_table)
    if key not in program.decided:
        effects: dict[int, frozenset[int]] = {-1: frozenset()}
        program.decided[key] = any(
            _differ(program, fork, status_table, effects) for fork in _forks(program, name)
        )
    return program.decided[key]


def _forks(program: Program, name: str) -> Iterator[Instr]:
    """The instructions whose way depends on whether a table has the room."""
    looks = [i for i in program.code if i.name == name and i.op in LOOKS]
    for look in looks:
        if look.op is Op.TEST or (look.op is not Op.SETDEFAULT and look.alt >= 0):
            yield look
    results = {i.dst for i in looks if i.op is not Op.TEST and i.dst is not None}
    names = _copies(program, results)
    for instr in program.code if names else ():
        if (
            instr.op is Op.BRANCH
            and instr.cond in TELLING
            and any(isinstance(a, Var) and a.name in names for a in instr.args)
        ):
            yield instr


def _copies(program: Program, names: set[str]) -> set[str]:
    """These locals and those that they are copied to."""
    names = set(names)
    changed = bool(names)
    while changed:
        changed = False
        for instr in program.code:
            if instr.op is Op.SET and instr.dst is not None and instr.dst not in names:
                operand = instr.args[0]
                if isinstance(operand, Var) and operand.name in names:
                    names.add(instr.dst)
                    changed = True
    return names


def _differ(program: Program, fork: Instr, table: str, effects: dict[int, frozenset[int]]) -> bool:
    """Whether the two ways of a fork can do different things to the room in this iteration."""
    for pc in (fork.next, fork.alt):
        if pc not in effects:
            effects[pc] = _effects(program, pc, table)
    return effects[fork.next] != effects[fork.alt]


def _effects(program: Program, start: int, status_table: str) -> frozenset[int]:
    """The instructions with an effect on the room that can be reached in the same iteration."""
    seen: set[int] = set()
    todo = [start]
    found: set[int] = set()
    while todo:
        pc = todo.pop()
        if pc in seen or pc < 0:
            continue
        seen.add(pc)
        instr = program.code[pc]
        if (
            instr.op in (Op.PUT, Op.DEAD)
            or _picks_status(instr)
            or (instr.op in CHANGES and instr.name == status_table)
        ):
            found.add(pc)
        if instr.op not in (Op.TAKE, Op.RECV):
            todo.extend(instr.successors())
    return frozenset(found)


def _picks_status(instr: Instr) -> bool:
    """Whether a status is chosen here that is stored, or returned, later."""
    operand = instr.args[0] if instr.op is Op.SET else None
    return isinstance(operand, Const) and isinstance(operand.value, Member)


def relevant_locks(programs: Iterable[Program], tracked: frozenset[str]) -> frozenset[str]:
    """Locks that are held around an access to a tracked table."""
    return frozenset(
        lock
        for program in programs
        for instr in program.code
        if instr.op in TABLE_OPS and instr.name in tracked
        for lock in instr.held
    )


def sliced(
    program: Program,
    tracked: frozenset[str],
    locks: frozenset[str],
    fields: frozenset[str],
    status_table: str,
    late: frozenset[str] = frozenset(),
) -> Program:
    """A copy of the program with everything else taken out; not to be changed.

    `late` are the fields whose value may be left open until somebody looks.
    """
    noise = [_is_noise(instr, tracked, locks, fields) for instr in program.code]
    key = (program.name, status_table, late, bytes(noise))
    if key not in program.slices:
        code = [copied(instr) for instr in program.code]
        for instr, silent in zip(code, noise, strict=True):
            if silent:
                _silence(instr)
            elif instr.op in FILLS and instr.name != status_table:
                instr.args = (ANY,)  # only that there is something counts
        forget_opaque(code)
        code = simplify(code)
        # What a watcher does in one turn is counted by its looks and waits.
        turns = program.kind == "thread" and not any(i.op in (Op.TAKE, Op.RECV) for i in code)
        while leave_open(code, late) or (not turns and _forget_results(code)):
            code = simplify(code)
        program.slices[key] = Program(program.name, program.title, code, program.kind, program.cut)
    return program.slices[key]


def _is_noise(
    instr: Instr, tracked: frozenset[str], locks: frozenset[str], fields: frozenset[str]
) -> bool:
    if instr.op in (Op.LOCK, Op.UNLOCK):
        return instr.name not in locks
    if instr.op is Op.ITER or (instr.op is Op.STORE and instr.note == "inner"):
        return True
    if instr.op in (Op.FIELD_LOAD, Op.FIELD_STORE):
        return instr.name not in fields
    if instr.op is Op.NULLABLE:
        return True
    return instr.op in TABLE_OPS and instr.name not in tracked


def _silence(instr: Instr) -> None:
    """Keep the control flow; a value that was read is unknown from now on."""
    if instr.op is Op.TEST:
        instr.op, instr.cond, instr.args = Op.BRANCH, "unknown", ()
    elif instr.dst is not None and instr.op in (Op.LOAD, Op.POP, Op.SETDEFAULT, Op.FIELD_LOAD):
        instr.op, instr.args, instr.alt = Op.SET, (ANY,), -1
    else:
        instr.op, instr.args, instr.alt, instr.dst = Op.JUMP, (), -1, None


def _forget_results(code: list[Instr]) -> bool:
    """Take out what is read from a table and never used; says whether there was anything.

    A removal or a default that is filled in stays, but no longer looks at what is there.
    """
    used = {arg.name for instr in code for arg in instr.args if isinstance(arg, Var)}
    changed = False
    for instr in code:
        if instr.op not in RESULTS or instr.alt >= 0 or instr.dst is None or instr.dst in used:
            continue
        changed = True
        instr.dst = None
        if instr.op is Op.LOAD:
            instr.op, instr.args = Op.JUMP, ()
    return changed


def forget_opaque(code: list[Instr]) -> None:
    """Locals that only ever hold None or something unknown are unknown from the start.

    They stand for caches and handles; keeping apart whether they are set yet would double the
    states of a thread and decide nothing about the room. This only adds behaviour.
    """
    sources: dict[str, list[Instr]] = {}
    for instr in code:
        if instr.dst is not None:
            sources.setdefault(instr.dst, []).append(instr)
    opaque: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name, found in sources.items():
            if (
                name not in opaque
                and all(_is_opaque(i, opaque) for i in found)
                and any(_says_unknown(i) for i in found)
            ):
                opaque.add(name)
                changed = True
    for instr in code:
        if instr.op is Op.SET and instr.dst in opaque:
            instr.args = (ANY,)


def _is_opaque(instr: Instr, opaque: set[str]) -> bool:
    if instr.op is not Op.SET:
        return False
    operand = instr.args[0]
    if isinstance(operand, Var):
        return operand.name in opaque
    return operand.value is None or isinstance(operand.value, Abstract)


def _says_unknown(instr: Instr) -> bool:
    operand = instr.args[0]
    return isinstance(operand, Var) or operand.value is UNKNOWN
