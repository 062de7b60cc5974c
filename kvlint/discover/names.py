"""Dotted module names from the folder layout, and files from dotted names.

No root folder has to be known: an absolute import is looked for at every folder above the
importing file whose name fits a part of it. So `sglang.srt.x` is found from a checkout, from an
unpacked wheel and from a copy of an inner folder alike.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

_MAX_GAP = 3  # folders without __init__.py (namespace packages) that a name may bridge
_SITE_FOLDERS = ("site-packages", "dist-packages")


def folder_name(folder: str) -> str:
    """A folder's name as one part of a dotted name."""
    return os.path.basename(folder).replace(".", "_")


class Layout:
    """Answers about folders, each asked of the file system once."""

    def __init__(self, roots: Sequence[str] = ()) -> None:
        self._roots = tuple(roots)
        self._packages: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}
        self._is_file: dict[str, bool] = {}

    def module_name(self, path: str) -> str:
        """The dotted name of a file, from the outermost package that holds it."""
        folder, base = os.path.split(path)
        stem = base.rpartition(".")[0] or base
        package = self.package(folder)
        if stem == "__init__" and package:
            return ".".join(package)
        return ".".join((*package, stem))

    def package(self, folder: str) -> tuple[str, ...]:
        """The dotted name of a folder, empty if no `__init__.py` lies in or above it."""
        known = self._packages.get(folder)
        if known is not None:
            return known
        parts: list[str] = []
        outermost = 0
        current = folder
        while len(parts) - outermost <= _MAX_GAP and not current.endswith(_SITE_FOLDERS):
            parts.append(folder_name(current))
            if self.is_file(os.path.join(current, "__init__.py")):
                outermost = len(parts)
            parent = os.path.dirname(current)
            if parent == current:
                break
            current = parent
        package = tuple(reversed(parts[:outermost]))
        self._packages[folder] = package
        return package

    def relative_base(self, path: str, level: int) -> str:
        """The dotted name that `level` dots mean in this file."""
        folder = os.path.dirname(path)
        package = self.package(folder)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        kept = package[: max(0, len(package) - (level - 1))]
        # More dots than the known package has parts: the folder's own name says where it is.
        return ".".join(kept) if kept else folder_name(folder)

    def find(self, path: str, name: str) -> str | None:
        """The file of the module `name` as the file `path` would import it."""
        folder = os.path.dirname(path)
        parts = tuple(name.split("."))
        key = (folder, parts)
        if key not in self._found:
            self._found[key] = self._find(path, folder, parts)
        return self._found[key]

    def is_file(self, path: str) -> bool:
        """Whether a file exists."""
        known = self._is_file.get(path)
        if known is None:
            known = self._is_file[path] = os.path.isfile(path)
        return known

    def asked(self) -> dict[str, bool]:
        """The paths that were looked for so far, and whether there is such a file."""
        return dict(self._is_file)

    def module_in(self, folder: str, parts: Sequence[str]) -> str | None:
        """The file of the module `parts` below `folder`."""
        stem = os.path.join(folder, *parts)
        for candidate in (stem + ".py", os.path.join(stem, "__init__.py")):
            if (parts or candidate.endswith("__init__.py")) and self.is_file(candidate):
                return candidate
        return None

    def _find(self, path: str, folder: str, parts: tuple[str, ...]) -> str | None:
        above = list(_upwards(folder))
        package = self.package(folder)
        inside = bool(package) and parts[0] == package[0]
        if parts[0] in sys.stdlib_module_names and not inside:
            return None
        for start, rest in self._places(above, package, parts, inside):
            found = self.module_in(start, rest)
            if found is not None and found != path:
                return found
        return None

    def _places(
        self,
        above: list[str],
        package: tuple[str, ...],
        parts: tuple[str, ...],
        inside: bool,
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        for folder in above:
            if folder_name(folder) == parts[0]:
                yield folder, parts[1:]
        if inside:
            return
        root = above[min(len(package), len(above) - 1)]
        if not root.endswith(_SITE_FOLDERS):
            yield root, parts
        for folder in self._roots:
            yield folder, parts
        # A copy of an inner folder, without the packages above it: `a.b.c.d` lies beside us when
        # we are below a folder called `b` or `c`. Not for a file whose own package is complete.
        for at in range(1, len(parts) - 1):
            for folder in above[: len(package) + 2]:
                if folder_name(folder) == parts[at]:
                    yield folder, parts[at + 1 :]


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent
