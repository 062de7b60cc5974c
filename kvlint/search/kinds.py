"""What threads and entry points are for, told from what their programs do to the room."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvlint.discover.project import ClassInfo
from kvlint.programs.ir import Op, Program
from kvlint.programs.machine import Shared
from kvlint.tables import outcomes

if TYPE_CHECKING:
    from kvlint.search.system import System

POLL_WORDS = ("poll", "check", "peek", "state", "status", "lookup", "result", "read")
ABORT_WORDS = re.compile(r"^(abort|cancel|fail|kill)")
CLOSE_WORDS = re.compile(
    r"clear|close|drop|forget|retire|release|remove|clean|free|delete|discard|evict|reset|failure"
)
EFFECTS = frozenset({Op.STORE, Op.POP, Op.SETDEFAULT, Op.PUT})

Entry = tuple[ClassInfo, str, Program]  # class, method, its full program


def touches_room(system: System, program: Program) -> bool:
    """Whether a thread takes, receives, or changes anything of a room."""
    return any(
        i.op in (Op.TAKE, Op.RECV) or (i.op in EFFECTS and i.name in system.tracked)
        for i in program.code
    )


def thread_kind(program: Program) -> str:
    """What a thread root is, from what it waits for: consumer, control, task or ticker."""
    ops = {i.op for i in program.code}
    if Op.TAKE in ops:
        return "consumer"
    if Op.RECV in ops:
        return "control"
    ends = any(i.op is Op.END for i in program.code)
    return "task" if ends and not _loops(program) else "ticker"


def _loops(program: Program) -> bool:
    """Whether the program can come back to a point where it waits."""
    for start, instr in enumerate(program.code):
        if instr.op is not Op.WINDOW:
            continue
        seen: set[int] = set()
        todo = list(instr.successors())
        while todo:
            pc = todo.pop()
            if pc == start:
                return True
            if pc not in seen:
                seen.add(pc)
                todo.extend(program.code[pc].successors())
    return False


def operation_kind(system: System, entry: Entry, program: Program) -> str:
    """What an entry point is for, from what it does to the room; `program` is its slice."""
    cls, name, full = entry
    table = system.protocol.status_table
    looks = any(i.op is Op.LOAD and i.name == table for i in full.code)  # used or not
    stores = [i for i in program.code if i.op in (Op.STORE, Op.SETDEFAULT) and i.name == table]
    ops = {i.op for i in program.code}
    removes = any(i.op is Op.POP and i.name == table for i in program.code)
    if name == "__init__" and cls in system.protocol.holders:
        return "open"
    if name.startswith(POLL_WORDS) and looks:
        return "poll"
    creates = bool(stores) and _creates(system, program)
    if name == "__init__":
        return "open" if creates else ""
    if Op.PUT in ops and not creates:
        return "feed"
    if removes and not stores:
        return "step" if looks and not CLOSE_WORDS.search(name) else "close"
    if creates:
        return "open"
    touches = any(i.op in EFFECTS and i.name in system.tracked for i in program.code)
    if not touches:
        return ""
    if cls in system.protocol.holders:
        return "abort" if stores and not removes else ""
    helps = _finishes(system, program) or only_adds(system, program)
    return "finish" if helps else "other"


def only_adds(system: System, program: Program) -> bool:
    """Whether running it can only fill side tables: the ordinary course of a request needs it."""
    tracked = [i for i in program.code if i.op in EFFECTS and i.name in system.tracked]
    return bool(tracked) and all(
        i.op in (Op.STORE, Op.SETDEFAULT) and i.name != system.protocol.status_table
        for i in tracked
    )


def _finishes(system: System, program: Program) -> bool:
    """Whether the operation can take a live room to success."""
    domain = system.protocol.domain
    machine = system.machine(program, 1)
    sides = system.tracked - {system.protocol.status_table}
    for status in domain.members:
        if not domain.is_terminal(status):
            ends = outcomes(machine, Shared(status, frozenset(sides)))
            if any(r is not None and r.name in domain.successes for r in ends):
                return True
    return False


def _creates(system: System, program: Program) -> bool:
    """Whether the operation can give an absent room a status that is not terminal."""
    machine = system.machine(program, 1)
    results = outcomes(machine, Shared())
    return any(r is not None and not system.protocol.domain.is_terminal(r) for r in results)
