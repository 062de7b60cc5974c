"""Reads modules when they are needed, resolves names between them and links classes."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvlint.discover import prefilter as gate
from kvlint.discover import source
from kvlint.discover.mro import merge
from kvlint.discover.names import Layout
from kvlint.discover.project import (
    ClassInfo,
    ConstantRef,
    FunctionRef,
    Module,
    Project,
    Resolved,
)
from kvlint.discover.tables import dotted, fill
from kvlint.discover.walk import display_path
from kvlint.findings import Gap

if TYPE_CHECKING:
    from kvlint.discover import installed

_SMALL = 30_000  # bytes; such a file costs no more to parse than to think about
_MAX_DEPTH = 32  # imports followed for one name; more is a cycle


class Loader:
    """The files of one run, each parsed at most once."""

    def __init__(self, project: Project, cwd: str, roots: Sequence[str] = ()) -> None:
        self.project = project
        self.cwd = cwd
        self.layout = Layout(roots)
        self._parsed: dict[str, tuple[bytes, ast.Module]] = {}  # may still be needed
        self.outside: dict[str, list[list[str]]] = {}  # looked for there, and what there was
        self._by_path: dict[str, Module | None] = {}
        self._dropped: set[str] = set()
        self._linking: set[ClassInfo] = set()
        self._matters: dict[ClassInfo, bool] = {}
        self._sparing = False
        self._shelf: installed.Shelf | None = None

    def add(self, path: str, data: bytes) -> Module:
        """Take a file that the run is about; raises `SourceError` if it cannot be parsed."""
        module = self._by_path.get(path)
        if module is not None:  # already read, as a base of something
            module.linted = True
            self._restore(path, module)
            return module
        self._by_path[path] = None
        module = self._parse(path, data, linted=True)
        self._by_path[path] = module
        return module

    def check(self, path: str, data: bytes) -> None:
        """Parse a file that may be taken later; raises `SourceError` if that is not possible."""
        self._parsed[path] = data, source.check(data, path)

    def drop(self, module: Module) -> None:
        """Take a file out of the run again: it turned out to have no part in it."""
        module.linted = False
        self._dropped.add(str(module.path))
        modules = self.project.modules
        for key in [key for key, known in modules.items() if known is module]:
            del modules[key]

    def _restore(self, path: str, module: Module) -> None:
        if path in self._dropped:
            self._dropped.discard(path)
            self._register(module)

    def _register(self, module: Module) -> None:
        # Two trees in one run can hold modules of one name; both stay.
        taken = module.name in self.project.modules
        key = f"{module.name} ({module.display})" if taken else module.name
        self.project.modules[key] = module

    def module_at(self, path: str) -> Module | None:
        """The module of a file that another one needs."""
        if path not in self._by_path:
            try:
                data = source.read_bytes(path)
                if self._sparing and len(data) > _SMALL and not gate.names_outcomes(data):
                    return None
                self._by_path[path] = None
                self._by_path[path] = self._parse(path, data, linted=False)
            except source.SourceError as error:
                self._by_path[path] = None
                shown = display_path(path, self.cwd)
                self.project.gaps.append(Gap(shown, error.line, error.message))
        module = self._by_path[path]
        if module is not None:
            self._restore(path, module)
        return module

    def aside(self, path: str) -> Module | None:
        """The module of a file for its text alone: it takes no part in the run."""
        module = self._by_path.get(path)
        if module is not None:
            return module
        try:
            text = source.decode(source.read_bytes(path))
            tree = source.parse(text, path)
        except source.SourceError:  # reported where the run needs the file
            return None
        shown = display_path(path, self.cwd)
        return Module(self.layout.module_name(path), Path(path), shown, text, tree, linted=False)

    def _parse(self, path: str, data: bytes, *, linted: bool) -> Module:
        text = source.decode(data)
        known, tree = self._parsed.pop(path, (None, None))
        if tree is None or known != data:  # the file may have changed since
            tree = source.parse(text, path)
        shown = display_path(path, self.cwd)
        name = self.layout.module_name(path)
        module = Module(name, Path(path), shown, text, tree, linted, loader=self)
        fill(module, self.layout)
        self._register(module)
        return module

    # Names ------------------------------------------------------------------------------------

    def resolve(self, module: Module, name: str, depth: int = 0) -> Resolved | None:
        """What `name`, dotted or not, stands for in a module."""
        head, *rest = name.split(".")
        return self._in_scope(module, head, rest, depth)

    def _in_scope(self, module: Module, head: str, rest: list[str], depth: int) -> Resolved | None:
        if depth > _MAX_DEPTH:
            return None
        target = module.imports.get(head)
        if target is not None:
            found = self._absolute(module, [*target.split("."), *rest], depth)
            if found is not None:
                return found
        found = _own(module, head)
        if found is None:
            for star in module.stars:
                found = self._absolute(module, [*star.split("."), head], depth)
                if found is not None:
                    break
        return self._descend(found, rest, depth)

    def _absolute(self, module: Module, parts: list[str], depth: int) -> Resolved | None:
        path = str(module.path)
        for length in range(len(parts), 0, -1):
            file = self.layout.find(path, ".".join(parts[:length]))
            if file is not None:
                found = self.module_at(file)
                return self._descend(found, parts[length:], depth + 1)
        return None

    def _descend(self, found: Resolved | None, rest: list[str], depth: int) -> Resolved | None:
        while found is not None and rest:
            if isinstance(found, Module):
                return self._member(found, rest, depth)
            if isinstance(found, ConstantRef) and found.owner is None:
                return self._through_alias(found, rest, depth)
            if not isinstance(found, ClassInfo):
                return None
            found, rest = _class_member(found, rest[0]), rest[1:]
        return found

    def _member(self, module: Module, rest: list[str], depth: int) -> Resolved | None:
        found = self._in_scope(module, rest[0], rest[1:], depth + 1)
        if found is None and module.path.name == "__init__.py":
            file = self.layout.module_in(os.path.dirname(module.path), rest[:1])
            if file is not None:
                found = self._descend(self.module_at(file), rest[1:], depth + 1)
        return found

    def _through_alias(self, found: ConstantRef, rest: list[str], depth: int) -> Resolved | None:
        alias = dotted(found.node)
        return self.resolve(found.module, ".".join((alias, *rest)), depth + 1) if alias else None

    def class_named(self, module: Module, name: str) -> ClassInfo | None:
        """The class that a name stands for, through aliases (`Base = Other`)."""
        for _ in range(_MAX_DEPTH):
            found = self.resolve(module, name)
            if not isinstance(found, ConstantRef):
                return found if isinstance(found, ClassInfo) else None
            module, name = found.module, dotted(found.node)
            if not name:
                return None
        return None

    def is_unread_function(self, module: Module, name: str) -> bool:
        """Whether a name is imported from a file, not read so far, that defines a function so.

        Told from the bytes alone: for a caller that looks for a class.
        """
        target = module.imports.get(name, "")
        package, _, last = target.rpartition(".")
        path = str(module.path)
        if not package or self.layout.find(path, target) is not None:
            return False
        file = self.layout.find(path, package)
        if file is None or file in self._by_path:
            return False
        try:
            data = source.read_bytes(file)
        except source.SourceError:
            return False
        called = last.encode()
        return b"\ndef " + called + b"(" in data and b"class " + called not in data

    # Classes ----------------------------------------------------------------------------------

    def links(self, cls: ClassInfo) -> tuple[tuple[ClassInfo, ...], tuple[str, ...]]:
        """The ancestors of a class, and the names of its bases that were not found."""
        self._linking.add(cls)
        try:
            bases: list[ClassInfo] = []
            missing: list[str] = []
            for name in cls.bases:
                base = self._read_base(cls, name)
                if base is None:
                    if name != "object":
                        missing.append(imported_name(cls.module, name))
                elif base in self._linking:
                    self._gap(cls, f"class {cls.name} is its own ancestor, through {name}")
                elif base not in bases:
                    bases.append(base)
            order, consistent = merge([[cls], *(base.mro for base in bases), bases])
        finally:
            self._linking.discard(cls)
        if not consistent:
            self._gap(cls, f"the bases of class {cls.name} have no consistent order")
        return tuple(order), tuple(missing)

    def matters(self, cls: ClassInfo) -> bool:
        """Whether a class or one of its known ancestors names how something ends."""
        if cls not in self._matters:
            self._matters[cls] = any(_names_outcomes(one) for one in cls.mro)
        return self._matters[cls]

    def _read_base(self, cls: ClassInfo, name: str) -> ClassInfo | None:
        # A backend sits among classes with large bases that have nothing to do with it; a class
        # that names no outcome does not pull in a large file that names none either.
        before = self._sparing
        self._sparing = not _names_outcomes(cls)
        try:
            return self._base(cls, name)
        finally:
            self._sparing = before

    def _base(self, cls: ClassInfo, name: str) -> ClassInfo | None:
        # A name in a class or function body may mean a neighbour before a module-level class.
        scope = cls.name.rpartition(".")[0]
        while scope:
            inner = cls.module.classes.get(f"{scope}.{name}")
            if inner is not None and inner is not cls:
                return inner
            scope = scope.rpartition(".")[0]
        found = self.class_named(cls.module, name)
        if found is None:
            return self._outside_base(cls.module, imported_name(cls.module, name))
        return found

    def _outside_base(self, module: Module, name: str) -> ClassInfo | None:
        """A base class from an installed package."""
        from kvlint.discover import installed

        if not installed.may_be_installed(name, module.name):
            return None
        self._shelf = self._shelf or installed.Shelf()
        self.outside.setdefault(name, self._shelf.state(name))
        file_name, _, rest = installed.locate(name)
        if file_name is None:
            return None
        found = self.module_at(file_name)
        result = self._descend(found, rest.split("."), 0) if found else None
        return result if isinstance(result, ClassInfo) else None

    def _gap(self, cls: ClassInfo, message: str) -> None:
        self.project.gaps.append(Gap(cls.module.display, cls.node.lineno, message))


def _names_outcomes(cls: ClassInfo) -> bool:
    return gate.names_outcomes(cls.module.text_of(cls.node).encode(errors="replace"))


def imported_name(module: Module, name: str) -> str:
    """A name as written, with its first part replaced by what was imported under it."""
    head, dot, rest = name.partition(".")
    return module.imports.get(head, head) + dot + rest


def _own(module: Module, name: str) -> Resolved | None:
    if name in module.classes:
        return module.classes[name]
    if name in module.functions:
        return FunctionRef(module, module.functions[name])
    if name in module.constants:
        return ConstantRef(module, module.constants[name])
    return None


def _class_member(cls: ClassInfo, name: str) -> Resolved | None:
    for owner in cls.mro:
        inner = owner.module.classes.get(f"{owner.name}.{name}")
        if inner is not None:
            return inner
        if name in owner.methods:
            return FunctionRef(owner.module, owner.methods[name], owner)
        if name in owner.attributes:
            return ConstantRef(owner.module, owner.attributes[name], owner)
    return None
