"""One run's worth of reading: walk, prefilter, parse, and the ancestors of what was found."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence

from kvlint.discover import prefilter as gate
from kvlint.discover.loader import Loader
from kvlint.discover.project import Project
from kvlint.discover.source import SourceError, check, read_bytes
from kvlint.discover.walk import Walk, display_path
from kvlint.findings import Gap


def load(
    paths: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    prefilter: bool = True,
    cwd: str | None = None,
) -> Project:
    """See `kvlint.discover.project.load_project`."""
    cwd = os.path.abspath(cwd or os.getcwd())
    walk = Walk(cwd, exclude)
    for path in paths:
        walk.add(path)
    project = Project(problems=walk.problems, files=len(walk.files))
    loader = Loader(project, cwd, _roots(walk, cwd))
    project.loader = loader
    # Trees are many small objects that all stay: the collector would only look at them again
    # and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        _read(walk, loader, prefilter)
        for module in project.linted():
            for cls in module.classes.values():
                _ = cls.mro
    finally:
        if collecting:
            gc.enable()
    project.problems.sort(key=lambda gap: (gap.path, gap.line, gap.message))
    return project


def _read(walk: Walk, loader: Loader, prefilter: bool) -> None:
    heirs: dict[bytes, list[str]] = {}
    for path in walk.files:
        try:
            data = read_bytes(path)
            if not prefilter or gate.may_take_part(data):
                loader.add(path, data)
                continue
            for base in gate.base_names(data):
                heirs.setdefault(base, []).append(path)
            if path in walk.explicit:
                check(data, path)
        except SourceError as error:
            _report(loader, path, error)
    if loader.project.modules:
        _add_heirs(loader, heirs)


def _add_heirs(loader: Loader, heirs: dict[bytes, list[str]]) -> None:
    """Take the files whose classes inherit, by name and by import, from one already taken."""
    taken: set[str] = set()
    waiting = list(loader.project.modules.values())
    while waiting:
        module = waiting.pop()
        for name, cls in module.classes.items():
            known = heirs.get(name.encode(), ())
            for path in known if known and loader.matters(cls) else ():
                if path in taken:
                    continue
                taken.add(path)
                try:
                    waiting.append(loader.add(path, read_bytes(path)))
                except SourceError as error:
                    _report(loader, path, error)


def _report(loader: Loader, path: str, error: SourceError) -> None:
    shown = display_path(path, loader.cwd)
    loader.project.problems.append(Gap(shown, error.line, error.message))


def _roots(walk: Walk, cwd: str) -> list[str]:
    return [cwd, os.path.join(cwd, "python"), os.path.join(cwd, "src")]
