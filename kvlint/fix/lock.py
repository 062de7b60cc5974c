"""Fix D: every read-modify-write of the status runs under one lock.

The lock that the class uses around this table already, else a new one that is made where the table
is made. Every method that stores a status takes it, since a writer that does not makes it useless;
nothing but the table's own steps runs while it is held, so it can be part of no cycle of locks.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.findings import Finding
from kvlint.fix.locks import LockUse
from kvlint.fix.places import blocks, in_body, mentions, own, store_targets
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import File, Place, Refused, Scene, Unit
from kvlint.protocol.facts import call_name, terminal_name
from kvlint.protocol.model import Protocol

LETTER = "D"
STEPS = frozenset(
    """get pop setdefault discard add remove append items values keys copy max min int str len bool
    isinstance set list tuple dict sorted frozenset super debug info warning error exception repr
    """.split()
)


@dataclass(frozen=True)
class Owner:
    """Where a status table is made: the class, and the statement that makes it."""

    cls: ClassInfo
    table: str
    statement: ast.stmt


@dataclass
class Section:
    """Statements of one method that have to run as one step; `receiver` has the lock."""

    place: Place
    statements: list[ast.stmt]
    receiver: str


def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
    """One unit per status table: its writers take one lock or none does."""
    by_owner: dict[tuple[str, str], tuple[Owner, list[Finding], list[Place]]] = {}
    for finding in findings:
        try:
            place = _place(scene, finding)
            owner = _owner(place.protocol)
        except Unfixable as reason:
            yield Refused(LETTER, (finding,), str(reason))
            continue
        key = (owner.cls.module.display, owner.cls.name)
        _, found, places = by_owner.setdefault(key, (owner, [], []))
        found.append(finding)
        places.append(place)
    for owner, found, places in by_owner.values():
        try:
            yield _Locking(scene, owner, places).unit(tuple(found))
        except Unfixable as reason:
            yield Refused(LETTER, tuple(found), str(reason))


def _place(scene: Scene, finding: Finding) -> Place:
    file = scene.file(finding.span.path)
    for node in file.nodes(finding.span) if file is not None else ():
        place = scene.place(file, node, finding.searched) if file is not None else None
        if place is not None:
            return place
    raise Unfixable("no backend's code")


def _owner(protocol: Protocol) -> Owner:
    table = protocol.status_table
    for cls in (*protocol.family, *protocol.components):
        for function in cls.methods.values():
            for node in in_body(function):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    if [ast.unparse(t) for t in targets] == [f"self.{table}"]:
                        return Owner(cls, table, node)
    raise Unfixable(f"`{table}` is not made by an assignment of a method")


class _Locking:
    """One table, its writers, and the lock that they are to share."""

    def __init__(self, scene: Scene, owner: Owner, places: list[Place]) -> None:
        self.scene = scene
        self.owner = owner
        self.table = owner.table
        self.protocols = [p for p in scene.protocols if owner.cls in (*p.family, *p.components)]
        self.use = LockUse(places[0].protocol)
        self.found = places
        self.writers = list(self._writers())
        self.lock = self._usual() or self._fresh()
        self.is_new = self.lock not in places[0].protocol.locks

    def unit(self, findings: tuple[Finding, ...]) -> Unit:
        """Lock every section that is not locked so far."""
        sections = [s for place in self.writers for s in self._section(place)]
        nested = any(self._calls_a_writer(section) for section in sections)
        for section in sections:
            self._check(section)
        if not self.is_new:
            self._check_existing(nested)
        patches: dict[str, list[Patch]] = {}
        for section in sections:
            file = section.place.file
            head = [f"with {section.receiver}.{self.lock}:"]
            patches.setdefault(file.module.display, []).extend(
                file.layout.wrapped(section.statements, head)
            )
        path = self.owner.cls.module.display
        if self.is_new:
            patches.setdefault(path, []).extend(self._making("RLock" if nested else "Lock"))
        made = "a new lock" if self.is_new else "the lock that the class has"
        return Unit(
            LETTER,
            path,
            self.owner.statement.lineno,
            f"{self.owner.cls.name}.{self.table}",
            f"`{self.lock}`, {made}, is held from the read of the status to the write",
            patches,
            findings,
        )

    # -- which methods -----------------------------------------------------------------------

    def _writers(self) -> Iterator[Place]:
        """The functions that store into the table, and those that the findings name."""
        seen: set[FunctionNode] = set()
        for place in (*self.found, *self._storing()):
            if place.function not in seen:
                seen.add(place.function)
                yield place

    def _storing(self) -> Iterator[Place]:
        for protocol in self.protocols:
            for cls in protocol.classes:
                file = self.scene.file(cls.module.display)
                for method in cls.methods.values():
                    for function in ast.walk(method):
                        if (
                            isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
                            and any(store_targets(n, self.table) for n in in_body(function))
                            and file is not None
                        ):
                            yield Place(file, protocol, file.parents.functions(function))

    def _section(self, place: Place) -> Iterator[Section]:
        """The smallest run of statements with all that a function does to the table."""
        block = place.function.body
        while True:
            at = [i for i, s in enumerate(block) if self._touches(s, place)]
            if not at:
                return
            inner = self._inner(block[at[0]], place) if len(at) == 1 else None
            if inner is None:
                break
            if self.lock in self._held(block[at[0]]):
                return
            block = inner
        statements = block[at[0] : at[-1] + 1]
        if self.lock not in set(self.use.around(place, statements[0])):
            yield Section(place, statements, self._receiver(place, statements))

    def _held(self, statement: ast.stmt) -> list[str]:
        if not isinstance(statement, (ast.With, ast.AsyncWith)):
            return []
        names = (terminal_name(item.context_expr) for item in statement.items)
        return [name for name in names if name is not None]

    def _touches(self, node: ast.AST, place: Place) -> bool:
        return mentions(node, self.table) or any(
            _is_super_call(n, place.function.name) for n in own(node)
        )

    def _inner(self, statement: ast.stmt, place: Place) -> list[ast.stmt] | None:
        """The block of a compound statement with all that it does to the table."""
        touching = [b for b in blocks(statement) if any(self._touches(s, place) for s in b)]
        heads = [
            n
            for n in ast.iter_child_nodes(statement)
            if not isinstance(n, (ast.stmt, ast.ExceptHandler, ast.match_case))
        ]
        if len(touching) != 1 or any(self._touches(n, place) for n in heads):
            return None
        try:
            place.file.layout.slot(touching[0][0])
        except Unfixable:  # an `elif`
            return None
        return touching[0]

    def _receiver(self, place: Place, statements: list[ast.stmt]) -> str:
        """The object that has the table, as the function names it."""
        found = {
            ast.unparse(node.value)
            for statement in statements
            for node in own(statement)
            if isinstance(node, ast.Attribute) and node.attr == self.table
        }
        bare = any(
            isinstance(n, ast.Name) and n.id == self.table for s in statements for n in own(s)
        )
        if len(found) > 1 or bare:
            raise Unfixable(f"{place.name} reaches `{self.table}` under several names")
        return found.pop() if found else "self"

    # -- which lock --------------------------------------------------------------------------

    def _usual(self) -> str | None:
        """The lock that is held most often where the table is used."""
        used: Counter[str] = Counter()
        for protocol in self.protocols:
            own_locks = {
                name
                for cls in self.owner.cls.mro
                if cls in protocol.facts
                for name in protocol.facts[cls].locks
            }
            for cls in protocol.classes:
                for function in cls.methods.values():
                    for node in in_body(function):
                        if isinstance(node, (ast.With, ast.AsyncWith)) and any(
                            mentions(s, self.table) for s in node.body
                        ):
                            used.update(set(self._held(node)) & own_locks)
        return min(used, key=lambda name: (-used[name], name)) if used else None

    def _fresh(self) -> str:
        taken = {n for p in self.protocols for f in p.facts.values() for n in f.mentions}
        name = f"{self.table}_lock"
        while name in taken:
            name += "_"
        return name

    def _making(self, kind: str) -> Iterator[Patch]:
        """The statement that makes the lock, and the import that it needs."""
        file = self.scene.file(self.owner.cls.module.display)
        assert file is not None
        imports = file.module.imports
        named = next((n for n, target in imports.items() if target == f"threading.{kind}"), None)
        whole = next((n for n, target in imports.items() if target == "threading"), None)
        made = named or f"{whole or 'threading'}.{kind}"
        yield file.layout.after(self.owner.statement, [f"self.{self.lock} = {made}()"])
        if named is None and whole is None:
            yield _import(file)

    # -- what must hold ----------------------------------------------------------------------

    def _check(self, section: Section) -> None:
        """Nothing but steps on tables may run while the lock is held."""
        function = section.place.function
        for statement in section.statements:
            for node in own(statement):
                if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncWith)):
                    raise Unfixable(f"{section.place.name} waits between the read and the write")
                if isinstance(node, ast.With):
                    other = ", ".join(f"`{n}`" for n in self._held(node)) or "another context"
                    raise Unfixable(f"{section.place.name} takes {other} inside")
                if isinstance(node, ast.Call) and not self._is_step(node, function):
                    raise Unfixable(
                        f"{section.place.name} would call `{ast.unparse(node.func)}` while "
                        "the lock is held"
                    )

    def _is_step(self, node: ast.Call, function: FunctionNode) -> bool:
        name = call_name(node)
        if isinstance(node.func, ast.Attribute):
            queues = {q for p in self.protocols for q in p.queues}
            if terminal_name(node.func.value) in queues:
                return False
        if _is_super_call(node, function.name) or name in STEPS:
            return True
        return any(
            name in protocol.readers or (name in cls.methods and _only_reads(cls.methods[name]))
            for protocol in self.protocols
            for cls in protocol.classes
        )

    def _calls_a_writer(self, section: Section) -> bool:
        names = {place.function.name for place in self.writers}
        return any(
            isinstance(n, ast.Call) and call_name(n) in names
            for s in section.statements
            for n in own(s)
        )

    def _check_existing(self, nested: bool) -> None:
        """A lock that is in use already must not be taken twice, nor in two orders."""
        reentrant = self.use.is_reentrant(self.lock)
        if nested and not reentrant:
            raise Unfixable(f"`{self.lock}` would be taken twice and is no RLock")
        names = {place.function.name for place in self.writers}
        for protocol in self.protocols:
            use = LockUse(protocol)
            for cls in protocol.classes:
                for function in cls.methods.values():
                    for outer in use.held_at_calls(function, names):
                        if outer == self.lock and not reentrant:
                            raise Unfixable(f"`{cls.name}.{function.name}` holds `{outer}` already")
                        if outer != self.lock and outer in use.taken_under(self.lock):
                            raise Unfixable(f"`{outer}` and `{self.lock}` would be taken crosswise")


def _is_super_call(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and isinstance(node.func.value, ast.Call)
        and call_name(node.func.value) == "super"
    )


def _only_reads(function: FunctionNode) -> bool:
    """Whether a method is one `return` without calls that could wait."""
    body = [s for s in function.body if not isinstance(s, ast.Expr)]
    return (
        len(body) == 1
        and isinstance(body[0], ast.Return)
        and all(call_name(n) in STEPS for n in own(body[0]) if isinstance(n, ast.Call))
    )


def _import(file: File) -> Patch:
    """`import threading` where isort would have it among the plain imports."""
    plain = [
        node
        for node in file.module.tree.body
        if isinstance(node, ast.Import) and node.names[0].name in sys.stdlib_module_names
    ]
    later = [node for node in plain if node.names[0].name > "threading"]
    if later:
        return file.layout.before(later[0], ["import threading"])
    if plain:
        return file.layout.after(plain[-1], ["import threading"])
    for node in file.module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            return file.layout.before(node, ["import threading"])
    raise Unfixable("`threading` is not imported, and no place for the import was found")
