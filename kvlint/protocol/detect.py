"""Find the protocol in the code: status table, side tables, queues, threads, who holds whom.

A status table is a container that receives values of a domain with a failure-like and a
success-like member. Everything else is found from its uses: what is keyed like it is a side
table, what runs beside it is a thread root, what reaches it through an attribute is a holder.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from kvlint.config import ProtocolOverrides
from kvlint.discover.project import ClassInfo, Module, Project
from kvlint.protocol.domain import StatusDomain, make_domain
from kvlint.protocol.facts import (
    ClassFacts,
    Scope,
    class_facts,
    is_thread_class,
    local_assignments,
    terminal_name,
)
from kvlint.protocol.model import Protocol
from kvlint.protocol.roles import Reaches, find_roles
from kvlint.protocol.surroundings import fill
from kvlint.protocol.values import Constant, Values


@dataclass(frozen=True)
class StatusTable:
    """A container of statuses, the class that makes it, and the values it holds."""

    name: str
    owner: ClassInfo
    domain: StatusDomain
    row_index: int | None
    weight: int


@dataclass
class Evidence:
    """How often each constant is stored in a table of some name or compared with what is in it.

    Unrelated backends use the same names, so each module's own count is kept as well.
    """

    everywhere: Counter[Constant] = field(default_factory=Counter)
    by_module: dict[Module, Counter[Constant]] = field(default_factory=dict)

    def add(self, constant: Constant, scope: Scope) -> None:
        """Note one use in a scope."""
        self.everywhere[constant] += 1
        self.by_module.setdefault(scope.cls.module, Counter())[constant] += 1


class Facts:
    """The facts of every class that a run has read, computed on demand."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._facts: dict[ClassInfo, ClassFacts] = {}

    def of(self, cls: ClassInfo) -> ClassFacts:
        """Facts of one class."""
        if cls not in self._facts:
            self._facts[cls] = class_facts(cls)
        return self._facts[cls]

    def all(self) -> dict[ClassInfo, ClassFacts]:
        """Facts of all classes of the project."""
        for cls in self.project.classes():
            self.of(cls)
        return self._facts


def status_tables(
    facts: dict[ClassInfo, ClassFacts], values: Values, overrides: ProtocolOverrides
) -> list[StatusTable]:
    """All status tables, strongest evidence first within one owner."""
    evidence: dict[str, Evidence] = {}
    rows: dict[str, int] = {}
    for fact in facts.values():
        _stored(fact, values, evidence, rows)
        _compared(fact, values, evidence)
    found = []
    for cls, fact in facts.items():
        for name in fact.containers:
            if overrides.status_table and name != overrides.status_table:
                continue
            held = evidence.get(name, Evidence())
            domain = _domain(held, cls.module, values, overrides)
            if domain is not None:
                weight = sum(held.everywhere.values())
                found.append(StatusTable(name, cls, domain, rows.get(name), weight))
    return sorted(found, key=lambda t: (t.owner.module.display, t.owner.node.lineno, -t.weight))


def _stored(
    fact: ClassFacts,
    values: Values,
    evidence: dict[str, Evidence],
    rows: dict[str, int],
) -> None:
    for store in fact.stores:
        if isinstance(store.value, ast.Tuple):
            for i, element in enumerate(store.value.elts):
                if any(c.owner for c in values.constants(element, store.scope)):
                    rows[store.table] = i
        for constant in values.constants(store.value, store.scope):
            evidence.setdefault(store.table, Evidence()).add(constant, store.scope)


def _compared(fact: ClassFacts, values: Values, evidence: dict[str, Evidence]) -> None:
    for compare, scope in fact.compares:
        table = _read_table(compare.left, scope)
        if table is None:
            continue
        for other in compare.comparators:
            for constant in values.constants(other, scope):
                evidence.setdefault(table, Evidence()).add(constant, scope)


def _read_table(node: ast.expr, scope: Scope) -> str | None:
    """The container that an expression, or the local it names, is read from."""
    if isinstance(node, ast.Name):
        for value in local_assignments(scope.function, node.id):
            table = _read_table(value, scope) if not isinstance(value, ast.Name) else None
            if table is not None:
                return table
        return None
    if isinstance(node, ast.Subscript):
        return terminal_name(node.value)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "pop")
        and node.args
    ):
        return terminal_name(node.func.value)
    return None


def _domain(
    evidence: Evidence, home: Module, values: Values, overrides: ProtocolOverrides
) -> StatusDomain | None:
    """The enum, or the literals, that a table of a class in `home` holds."""
    for owner in _owners(evidence, home):
        if overrides.status_enum and owner.name != overrides.status_enum:
            continue
        domain = make_domain(
            owner.name, values.members(owner).items(), overrides.failure, overrides.success
        )
        if domain is not None:
            return domain
    if overrides.status_enum:
        return None
    named = _named_literals(evidence.everywhere)
    return make_domain("status", named, overrides.failure, overrides.success)


def _owners(evidence: Evidence, home: Module) -> list[ClassInfo]:
    """The enums that the constants belong to, those that `home` uses most first."""
    total: Counter[ClassInfo] = Counter()
    own: Counter[ClassInfo] = Counter()
    for counter, constants in (
        (total, evidence.everywhere),
        (own, evidence.by_module.get(home, Counter())),
    ):
        for constant, count in constants.items():
            if constant.owner is not None:
                counter[constant.owner] += count
    return sorted(
        total, key=lambda c: (-own[c], -total[c], c.module.display, c.node.lineno, c.name)
    )


def _named_literals(evidence: Counter[Constant]) -> list[tuple[str, int | str]]:
    """Literals without an enum; a constant's own name beats the bare value."""
    by_value: dict[int | str, str] = {}
    for constant in sorted(
        (c for c in evidence if c.owner is None), key=lambda c: (str(c.value), c.name)
    ):
        name = str(constant.value)
        if not isinstance(constant.value, str) and constant.name != name:
            by_value[constant.value] = constant.name
        else:
            by_value.setdefault(constant.value, name)
    if any(name == str(v) for v, name in by_value.items() if not isinstance(v, str)):
        return []  # bare numbers say nothing about a status
    return [(name, value) for value, name in by_value.items()]


def find_protocols(project: Project, overrides: ProtocolOverrides) -> list[Protocol]:
    """One protocol per manager class that shows up in the linted files."""
    facts = Facts(project)
    every = facts.all()
    values = Values(project, every.values())
    tables = status_tables(every, values, overrides)
    protocols: list[Protocol] = []
    seen: set[ClassInfo] = set()
    for table in tables:
        for manager in _managers(table, every):
            if manager not in seen:
                seen.add(manager)
                protocols += _per_role(project, manager, table, every, values, overrides)
    return sorted(protocols, key=lambda p: (p.manager.module.display, p.manager.node.lineno))


def _managers(table: StatusTable, facts: dict[ClassInfo, ClassFacts]) -> list[ClassInfo]:
    """The classes to analyse: heirs of the owner, or who runs threads over the owner's table."""
    family = [c for c in facts if c.is_subclass_of(table.owner) and c.module.linted]
    if any(_runs_threads(c, facts) for c in family):
        return family
    around = [
        c
        for c, fact in facts.items()
        if c not in family and c.module.linted and _runs_threads(c, facts) and _reaches(fact, table)
    ]
    return around or family


def _reaches(fact: ClassFacts, table: StatusTable) -> bool:
    if table.name in fact.mentions:
        return True
    own = set(table.owner.methods) - {"__init__"}
    for assigned in fact.attributes.values():
        for value, _ in assigned:
            if isinstance(value, ast.Call) and terminal_name(value.func) == table.owner.name:
                return bool(own & fact.mentions)
    return False


def _runs_threads(cls: ClassInfo, facts: dict[ClassInfo, ClassFacts]) -> bool:
    if is_thread_class(cls):
        return True
    return any(facts[c].spawns for c in cls.mro if c in facts)


def _per_role(
    project: Project,
    manager: ClassInfo,
    table: StatusTable,
    facts: dict[ClassInfo, ClassFacts],
    values: Values,
    overrides: ProtocolOverrides,
) -> list[Protocol]:
    reaches = Reaches(manager)
    roles = tuple(find_roles(reaches))
    protocols = []
    for role in roles or (None,):
        protocol = Protocol(
            project=project,
            manager=manager,
            domain=table.domain,
            status_table=table.name,
            row_index=table.row_index,
            family=manager.mro,
            holders=(),
            components=() if manager.is_subclass_of(table.owner) else (table.owner,),
            facts=facts,
            values=values,
            reaches=reaches,
            roles=roles,
        )
        fill(protocol, values, overrides, role)
        protocols.append(protocol)
    return protocols
