"""Small backends as text, lowered and run on the model: what the tests of this folder share."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kvlint.config import ProtocolOverrides
from kvlint.discover.project import load_project
from kvlint.programs.ir import Op, Program
from kvlint.programs.lower import lower_method, lower_root
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.detect import find_protocols
from kvlint.protocol.domain import Member
from kvlint.protocol.model import Protocol

HEAD = """
import queue
import threading
from enum import IntEnum


class Poll(IntEnum):
    Failed = 0
    Waiting = 1
    Moving = 2
    Success = 3


class Manager:
    def __init__(self, engine):
        self.engine = engine
        self.status = {}
        self.infos = {}
        self.marks = set()
        self.lock = threading.RLock()
        self.jobs = queue.Queue()
        threading.Thread(target=self.work, args=(0, None)).start()

    def open(self, room):
        self.infos[room] = {"peer": "address"}
        self.marks.add(room)
        self.status[room] = Poll.Waiting

    def put(self, room, status):
        self.status[room] = status

    def close(self, room):
        if room in self.infos:
            self.infos.pop(room, None)
        if room in self.marks:
            self.marks.discard(room)
        if self.status.get(room) in (Poll.Failed, Poll.Success):
            self.status.pop(room, None)

"""


@dataclass(frozen=True)
class End:
    """How one run ended: whether the thread survived, and what is left of the room."""

    alive: bool
    status: str | None
    sides: frozenset[str]


def protocols(
    source: str | Mapping[str, str], overrides: ProtocolOverrides | None = None
) -> list[Protocol]:
    """The protocols of one file, or of several by name."""
    files = {"backend.py": source} if isinstance(source, str) else source
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        project = load_project([folder], cwd=folder, prefilter=not overrides)
        assert not project.problems, project.problems
        return find_protocols(project, overrides or ProtocolOverrides())


def protocol(source: str | Mapping[str, str]) -> Protocol:
    """The only protocol of a source."""
    (found,) = protocols(source)
    return found


def manager(methods: str) -> str:
    """`HEAD` with these methods in the class; `work(self, room, env)` is what its thread runs."""
    return HEAD + textwrap.indent(textwrap.dedent(methods).strip("\n"), "    ") + "\n"


def worker(body: str) -> str:
    """A manager whose thread runs `body` once."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return manager(f"def work(self, room, env):\n{text}")


def method(found: Protocol, name: str = "work", *, raw: bool = False, **known: object) -> Program:
    """A lowered method of the manager; `raw` leaves the simplification out."""
    if raw:
        # Programs are remembered, simplified or not: the raw one gets memories of its own.
        with (
            patch("kvlint.programs.sharing.simplify", list),
            patch.object(found, "programs", {}),
            patch.object(found.project, "programs", {}),
        ):
            program = lower_method(found, found.manager, name, dict(known))  # type: ignore[arg-type]
    else:
        program = lower_method(found, found.manager, name, dict(known))  # type: ignore[arg-type]
    assert program is not None
    return program


def thread(found: Protocol, name: str) -> Program:
    """The lowered thread root of that name."""
    (root,) = [r for r in found.roots if r.name == name]
    program = lower_root(found, root)
    assert program is not None
    return program


def machine(found: Protocol, program: Program, tracked: Iterable[str] | None = None) -> Machine:
    """A machine that sees all tables, or only those named."""
    names = found.tables if tracked is None else frozenset(tracked)
    return Machine(program, found.domain, found.status_table, names)


def start(found: Protocol, status: str | None = "Waiting", sides: Iterable[str] = ()) -> Shared:
    """A room with this status (None: absent) in these side tables."""
    member = None if status is None else found.domain.member(status)
    return Shared(status=member, sides=frozenset(sides))


def walk(runner: Machine, begin: Shared) -> Iterator[tuple[int, Env, Shared]]:
    """Every state that one thread alone can reach."""
    seen: set[tuple[int, Env, Shared]] = set()
    todo = [(0, runner.initial(), begin)]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            yield state
            todo.extend((s.pc, s.env, s.shared) for s in runner.steps(*state))


def returned(runner: Machine, begin: Shared) -> set[tuple[End, object]]:
    """Every end with the value that is returned there."""
    found: set[tuple[End, object]] = set()
    for pc, env, shared in walk(runner, begin):
        instr = runner.code[pc]
        if instr.op is Op.END:
            found.add((_end(True, shared), runner.get(instr.args[0], env)))
        elif instr.op is Op.DEAD:
            found.add((_end(False, shared), None))
    return found


def _end(alive: bool, shared: Shared) -> End:
    assert not [lock for lock in shared.locks if lock[2] > 0], "a lock was not released"
    name = shared.status.name if isinstance(shared.status, Member) else None
    return End(alive, name, shared.sides)


def ends(runner: Machine, begin: Shared) -> set[End]:
    """Every end of one thread alone."""
    return {end for end, _ in returned(runner, begin)}


def statuses(
    source: str, status: str | None = "Waiting", sides: Iterable[str] = ("infos", "marks")
) -> set[str | None]:
    """The final statuses of `work` on a room that starts like this; a dead thread counts."""
    found = protocol(source)
    return {e.status for e in ends(machine(found, method(found)), start(found, status, sides))}
