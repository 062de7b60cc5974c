"""The modules and classes of one run, with names resolved across files.

Nothing here imports or executes the code that is read. A name that cannot be resolved gives
`None`; the caller decides whether that is worth a `Gap`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kvlint.findings import Gap

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Module:
    """One parsed file.

    `name` is the dotted name as far as the folders tell it. `imports` maps a local name to a
    dotted target (`pkg.mod` or `pkg.mod.Name`). `linted` is False for a file that was only read
    because a linted one needs a base class or helper from it: no finding is reported there unless
    a linted class inherits the code.
    """

    name: str
    path: Path
    display: str
    source: str
    tree: ast.Module
    linted: bool = True
    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    functions: dict[str, FunctionNode] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)


@dataclass(eq=False)
class ClassInfo:
    """One class statement, with its linearised ancestors.

    `mro` starts with the class itself and holds the classes whose source was found; a base that
    was not found is named in `missing`.
    """

    name: str
    module: Module
    node: ast.ClassDef
    bases: tuple[str, ...] = ()
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    mro: tuple[ClassInfo, ...] = ()
    missing: tuple[str, ...] = ()

    def find(self, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """The method `name` as an instance of this class sees it, with its defining class."""
        for cls in self.mro:
            if name in cls.methods:
                return cls, cls.methods[name]
        return None

    def find_after(self, owner: ClassInfo, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """What `super().name` means in a method that `owner` defines."""
        after = False
        for cls in self.mro:
            if after and name in cls.methods:
                return cls, cls.methods[name]
            after = after or cls is owner
        return None

    def is_subclass_of(self, other: ClassInfo) -> bool:
        """Whether `other` is this class or one of its ancestors."""
        return other in self.mro


@dataclass(eq=False)
class Project:
    """All modules of a run, by dotted name, and what could not be read."""

    modules: dict[str, Module] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    def classes(self) -> Iterator[ClassInfo]:
        """Every class statement, in a stable order."""
        for name in sorted(self.modules):
            yield from self.modules[name].classes.values()
