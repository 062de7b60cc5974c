"""The protocol of one backend: which attributes and functions play which part."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kvlint.discover.project import ClassInfo, FunctionNode, Project
from kvlint.protocol.domain import StatusDomain
from kvlint.protocol.facts import ClassFacts, Scope
from kvlint.protocol.roles import Reaches, Role
from kvlint.protocol.values import Values

if TYPE_CHECKING:
    from kvlint.programs.ir import Program
    from kvlint.programs.relevance import Relevance
    from kvlint.tables import Transitions


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


NUMBER = "<number>"  # a message part made by str(): never equal to a tag


@dataclass(frozen=True)
class Frame:
    """A message that this tree sends: its literal parts by position.

    A part is None where nothing is known of it and NUMBER where it is some value as text. `open`
    says that the message is built first and sent elsewhere, so that more parts may follow.
    """

    parts: tuple[object, ...]
    call: ast.expr
    scope: Scope
    open: bool = False

    def __str__(self) -> str:
        shown = ["..." if p in (None, NUMBER) else repr(p) for p in self.parts[:2]]
        return "[" + ", ".join(shown) + (", ...]" if len(self.parts) > 2 else "]")


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
    reaches: Reaches
    roles: tuple[Role, ...] = ()
    role: Role | None = None
    side_tables: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    own_containers: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    locks: frozenset[str] = frozenset()
    updaters: tuple[str, ...] = ()
    readers: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    default_tables: frozenset[str] = frozenset()
    objects: dict[str, ClassInfo] = field(default_factory=dict)
    roots: tuple[ThreadRoot, ...] = ()
    frames: tuple[Frame, ...] = ()
    transitions: dict[tuple[ClassInfo, str], Transitions | None] = field(default_factory=dict)
    programs: dict[tuple[object, ...], Program | None] = field(default_factory=dict)
    _attribute_classes: dict[tuple[ClassInfo, str], ClassInfo | None] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The manager's name, with the role where it has more than one."""
        return f"{self.manager.name}[{self.role.member}]" if self.role else self.manager.name

    @property
    def tables(self) -> frozenset[str]:
        """The status table and the side tables."""
        return self.side_tables | {self.status_table}

    @property
    def known_tables(self) -> frozenset[str]:
        """All containers that the manager and its components make, keyed by room or not."""
        return self.tables | self.own_containers

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

    def object_attribute(self, name: str) -> ClassInfo | None:
        """The class behind an attribute name of an object whose own class is not known."""
        return self.objects.get(name)

    def attribute_class(self, cls: ClassInfo, name: str) -> ClassInfo | None:
        """The class of `<object of cls>.name`, from what its methods assign to it."""
        key = (cls, name)
        if key not in self._attribute_classes:
            self._attribute_classes[key] = self._find_attribute_class(cls, name)
        return self._attribute_classes[key]

    def _find_attribute_class(self, cls: ClassInfo, name: str) -> ClassInfo | None:
        for owner in cls.mro:
            for value, scope in (
                self.facts[owner].attributes.get(name, ()) if (owner in self.facts) else ()
            ):
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                    made = self.values.class_of(scope.cls.module, value.func.id)
                    if made is not None:
                        return made
        return self.objects.get(name)

    def method_owner(self, name: str) -> tuple[ClassInfo, FunctionNode, ClassInfo] | None:
        """(defining class, method, class of the object) if one class of the protocol has it."""
        found = self.manager.find(name)
        if found is not None:
            return found[0], found[1], self.manager
        for cls in (*self.components, *self.holders):
            found = cls.find(name)
            if found is not None:
                return found[0], found[1], cls
        return None

    @cached_property
    def last_places(self) -> dict[str, frozenset[int]]:
        """Where the tuples on each queue say whether it is the last chunk."""
        from kvlint.programs.chunks import last_places

        return last_places(self)

    @cached_property
    def relevance(self) -> Relevance:
        """Which functions can matter."""
        from kvlint.programs.relevance import Relevance

        return Relevance(self)
