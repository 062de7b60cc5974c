"""Reads all files of a run and sorts them by their bytes; a large run uses a second process.

Reading and searching are bound to one core, and both a core and the file cache are shared with a
forked child at no cost: the child takes half of the files and sends back a few hundred names.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence

from kvlint.discover import prefilter as gate
from kvlint.discover.source import SourceError, read_bytes

_WORTH_A_FORK = 1500  # files; below that the run is short anyway

# Where SGLang keeps its backends: the one name by which a large tree that only inherits from an
# installed SGLang is recognised.
_USUAL_FOLDER = b".disaggregation."


class Scan:
    """What the bytes of the files tell, in the order of the files.

    `taken` take part by themselves; `bases` holds, for each other file with classes, the names
    that they inherit from; `usual` are those of them that import from a folder like SGLang's;
    `plain` have no such class; `marked` have a comment for kvlint; `problems` are (path, line,
    message).
    """

    __slots__ = ("bases", "marked", "plain", "problems", "taken", "usual")

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.bases: list[tuple[str, list[bytes]]] = []
        self.usual: list[str] = []
        self.marked: list[str] = []
        self.plain: list[str] = []
        self.problems: list[tuple[str, int, str]] = []

    def look_at(self, paths: Sequence[str]) -> None:
        """Read these files."""
        for path in paths:
            try:
                data = read_bytes(path)
            except SourceError as error:
                self.problems.append((path, error.line, error.message))
                continue
            if gate.MARK in data:
                self.marked.append(path)
            if gate.takes_part(data):
                self.taken.append(path)
                continue
            bases = gate.base_names(data)
            if not bases:
                self.plain.append(path)
                continue
            self.bases.append((path, sorted(bases)))
            if _USUAL_FOLDER in data:
                self.usual.append(path)

    def extend(self, lists: Sequence[Sequence[object]]) -> None:
        """Add what another process found, given as `dump` gave it."""
        for name, items in zip(self.__slots__, lists, strict=True):
            getattr(self, name).extend(items)

    def dump(self) -> list[list[object]]:
        """The plain data of this scan."""
        return [getattr(self, name) for name in self.__slots__]


def scan(paths: Sequence[str]) -> Scan:
    """Look at all files."""
    result = Scan()
    middle = len(paths) // 2
    child = _start(paths[middle:]) if _may_fork(len(paths)) else None
    if child is None:
        result.look_at(paths)
        return result
    result.look_at(paths[:middle])
    found = _finish(*child)
    if found is None:
        result.look_at(paths[middle:])
    else:
        result.extend(found)
    return result


def _may_fork(count: int) -> bool:
    if count < _WORTH_A_FORK or not hasattr(os, "fork") or sys.platform == "darwin":
        return False
    # A fork takes only the calling thread along; with others around a lock may stay held.
    threads = sys.modules.get("threading")
    alone = threads is None or threads.active_count() == 1
    return alone and (os.cpu_count() or 1) > 1


def _start(paths: Sequence[str]) -> tuple[int, int] | None:
    """A child that looks at these files: its process id and the pipe it writes to."""
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if pid:
        os.close(writing)
        return pid, reading
    # The child ends here whatever happens: nothing of the parent's may run twice.
    status = 1
    try:
        os.close(reading)
        part = Scan()
        part.look_at(paths)
        with os.fdopen(writing, "wb") as pipe:
            marshal.dump(part.dump(), pipe)
        status = 0
    finally:
        os._exit(status)


def _finish(pid: int, reading: int) -> list[list[object]] | None:
    """What the child found; None if it failed, and then the parent does its share."""
    try:
        with os.fdopen(reading, "rb") as pipe:
            data = pipe.read()
    finally:
        _, status = os.waitpid(pid, 0)
    if status:
        return None
    found: list[list[object]] = marshal.loads(data)
    return found
