"""The modules and classes of one run, with names resolved across files.

Nothing here imports or executes the code that is read. A name that cannot be resolved gives
`None`; the caller decides whether that is worth a `Gap`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kvlint.findings import Gap

if TYPE_CHECKING:
    from kvlint.discover.loader import Loader
    from kvlint.discover.walk import Walk
    from kvlint.programs.ir import Program

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False, repr=False)
class Module:
    """One parsed file.

    `name` is the dotted name as far as the folders tell it. `imports` maps a local name to a
    dotted target (`pkg.mod` or `pkg.mod.Name`), imports inside functions included; `stars` holds
    the modules of `from x import *`. `classes` has nested ones too, by qualified name
    (`Outer.Inner`, `function.<locals>.Inner`). `linted` is False for a file that was only read
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
    stars: list[str] = field(default_factory=list)
    loader: Loader | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Module {self.name}>"

    @cached_property
    def lines(self) -> list[str]:
        """The lines as the parser counts them, without their ends."""
        text = self.source
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text.split("\n")  # str.splitlines() knows more ends of lines than the parser

    def text_of(self, node: ast.stmt) -> str:
        """The source lines of a statement, decorators left out."""
        return "\n".join(self.lines[node.lineno - 1 : node.end_lineno])


@dataclass(eq=False, repr=False)
class ClassInfo:
    """One class statement, with its linearised ancestors.

    `bases` are as written. `mro` starts with the class itself and holds the classes whose source
    was found; a direct base that was not found is named in `missing`, by the name it was imported
    from (`threading.Thread`). Both are worked out at first use.
    """

    name: str
    module: Module
    node: ast.ClassDef
    bases: tuple[str, ...] = ()
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    _links: tuple[tuple[ClassInfo, ...], tuple[str, ...]] | None = field(default=None, repr=False)
    _found: dict[str, tuple[ClassInfo, FunctionNode] | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<ClassInfo {self.name}>"

    @property
    def mro(self) -> tuple[ClassInfo, ...]:
        """This class and its known ancestors, nearest first."""
        return self._linked()[0]

    @property
    def missing(self) -> tuple[str, ...]:
        """The direct bases whose source was not found."""
        return self._linked()[1]

    def _linked(self) -> tuple[tuple[ClassInfo, ...], tuple[str, ...]]:
        if self._links is None:
            loader = self.module.loader
            self._links = loader.links(self) if loader else ((self,), self.bases)
        return self._links

    def find(self, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """The method `name` as an instance of this class sees it, with its defining class."""
        if name not in self._found:
            owner = next((cls for cls in self.mro if name in cls.methods), None)
            self._found[name] = (owner, owner.methods[name]) if owner is not None else None
        return self._found[name]

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


@dataclass(frozen=True, eq=False)
class FunctionRef:
    """A function that a name stands for; `owner` is its class if it is a method."""

    module: Module
    node: FunctionNode
    owner: ClassInfo | None = None


@dataclass(frozen=True, eq=False)
class ConstantRef:
    """The value that a module or class assigns to a name, and the module to read it in."""

    module: Module
    node: ast.expr
    owner: ClassInfo | None = None


Resolved = ClassInfo | FunctionRef | ConstantRef | Module


@dataclass(eq=False)
class Project:
    """All modules of a run, by dotted name, and what could not be read.

    Modules that a linted one needs are read when they are asked for, so `modules` can grow while
    names are resolved; what a run is about are its linted ones, all there from the start.
    `problems` are files and folders that the user asked for and that could not be analysed;
    `marked` are files that have a comment for kvlint, with or without a part in the run; `files`
    counts the files that were looked at. `programs` is for `kvlint.programs.sharing`.
    """

    modules: dict[str, Module] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    problems: list[Gap] = field(default_factory=list)
    files: int = 0
    marked: list[str] = field(default_factory=list)
    loader: Loader | None = field(default=None, repr=False)
    programs: dict[object, Program] = field(default_factory=dict, repr=False)

    def classes(self) -> Iterator[ClassInfo]:
        """Every class statement, in a stable order."""
        for name in sorted(self.modules):
            yield from self.modules[name].classes.values()

    def linted(self) -> list[Module]:
        """The modules that the run is about, in a stable order."""
        return [self.modules[name] for name in sorted(self.modules) if self.modules[name].linted]

    def resolve(self, module: Module, name: str) -> Resolved | None:
        """What a dotted name means in a module, following imports into files of the same tree."""
        return self.loader.resolve(module, name) if self.loader else None


def load_project(
    paths: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    prefilter: bool = True,
    cwd: str | None = None,
    walk: Walk | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Project:
    """Read and parse what a run needs from `paths` (see `default_paths` for a run without any).

    `walk` is what a walk over them gave, for a caller that has one already; `meanwhile` is called
    in a run that is large enough for a second process, while that one reads, once it is certain
    that there is something to work on.
    Raises `UsageError` for a path that does not exist and for a folder without a Python file.
    """
    from kvlint.discover.load import load

    return load(
        paths, exclude=exclude, prefilter=prefilter, cwd=cwd, walk=walk, meanwhile=meanwhile
    )


def default_paths(cwd: str | None = None) -> list[str]:
    """What to check when the user names nothing: the disaggregation folder of the checkout."""
    from kvlint.discover.defaults import find

    return find(cwd)
