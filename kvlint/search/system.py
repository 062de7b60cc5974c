"""One room's world: the threads that touch it, and what the scheduler and the peers may do.

The environment is data: which operations the scheduler has on a room (open, feed, poll, abort,
clear), which messages may arrive, and which single disturbance a run allows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvlint.discover.project import ClassInfo
from kvlint.programs.guards import contended_locks
from kvlint.programs.ir import Const, Op, Program
from kvlint.programs.lower import lower_method, lower_root
from kvlint.programs.machine import STRANGER, Machine, Outside, Shared
from kvlint.programs.slicing import relevant_locks, sliced, tracked_tables
from kvlint.protocol.facts import call_name, terminal_name
from kvlint.protocol.model import Frame, Protocol, ThreadRoot
from kvlint.search.liveness import fields_ahead
from kvlint.search.macro import Folder
from kvlint.tables import outcomes

if TYPE_CHECKING:
    from kvlint.search.arrows import Memo
    from kvlint.search.driver import Habits

POLL_WORDS = ("poll", "check", "peek", "state", "status", "lookup", "result", "read")
ABORT_WORDS = re.compile(r"^(abort|cancel|fail|kill)")
CLOSE_WORDS = re.compile(
    r"clear|close|drop|forget|retire|release|remove|clean|free|delete|discard|evict|reset|failure"
)
PUTS = frozenset({"put", "put_nowait", "append", "appendleft"})
EFFECTS = frozenset({Op.STORE, Op.POP, Op.SETDEFAULT, Op.PUT})

Entry = tuple[ClassInfo, str, Program]


@dataclass(eq=False)
class Operation:
    """Something that code outside the threads may call."""

    kind: str  # open, feed, step, poll, abort, close, finish, other
    cls: ClassInfo
    name: str
    full: Program
    program: Program


@dataclass(eq=False)
class Thread:
    """A thread root with its full and its sliced program."""

    kind: str  # consumer, control, ticker, task
    root: ThreadRoot
    full: Program
    program: Program


@dataclass(eq=False)
class System:
    """A protocol with all its programs."""

    protocol: Protocol
    threads: list[Thread] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    tracked: frozenset[str] = frozenset()
    locks: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    main_queues: frozenset[str] | None = None
    frames: tuple[object, ...] = ()
    gaps: list[tuple[int, str]] = field(default_factory=list)
    habits: Habits | None = None
    memos: dict[object, Memo] = field(default_factory=dict)
    _folders: dict[tuple[Program, int, bool], Folder] = field(default_factory=dict)
    _fields_ahead: dict[Program, list[frozenset[str]]] = field(default_factory=dict)

    @property
    def cooperative(self) -> bool:
        """Whether everything runs in one event loop."""
        return bool(self.threads) and all(_is_coroutine(t) for t in self.threads)

    def of_kind(self, kind: str) -> list[Operation]:
        """The operations of one kind."""
        return [o for o in self.operations if o.kind == kind]

    def folder(self, program: Program, thread: int, narrow: bool) -> Folder:
        """The leaps of a program when thread `thread` runs it; kept for all runs."""
        key = (program, thread, narrow)
        if key not in self._folders:
            twin = self._folders.get((program, thread, not narrow))
            machine = self.machine(program, thread) if twin is None else twin.machine
            self._folders[key] = Folder(machine, narrow, twin)
        return self._folders[key]

    def fields_ahead(self, program: Program, pc: int) -> frozenset[str]:
        """The fields that a program may still read, from an instruction on."""
        if program not in self._fields_ahead:
            self._fields_ahead[program] = fields_ahead(program)
        return self._fields_ahead[program][pc]

    def likeness(self) -> object:
        """What two systems share if every run of the search is the same for both."""
        programs = (
            *((t.kind, t.root.name, t.program) for t in self.threads),
            *((o.kind, o.name, o.program) for o in self.operations),
        )
        return (
            tuple((kind, name, _text(program)) for kind, name, program in programs),
            self.tracked,
            self.fields,
            tuple(str(f) for f in self.frames),
        )

    def cut(self) -> bool:
        """Whether some leap was too long to be worked out to its end."""
        return any(folder.cut for folder in self._folders.values())

    def machine(self, program: Program, thread: int) -> Machine:
        """A machine for one of the programs."""
        return Machine(
            program,
            self.protocol.domain,
            self.protocol.status_table,
            self.tracked,
            thread,
            self.main_queues,
        )


def _is_coroutine(thread: Thread) -> bool:
    origin = thread.root.origin
    return isinstance(origin, ast.Call) and call_name(origin) in ("ensure_future", "create_task")


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
        if _touches(small, system):
            system.threads.append(Thread(_thread_kind(small), root, program, small))
    for entry in entries:
        cls, name, program = entry
        small = sliced(program, system.tracked, system.locks, system.fields, table, late)
        kind = _operation_kind(system, entry, small)
        if kind:
            system.operations.append(Operation(kind, cls, name, program, small))
    system.frames = (*(frames or _tags(system)), *(Outside(name) for name in outside))
    return system


def _users(
    protocol: Protocol, roots: list[tuple[ThreadRoot, Program]], entries: list[Entry]
) -> list[list[Program]]:
    """The programs of each thread: without a holder, anybody may call what the scheduler calls."""
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
            _operation_kind(
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


def _touches(program: Program, system: System) -> bool:
    return any(
        i.op in (Op.TAKE, Op.RECV) or (i.op in EFFECTS and i.name in system.tracked)
        for i in program.code
    )


def _text(program: Program) -> tuple[object, ...]:
    return tuple(
        (
            i.op,
            id(i.where.node),
            i.name,
            i.args,
            i.cond,
            i.next,
            i.alt,
            i.targets,
            i.dst,
        )
        for i in program.code
    )


def _thread_kind(program: Program) -> str:
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


def _operation_kind(system: System, entry: Entry, program: Program) -> str:
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
