"""What the codemods get and give: the places of a run, and units of change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvlint.discover.project import FunctionNode, Module, Project
from kvlint.discover.source import read_bytes
from kvlint.findings import Finding, Span
from kvlint.fix.layout import Layout
from kvlint.fix.places import Parents
from kvlint.fix.text import FileText, Patch
from kvlint.protocol.model import Protocol

UnitId = tuple[str, str, str, str]


@dataclass(frozen=True)
class Unit:
    """One change that is made or left as a whole.

    `title` says what it does, `place` names the method and `line` where it begins, in the text
    that the user has; `key` tells units of one method apart. `findings` are those that it must
    resolve. `refuses` are the statuses that create no room any more, for fix E.
    """

    letter: str
    path: str
    line: int
    place: str
    title: str
    patches: Mapping[str, Sequence[Patch]]
    findings: tuple[Finding, ...]
    key: str = ""
    refuses: frozenset[str] = frozenset()

    @property
    def id(self) -> UnitId:
        """What stays the same when the change is made again on another text."""
        return self.letter, self.path, self.place, self.key


@dataclass(frozen=True)
class Refused:
    """Findings that a fix was asked for and not made, and why."""

    letter: str
    findings: tuple[Finding, ...]
    reason: str


@dataclass
class File:
    """One file as the codemods see it."""

    module: Module
    text: FileText

    @cached_property
    def parents(self) -> Parents:
        """The way up from each node."""
        return Parents(self.module)

    @cached_property
    def layout(self) -> Layout:
        """Comments, blocks and lines."""
        return Layout(self.text)

    def nodes(self, span: Span) -> Iterator[ast.AST]:
        """The nodes that begin where a finding does."""
        line = self.text.line(span.line)
        return self.parents.at(span.line, len(line[: span.column - 1].encode()))

    def place(self, functions: Sequence[FunctionNode]) -> str:
        """`Class.method.nested` of a function."""
        cls = self.parents.class_of(functions[0])
        return ".".join([cls.name] * (cls is not None) + [f.name for f in functions])  # type: ignore[union-attr]


@dataclass
class Place:
    """A function of a file with the protocol that it belongs to."""

    file: File
    protocol: Protocol
    functions: tuple[FunctionNode, ...]

    @property
    def function(self) -> FunctionNode:
        """The innermost function."""
        return self.functions[-1]

    @property
    def name(self) -> str:
        """`Class.method`."""
        return self.file.place(self.functions)

    @property
    def is_method(self) -> bool:
        """Whether the function is a method itself."""
        return len(self.functions) == 1 and self.file.parents.class_of(self.function) is not None


@dataclass
class Scene:
    """One state of the sources: the project, its protocols, and files by displayed path.

    `reserve` is the room to leave in each line for a block that a later fix may put around it.
    """

    project: Project
    protocols: Sequence[Protocol]
    reserve: int = 0
    _files: dict[str, File] = field(default_factory=dict)

    def file(self, shown: str) -> File | None:
        """The file with that displayed path."""
        if shown not in self._files:
            module = next((m for m in self.project.modules.values() if m.display == shown), None)
            if module is None:
                return None
            data = read_bytes(str(module.path))
            self._files[shown] = File(module, FileText(str(module.path), data))
        return self._files[shown]

    def protocol(self, file: File, cls: ast.ClassDef | None, title: str = "") -> Protocol | None:
        """The protocol in which a class of a file takes part.

        The one of that title comes first (a manager has one for each of its roles), then the one
        whose manager the class is.
        """
        takes_part = [
            p
            for p in self.protocols
            if any(c.node is cls and c.module is file.module for c in p.classes)
        ]
        takes_part.sort(key=lambda p: (p.title != title, p.manager.node is not cls))
        return next(iter(takes_part), None)

    def place(self, file: File, node: ast.AST, title: str = "") -> Place | None:
        """The function around a node, if a protocol covers it."""
        functions = file.parents.functions(node)
        if not functions:
            return None
        protocol = self.protocol(file, file.parents.class_of(functions[0]), title)
        return Place(file, protocol, functions) if protocol is not None else None
