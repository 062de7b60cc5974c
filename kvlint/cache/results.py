"""The result of an analysis, from the cache or for it.

A result is found by the content of all files that the walk finds, so they are read before anything
else; an analysis that follows sees just these contents. A file that changes in the meantime changes
nothing but the next run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from kvlint.cache.key import Location, key
from kvlint.cache.needs import READER, Needs, needs
from kvlint.cache.plain import from_plain, to_plain
from kvlint.cache.result import Result
from kvlint.cache.shapes import many, record, text, whole
from kvlint.cache.store import Damaged, Store
from kvlint.discover import source
from kvlint.discover.source import Contents
from kvlint.discover.walk import Walk
from kvlint.findings import Report

if TYPE_CHECKING:
    from kvlint.config import Settings
    from kvlint.discover.project import Project

MAX_BYTES = 512 << 20  # of source, which is held in memory until the run ends


class TooLarge(Exception):
    """The files are too many to be held in memory."""


class Lookup:
    """One run's way to its result; raises `TooLarge` where there is none through the cache."""

    def __init__(self, store: Store, location: Location, walk: Walk, settings: Settings) -> None:
        self.folder = store.folder
        self._store = store
        self._location = location
        self._walk = walk
        self._settings = settings
        self._contents = _read_all(walk)
        self._key = key(location, walk, self._contents, settings)

    def recall(self) -> Result | None:
        """The stored result if it is still one; raises `Damaged` for an entry that is not whole."""
        body = self._store.read(self._key)
        if body is None:
            return None
        try:
            entry = _ENTRY(json.loads(body))
        except (ValueError, RecursionError):
            raise Damaged(self._store.path(self._key)) from None
        if not entry.needs.hold(self._location, self._contents):
            return None
        paths = {shown: self._location.full(path) for shown, path in entry.modules}
        if not all(isinstance(self._contents.get(path), bytes) for path in paths.values()):
            return None
        return Result(entry.report, _Texts(paths, self._contents), entry.files, True)

    def reading(self) -> AbstractContextManager[None]:
        """Within, an analysis reads what was looked up."""
        return source.frozen(self._contents)

    def keep(self, report: Report, project: Project) -> None:
        """Store a result that another run may use; raises `OSError` if that is not possible."""
        if project.loader is None or not self._is_final(report):
            return
        needed = needs(project.loader, self._walk, self._contents, self._location)
        modules = [
            [module.display, self._location.relative(str(module.path))]
            for module in project.modules.values()
        ]
        entry = [to_plain(report), needed, modules, project.files]
        body = json.dumps(entry, separators=(",", ":")).encode("ascii")
        # What names a folder that will not be there again is of no use to another run.
        if self._location.top is None or json.dumps(self._location.top)[1:-1].encode() not in body:
            self._store.write(self._key, body)

    def _is_final(self, report: Report) -> bool:
        """Whether another run would find the same, however much time it has."""
        return self._settings.max_seconds is None or all(s.complete for s in report.searched)


class _Entry(NamedTuple):
    report: Report
    needs: Needs
    modules: tuple[tuple[str, str], ...]
    files: int


_ENTRY = record(_Entry, from_plain, READER, many(record(lambda *pair: pair, text, text)), whole)


class _Texts(Mapping[str, str]):
    """Sources by displayed path, decoded when they are asked for."""

    def __init__(self, paths: Mapping[str, str], contents: Contents) -> None:
        self._paths = paths
        self._contents = contents

    def __getitem__(self, shown: str) -> str:
        content = self._contents[self._paths[shown]]
        return source.decode(content) if isinstance(content, bytes) else ""

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _read_all(walk: Walk) -> Contents:
    contents: Contents = {}
    total = 0
    for path in walk.files:
        content = contents[path] = source.outcome(path)
        total += len(content) if isinstance(content, bytes) else 0
        if total > MAX_BYTES:
            raise TooLarge(f"the files have more than {MAX_BYTES >> 20} MB")
    return contents
