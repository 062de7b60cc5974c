"""Make the system of a protocol: lower its programs, cut them down to what can matter to a room."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.discover.project import ClassInfo
from kvlint.programs.answers import STRANGER
from kvlint.programs.guards import contended_locks
from kvlint.programs.ir import Const, Op, Program
from kvlint.programs.lower import lower_method, lower_root
from kvlint.programs.machine import Outside
from kvlint.programs.slicing import relevant_locks, sliced, tracked_tables
from kvlint.protocol.facts import call_name, terminal_name
from kvlint.protocol.model import Frame, Protocol, ThreadRoot
from kvlint.search.kinds import (
    ABORT_WORDS,
    POLL_WORDS,
    Entry,
    operation_kind,
    thread_kind,
    touches_room,
)
from kvlint.search.system import Operation, System, Thread

PUTS = frozenset({"put", "put_nowait", "append", "appendleft"})


def build_system(protocol: Protocol, frames: tuple[Frame, ...]) -> System:
    """Lower everything of one protocol; `frames` are the messages its peers may send."""
    system = System(protocol)
    roots = _lowered_roots(protocol, system)
    entries = list(_lowered_entries(protocol))
    programs = [p for _, p in roots] + [p for _, _, p in entries]
    outside = _open_queues(protocol, programs)
    system.tracked = tracked_tables(programs, protocol.status_table, protocol.tables)
    system.main_queues = _main_queues([p for _, _, p in entries], [p for _, p in roots])
    locks = relevant_locks(programs, system.tracked)
    system.locks = contended_locks(_users(protocol, roots, entries), system.tracked, locks)
    system.fields = _closed_fields(system, entries)
    table, late = protocol.status_table, system.fields - _polled_fields(entries)
    for root, program in roots:
        small = sliced(program, system.tracked, system.locks, system.fields, table, late)
        if touches_room(system, small):
            system.threads.append(Thread(thread_kind(small), root, program, small))
    for entry in entries:
        cls, name, program = entry
        small = sliced(program, system.tracked, system.locks, system.fields, table, late)
        kind = operation_kind(system, entry, small)
        if kind:
            system.operations.append(Operation(kind, cls, name, program, small))
    system.frames = (*(frames or _tags(system)), *(Outside(name) for name in outside))
    return system


def _users(
    protocol: Protocol, roots: list[tuple[ThreadRoot, Program]], entries: list[Entry]
) -> list[list[Program]]:
    """The programs by the thread that runs them, each entry point as if it had one of its own.

    Without a holder, somebody else may at the same time call what the scheduler calls.
    """
    called = [program for _, _, program in entries]
    threads = [[program] for _, program in roots]
    return [*threads, *([program] for program in called), *([] if protocol.holders else [called])]


def _polled_fields(entries: list[Entry]) -> frozenset[str]:
    """Fields that polling may look at: what it says is asked for without its being a step."""
    return frozenset(
        instr.name
        for _, name, program in entries
        for instr in (program.code if name.startswith(POLL_WORDS) else ())
        if instr.op is Op.FIELD_LOAD
    )


def _main_queues(entries: list[Program], threads: list[Program]) -> frozenset[str] | None:
    """The queues that the scheduler feeds; None if it feeds none, then all are one.

    A queue that is handed to its thread as an argument has no name there: it is the fed one.
    """
    fed = {i.name for p in entries for i in p.code if i.op is Op.PUT}
    if not fed:
        fed_by_threads = {i.name for p in threads for i in p.code if i.op is Op.PUT}
        taken = {i.name for p in threads for i in p.code if i.op is Op.TAKE}
        fed = taken - fed_by_threads
    return frozenset(fed | {""}) if fed else None


def _open_queues(protocol: Protocol, programs: list[Program]) -> list[str]:
    """Queues that nobody in this tree feeds, beside others that are fed: messages come from them.

    Taking from such a queue becomes receiving, in place.
    """
    fed = {i.name for p in programs for i in p.code if i.op is Op.PUT}
    if not fed:
        return []
    fed |= {
        terminal_name(call.func.value) or ""
        for fact in protocol.facts.values()
        for name, call, _ in fact.calls
        if name in PUTS and isinstance(call.func, ast.Attribute)
    }
    found: dict[str, None] = {}
    for program in programs:
        taken = {
            pc: instr.name
            for pc, instr in enumerate(program.code)
            if instr.op is Op.TAKE and instr.name and instr.name not in fed
        }
        if taken:
            program.change(dict.fromkeys(taken, Op.RECV))
            found.update(dict.fromkeys(taken.values()))
    return list(found)


def _lowered_roots(protocol: Protocol, system: System) -> list[tuple[ThreadRoot, Program]]:
    found = []
    for root in protocol.roots:
        program = lower_root(protocol, root)
        if program is None:
            line = getattr(root.origin, "lineno", 1)
            system.gaps.append((line, f"thread target `{root.name}` could not be resolved"))
        else:
            found.append((root, program))
            line = getattr(root.origin, "lineno", 1)
            system.gaps.extend((line, text) for text in program.cut)
    return found


def _lowered_entries(protocol: Protocol) -> Iterator[Entry]:
    """Public methods that nothing inside the protocol calls, and the holders' methods.

    Where the settings name entry points, those methods and the holders' constructors.
    """
    internal = _internal(protocol)
    classes: tuple[ClassInfo, ...] = protocol.holders or (protocol.manager, *protocol.components)
    for cls in classes:
        holder = cls in protocol.holders
        seen: set[str] = set()
        for owner in cls.mro:
            for name in owner.methods:
                if name in seen:
                    continue
                seen.add(name)
                if name == "__init__":
                    if not holder:
                        continue
                elif protocol.entry_points:
                    if name not in protocol.entry_points:
                        continue
                elif name.startswith("_") or (not holder and name in internal):
                    continue
                if not protocol.relevance.matters(owner.methods[name]):
                    continue
                program = lower_method(protocol, cls, name)
                if program is not None:
                    yield cls, name, program


def _internal(protocol: Protocol) -> set[str]:
    """Methods of the manager that nobody outside is taken to call, public or not.

    Polls and aborts are for outside callers, even where the manager uses them as well.
    """
    inside = {
        name
        for name in _called_inside(protocol)
        if not (name.startswith(POLL_WORDS) or ABORT_WORDS.search(name))
    }
    return inside | {root.name for root in protocol.roots} | set(protocol.updaters)


def _called_inside(protocol: Protocol) -> set[str]:
    """Methods that the protocol's own code calls on itself."""
    return {
        name
        for cls in protocol.classes
        if cls in protocol.facts
        for name, call, _ in protocol.facts[cls].calls
        if _on_own_object(call, protocol)
    }


def _on_own_object(call: ast.Call, protocol: Protocol) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    receiver = terminal_name(call.func.value)
    return receiver in ("self", "cls") or receiver in protocol.objects


def _closed_fields(system: System, entries: list[Entry]) -> frozenset[str]:
    """Holder fields that only the modelled operations write; others are unknown."""
    protocol = system.protocol
    closed = protocol.fields - _opaque_fields(protocol)
    writers: dict[str, set[str]] = {}
    for holder in protocol.holders:
        for cls in holder.mro:
            fact = protocol.facts.get(cls)
            for name, assigned in fact.attributes.items() if fact is not None else ():
                if name in closed:
                    outer = {scope.chain[0].name for _, scope in assigned}
                    writers.setdefault(name, set()).update(outer)
    public = {outer for of in writers.values() for outer in of if not outer.startswith("_")}
    strange = public - {name for name in public if _is_operation(system, entries, name)}
    return frozenset(name for name in closed if not writers.get(name, set()) & strange)


def _is_operation(system: System, entries: list[Entry], name: str) -> bool:
    """Whether an entry point becomes an operation, told before the fields are known."""
    table = system.protocol.status_table
    return any(
        bool(
            operation_kind(
                system,
                entry,
                sliced(entry[2], system.tracked, system.locks, frozenset(), table),
            )
        )
        for entry in entries
        if entry[1] == name
    )


def _opaque_fields(protocol: Protocol) -> set[str]:
    """Fields that hold None until they hold something unknown: time stamps, handles.

    A field that only ever holds None stays known: nothing will be there.
    """
    kinds: dict[str, set[str]] = {}
    for holder in protocol.holders:
        for cls in holder.mro:
            fact = protocol.facts.get(cls)
            for name, assigned in fact.attributes.items() if fact is not None else ():
                kinds.setdefault(name, set()).update(_kind_of(value) for value, _ in assigned)
    return {name for name, of in kinds.items() if "unknown" in of and "latch" not in of}


def _kind_of(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return "none" if value.value is None else "latch"
    if isinstance(value, (ast.Attribute, ast.Name)):
        return "latch"
    asked = isinstance(value, ast.Call) and (call_name(value) or "").startswith(POLL_WORDS)
    return "latch" if asked else "unknown"


def _tags(system: System) -> Iterator[object]:
    """Without a known peer: every tag the loops look for, and a stranger's frame."""
    seen: dict[object, None] = {}
    for thread in system.threads:
        for instr in thread.program.code:
            if instr.op is Op.BRANCH and instr.cond == "frame":
                index, literal = instr.args[1], instr.args[2]
                if isinstance(index, Const) and index.value == 0 and isinstance(literal, Const):
                    tag = literal.value
                    seen.setdefault(tag.decode() if isinstance(tag, bytes) else tag)
    if any(i.op is Op.RECV and not i.name for t in system.threads for i in t.program.code):
        yield from seen
        yield STRANGER
