"""Cut programs down to what can matter to one room, before any search.

A side table matters if something looks at it and something removes from it; a lock matters if it
guards a tracked access. Everything else becomes a jump, and what then does the same is merged.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvlint.programs.ir import ANY, UNKNOWN, Abstract, Instr, Op, Program, Var
from kvlint.programs.simplify import simplify

LOOKS = frozenset({Op.TEST, Op.LOAD, Op.SETDEFAULT})
TABLE_OPS = frozenset({Op.LOAD, Op.TEST, Op.STORE, Op.POP, Op.SETDEFAULT, Op.ITER})


def tracked_tables(
    programs: Iterable[Program], status_table: str, room_tables: frozenset[str]
) -> frozenset[str]:
    """The status table and the side tables whose presence decides something."""
    looked: set[str] = set()
    removed: set[str] = set()
    for program in programs:
        copies = _copies(program)
        used = {
            a.name
            for i in program.code
            if i.op is Op.BRANCH
            for a in i.args
            if isinstance(a, Var)
        }
        for instr in program.code:
            if instr.op is Op.TEST or (instr.op in LOOKS and instr.alt >= 0):
                looked.add(instr.name)
            elif instr.op in LOOKS and _flows(copies, instr.dst, used):
                looked.add(instr.name)
            elif instr.op is Op.POP:
                removed.add(instr.name)
                if instr.alt >= 0:
                    looked.add(instr.name)
    return frozenset(looked & removed & room_tables) | {status_table}


def _copies(program: Program) -> dict[str, set[str]]:
    """The locals that each local is copied to."""
    found: dict[str, set[str]] = {}
    for instr in program.code:
        if instr.op is Op.SET and instr.dst is not None and isinstance(instr.args[0], Var):
            found.setdefault(instr.args[0].name, set()).add(instr.dst)
    return found


def _flows(copies: dict[str, set[str]], name: str | None, used: set[str]) -> bool:
    """Whether a local reaches a branch, directly or through copies."""
    seen = {name}
    todo = [name]
    while todo:
        local = todo.pop()
        if local in used:
            return True
        fresh = copies.get(local or "", set()) - seen
        seen |= fresh
        todo.extend(fresh)
    return False


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
    program: Program, tracked: frozenset[str], locks: frozenset[str], fields: frozenset[str]
) -> Program:
    """A copy of the program with everything else taken out; not to be changed."""
    noise = [_is_noise(instr, tracked, locks, fields) for instr in program.code]
    key = bytes(noise)
    if key not in program.slices:
        code = [_copy(instr) for instr in program.code]
        for instr, silent in zip(code, noise, strict=True):
            if silent:
                _silence(instr)
        forget_opaque(code)
        program.slices[key] = Program(
            program.name, program.title, simplify(code), program.kind, program.cut
        )
    return program.slices[key]


def _copy(instr: Instr) -> Instr:
    """`copy.copy` without its detours."""
    new = Instr.__new__(Instr)
    new.__dict__.update(instr.__dict__)
    return new


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
            if name not in opaque and all(_is_opaque(i, opaque) for i in found):
                if any(_says_unknown(i, opaque) for i in found):
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


def _says_unknown(instr: Instr, opaque: set[str]) -> bool:
    operand = instr.args[0]
    return isinstance(operand, Var) or operand.value is UNKNOWN
