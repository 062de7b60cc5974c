"""One run's worth of reading: walk, prefilter, parse, and the ancestors of what was found."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from kvlint.discover.loader import Loader
from kvlint.discover.project import Module, Project
from kvlint.discover.scan import scan
from kvlint.discover.source import SourceError, read_bytes
from kvlint.discover.walk import Walk, display_path, walked
from kvlint.findings import Gap

# A run of at most this many files looks at every file closely: a syntax error shows in any of
# them, and a base class is looked for outside the tree. In a larger run only files that can take
# part are parsed.
SMALL_RUN = 100


def load(
    paths: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    prefilter: bool = True,
    cwd: str | None = None,
    walk: Walk | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Project:
    """See `kvlint.discover.project.load_project`."""
    cwd = os.path.abspath(cwd or os.getcwd())
    walk = walk or walked(paths, exclude=exclude, cwd=cwd)
    project = Project(problems=walk.problems, files=len(walk.files))
    loader = Loader(project, cwd, _roots(cwd))
    project.loader = loader
    # Trees are many small objects that all stay: the collector would only look at them again
    # and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        _read(walk, loader, prefilter, meanwhile)
        for module in project.linted():
            for cls in module.classes.values():
                _ = cls.mro
    finally:
        if collecting:
            gc.enable()
    project.problems.sort()
    return project


def _read(
    walk: Walk, loader: Loader, prefilter: bool, meanwhile: Callable[[], object] | None
) -> None:
    """Parse what takes part by itself, then what inherits from that or from outside."""
    if not prefilter:
        _parse(loader, walk.files)
        return
    small = len(walk.files) <= SMALL_RUN
    found = scan(walk.files, lambda path: _parse_early(loader, path), meanwhile)
    for path, line, message in found.problems:
        _report(loader, path, SourceError(message, line))
    loader.project.marked = found.marked
    _parse(loader, found.taken)
    for path in found.plain:
        if small or path in walk.explicit:
            _check(loader, path)
    heirs: dict[bytes, list[str]] = {}
    for path, bases in found.bases:
        for base in bases:
            heirs.setdefault(base, []).append(path)
    taken = _add_heirs(loader, heirs)
    usual = set() if taken else set(found.usual)
    for path, _ in found.bases:
        if path not in taken and (small or path in walk.explicit or path in usual):
            _add_if_heir(loader, path)


def _parse_early(loader: Loader, path: str) -> None:
    """Parse a file that will be taken in its turn, where also its errors are reported."""
    with suppress(SourceError):
        loader.check(path, read_bytes(path))


def _parse(loader: Loader, paths: Sequence[str]) -> None:
    for path in paths:
        try:
            loader.add(path, read_bytes(path))
        except SourceError as error:
            _report(loader, path, error)


def _check(loader: Loader, path: str) -> None:
    try:
        loader.check(path, read_bytes(path))
    except SourceError as error:
        _report(loader, path, error)


def _add_heirs(loader: Loader, heirs: dict[bytes, list[str]]) -> set[str]:
    """Take the files with a class that inherits, by its base's name, from one that matters."""
    taken: set[str] = set()
    waiting = list(loader.project.modules.values())
    while waiting:
        module = waiting.pop(0)
        for name, cls in module.classes.items():
            known = heirs.get(name.encode(), ())
            for path in known if known and loader.matters(cls) else ():
                if path not in taken:
                    taken.add(path)
                    added = _add_if_heir(loader, path)
                    if added is not None:
                        waiting.append(added)
    return taken


def _add_if_heir(loader: Loader, path: str) -> Module | None:
    """Take a file if one of its classes has an ancestor that matters."""
    try:
        module = loader.add(path, read_bytes(path))
    except SourceError as error:
        _report(loader, path, error)
        return None
    if any(loader.matters(cls) for cls in module.classes.values()):
        return module
    loader.drop(module)
    return None


def _report(loader: Loader, path: str, error: SourceError) -> None:
    shown = display_path(path, loader.cwd)
    loader.project.problems.append(Gap(shown, error.line, error.message))


def _roots(cwd: str) -> list[str]:
    return [cwd, os.path.join(cwd, "python"), os.path.join(cwd, "src")]
