"""The protocol of one backend: which attributes and functions play which part."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kvlint.discover.project import ClassInfo, Project
from kvlint.protocol.domain import StatusDomain
from kvlint.protocol.facts import ClassFacts, Scope
from kvlint.protocol.roles import Role
from kvlint.protocol.values import Values


@dataclass(frozen=True)
class ThreadRoot:
    """Code that a thread of its own runs.

    `scope` is where the callable was written down (its closure), `target` the expression that
    names it, `args` the arguments it gets there. `origin` is the statement that starts it.
    """

    name: str
    scope: Scope
    target: ast.expr
    args: tuple[ast.expr, ...]
    origin: ast.AST


@dataclass(frozen=True)
class Frame:
    """A message that this tree sends: its literal parts by position, None where computed."""

    parts: tuple[object, ...]
    call: ast.Call
    scope: Scope

    def __str__(self) -> str:
        return "[" + ", ".join("..." if p is None else repr(p) for p in self.parts[:2]) + "]"


@dataclass(eq=False)
class Protocol:
    """Everything the later stages need to know about one manager class."""

    project: Project
    manager: ClassInfo
    domain: StatusDomain
    status_table: str
    row_index: int | None
    family: tuple[ClassInfo, ...]
    holders: tuple[ClassInfo, ...]
    components: tuple[ClassInfo, ...]
    facts: dict[ClassInfo, ClassFacts]
    values: Values
    roles: tuple[Role, ...] = ()
    role: Role | None = None
    side_tables: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    locks: frozenset[str] = frozenset()
    updaters: tuple[str, ...] = ()
    roots: tuple[ThreadRoot, ...] = ()
    frames: tuple[Frame, ...] = ()

    @property
    def title(self) -> str:
        """The manager's name, with the role where it has more than one."""
        return f"{self.manager.name}[{self.role.member}]" if self.role else self.manager.name

    @property
    def tables(self) -> frozenset[str]:
        """The status table and the side tables."""
        return self.side_tables | {self.status_table}

    @property
    def classes(self) -> tuple[ClassInfo, ...]:
        """All classes that take part."""
        seen: dict[ClassInfo, None] = {}
        for cls in (*self.family, *self.components):
            seen.setdefault(cls)
        for holder in self.holders:
            for cls in holder.mro:
                seen.setdefault(cls)
        return tuple(seen)
