"""Reads all files of a run and sorts them by their bytes; a large run uses a second process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from kvlint.discover import pair
from kvlint.discover import prefilter as gate
from kvlint.discover.source import SourceError, read_bytes

_WORTH_A_FORK = 1500  # files; below that the run is short anyway
_PIECE = 64  # files that a process takes at once

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


def scan(
    paths: Sequence[str],
    taken: Callable[[str], object],
    meanwhile: Callable[[], object] | None = None,
) -> Scan:
    """Look at all files.

    `taken` is called with each file that takes part, in no order, while others are still looked
    at; `meanwhile` once, if there are many of these for a second process and something took part.
    """
    size = max(_PIECE, -(-len(paths) // pair.MOST_PIECES))
    pieces = [paths[start : start + size] for start in range(0, len(paths), size)]
    parts: dict[int, Scan] = {}
    fork = len(paths) >= _WORTH_A_FORK and pair.may_fork()
    with closing(pair.in_turns(len(pieces), lambda n: _looked_at(pieces[n]), fork=fork)) as turns:
        for number, lists in turns:
            part = parts[number] = Scan()
            part.extend(lists)
            for path in part.taken:
                taken(path)
            if fork and part.taken and meanwhile is not None:
                meanwhile()
                meanwhile = None
    result = Scan()
    for number in range(len(pieces)):
        result.extend(parts[number].dump())
    return result


def _looked_at(paths: Sequence[str]) -> list[list[object]]:
    part = Scan()
    part.look_at(paths)
    return part.dump()
