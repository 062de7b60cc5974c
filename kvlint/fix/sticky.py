"""Fix A: a terminal status stays where the table is written.

The check is put as far in as it still stands before every store of the method, so that what the
method does besides is not touched; where the method has the current status in a local, it asks
that. Elsewhere (a store outside an update method, a method that returns something) the store
alone is made conditional. A room that is not in the table is treated as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from kvlint.findings import Finding, Span
from kvlint.fix.places import (
    bound_names,
    in_body,
    is_simple,
    names_in,
    reads_of,
    store_targets,
    table_and_key,
)
from kvlint.fix.spelling import Words, condition, deeper
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import File, Place, Refused, Scene, Unit

LETTER = "A"


@dataclass(frozen=True)
class Store:
    """One statement that stores into the status table."""

    statement: ast.stmt
    target: ast.Subscript

    @property
    def access(self) -> tuple[str, str]:
        """The source of its table and key."""
        return table_and_key(self.target)


def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
    """One unit per function whose stores let a terminal status change."""
    wanted: dict[tuple[str, ast.AST], tuple[Place, list[ast.stmt], list[Finding]]] = {}
    lost: list[Finding] = []
    for finding in findings:
        found = list(sites(scene, finding))
        for place, statement in found:
            key = (place.file.module.display, place.function)
            _, flagged, resolved = wanted.setdefault(key, (place, [], []))
            if statement is not None and statement not in flagged:
                flagged.append(statement)
            if finding not in resolved:
                resolved.append(finding)
        if not found:
            lost.append(finding)
    if lost:
        yield Refused(LETTER, tuple(lost), "the store was not found")
    made = [
        _made(place, flagged, tuple(resolved), scene.reserve)
        for place, flagged, resolved in wanted.values()
        if flagged
    ]
    # The method itself is meant, and its stores are in a method that it calls.
    for_method = [f for _, flagged, resolved in wanted.values() if not flagged for f in resolved]
    yield from _with_methods(made, for_method)


def _with_methods(
    made: Sequence[Unit | Refused], findings: Sequence[Finding]
) -> Iterator[Unit | Refused]:
    """Give each finding about a method to the change that shares its root cause."""
    taken: set[Finding] = set()
    for one in made:
        causes = {f.group for f in one.findings}
        more = tuple(f for f in findings if f.group in causes and f not in one.findings)
        taken.update(more, one.findings)
        yield replace(one, findings=(*one.findings, *more))
    lost = tuple(f for f in findings if f not in taken)
    if lost:
        yield Refused(LETTER, lost, "the store was not found")


def sites(scene: Scene, finding: Finding) -> Iterator[tuple[Place, ast.stmt | None]]:
    """The stores that a finding means; its method (with None) if it means the method itself."""
    for span in (finding.span, *(related.span for related in finding.related)):
        file = scene.file(span.path)
        if file is None:
            continue
        for place, statement in _at(scene, file, span, finding.searched):
            yield place, statement
            if statement is not None:
                return


def _at(
    scene: Scene, file: File, span: Span, title: str
) -> Iterator[tuple[Place, ast.stmt | None]]:
    for node in file.nodes(span):
        place = scene.place(file, node, title)
        if place is None:
            continue
        if store_targets(node, place.protocol.status_table) and isinstance(node, ast.stmt):
            yield place, node
        elif node is place.function and place.function.name in place.protocol.updaters:
            yield place, None


def _made(
    place: Place, flagged: list[ast.stmt], findings: tuple[Finding, ...], reserve: int
) -> Unit | Refused:
    stores = stores_of(place)
    try:
        guard = Guard(place, stores, reserve)
        patches = guard.for_method() if may_return(place) and guard.one_key() else None
        if patches is None:
            every = place.function.name in place.protocol.updaters
            patches = guard.for_stores([s for s in stores if every or s.statement in flagged])
    except Unfixable as reason:
        return Refused(LETTER, findings, str(reason))
    return Unit(
        LETTER,
        place.file.module.display,
        place.function.lineno,
        place.name,
        "terminal states are sticky",
        {place.file.module.display: patches},
        findings,
    )


def stores_of(place: Place) -> list[Store]:
    """The statements of a function that store into the status table."""
    table = place.protocol.status_table
    return [
        Store(node, target)
        for node in in_body(place.function)
        if isinstance(node, ast.stmt)
        for target in store_targets(node, table)[:1]
    ]


def may_return(place: Place) -> bool:
    """Whether the function is an update method that returns nothing."""
    if place.function.name not in place.protocol.updaters or not place.is_method:
        return False
    nodes = list(in_body(place.function))
    gives = any(isinstance(n, ast.Return) and not _is_nothing(n.value) for n in nodes)
    return not gives and not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes)


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


class Guard:
    """The check, as the stores of one function need it."""

    def __init__(self, place: Place, stores: list[Store], reserve: int) -> None:
        self.place = place
        self.reserve = " " * reserve
        self.stores = stores
        self.row = place.protocol.row_index
        parents = place.file.parents
        cls = parents.class_of(place.function)
        near = [n for n in (*reversed(place.functions), cls) if n is not None]
        self.words = Words(place.protocol, place.file.module, near).terminal()
        self.unit = place.file.layout.unit

    def one_key(self) -> bool:
        """Whether every store has the same table and key, known from the start of the method."""
        if len({s.access for s in self.stores}) != 1:
            return False
        target = self.stores[0].target
        return (
            is_simple(target.value)
            and is_simple(target.slice)
            and not (names_in(target) & bound_names(self.place.function))
        )

    def for_method(self) -> list[Patch]:
        """Return early, right before the first statement that may store."""
        anchor, before = self._anchor()
        slot = self.place.file.layout.slot(anchor)
        indent = slot.indent
        table, key = self.stores[0].access
        local = self._local(before)
        if self.row is not None:
            lines = self._row_check(local, f"{table}.get({key})", self.row, indent)
        else:
            lines = self._check(local or f"{table}.get({key})", indent)
        return [self.place.file.layout.before(anchor, lines)]

    def for_stores(self, flagged: list[Store]) -> list[Patch]:
        """Make each store conditional."""
        if self.row is not None:
            raise Unfixable("the status is one part of a row that is stored whole")
        patches: list[Patch] = []
        for store in flagged:
            if len(getattr(store.statement, "targets", ())) > 1:
                raise Unfixable("the statement stores into something else as well")
            if not (is_simple(store.target.value) and is_simple(store.target.slice)):
                raise Unfixable("the key is computed at the store")
            table, key = store.access
            indent = self.place.file.layout.slot(store.statement).indent
            head = condition(f"{table}.get({key})", "not in", self.words, indent + self.reserve)
            patches += self.place.file.layout.wrapped([store.statement], head)
        return patches

    def _check(self, current: str, indent: str) -> list[str]:
        head = condition(current, "in", self.words, indent + self.reserve)
        return [*head, *deeper(["return"], self.unit)]

    def _row_check(self, local: str | None, read: str, row: int, indent: str) -> list[str]:
        """The status is a part of a row: it stays while the other parts are the same."""
        name = local or fresh_local(self.place.function)
        lines = [] if local else [f"{name} = {read}"]
        same = [f"{name}[{i}] == {part}" for i, part in self._other_parts(row)]
        lines.append(f"if {' and '.join([f'{name} is not None', *same])}:")
        return [*lines, *deeper(self._check(f"{name}[{row}]", indent + self.unit), self.unit)]

    def _other_parts(self, row: int) -> list[tuple[int, str]]:
        """The parts of the stored row beside the status, which tell one request from the next."""
        found = {ast.dump(v): v for s in self.stores if (v := getattr(s.statement, "value", None))}
        stored = next(iter(found.values()), None)
        if len(found) != 1 or not isinstance(stored, ast.Tuple) or self._is_bound_late(stored):
            raise Unfixable("the status is one part of a row that is not stored in one way")
        return [(i, ast.unparse(part)) for i, part in enumerate(stored.elts) if i != row]

    def _is_bound_late(self, row: ast.Tuple) -> bool:
        others = [part for i, part in enumerate(row.elts) if i != self.row]
        bound = bound_names(self.place.function)
        return not all(is_simple(part) and not names_in(part) & bound for part in others)

    def _anchor(self) -> tuple[ast.stmt, list[ast.stmt]]:
        """The last statement that stands before every store, and what surely ran before it.

        What ran outside a `with` that is entered since then does not count: the lock it may take
        was not held.
        """
        block = self.place.function.body
        before: list[ast.stmt] = []
        while True:
            at = sorted({i for s in self.stores for i, b in enumerate(block) if _holds(b, s)})
            before += block[: at[0]]
            statement = block[at[0]]
            inner = self._inner_block(statement) if len(at) == 1 else None
            if inner is None:
                return statement, before
            if isinstance(statement, (ast.With, ast.AsyncWith)):
                before = []
            block = inner

    def _inner_block(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """The one block of a statement that holds all stores."""
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return statement.body
        if isinstance(statement, ast.If):
            for block in (statement.body, statement.orelse):
                if all(any(_holds(b, s) for b in block) for s in self.stores):
                    return block if self._begins_a_block(block) else None
        return None

    def _begins_a_block(self, block: list[ast.stmt]) -> bool:
        try:
            return bool(self.place.file.layout.slot(block[0]))
        except Unfixable:  # an `elif`
            return False

    def _local(self, before: list[ast.stmt]) -> str | None:
        """A local that holds the current status, None for an absent room, and nothing else."""
        assigned = [
            n.id
            for n in in_body(self.place.function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        for statement in reversed(before):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                access = reads_of(statement.value, self.place.protocol.status_table)
                if (
                    isinstance(target, ast.Name)
                    and access is not None
                    and table_and_key(access) == self.stores[0].access
                    and assigned.count(target.id) == 1
                ):
                    return target.id
        return None


def fresh_local(function: ast.AST) -> str:
    """A name for a local that the function does not have."""
    taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    taken |= {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
    names = chain(("current", "before"), (f"current_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _holds(statement: ast.stmt, store: Store) -> bool:
    return any(node is store.statement for node in ast.walk(statement))
