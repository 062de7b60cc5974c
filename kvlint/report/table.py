"""Transition tables for reading: rows are the current state, columns the written one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.findings import TransitionTable
from kvlint.report.cells import DROPPED, UNSAFE, marks
from kvlint.report.matrix import draw
from kvlint.report.style import Style, plural

LEGEND = {
    UNSAFE: "unsafe: a terminal status does not stay terminal",
    DROPPED: "dropped: a failure has no effect because the room is not registered",
}


@dataclass(frozen=True)
class _Group:
    """Classes that share one method and one behaviour."""

    classes: tuple[str, ...]
    table: TransitionTable


def render(tables: Sequence[TransitionTable], style: Style) -> str:
    """One matrix for each behaviour, then how many classes have unsafe cells."""
    lines: list[str] = []
    for group in _groups(tables):
        lines += [*_lines(group, style), ""]
    lines.append(style.paint(_count(tables), "bold"))
    return "".join(line.rstrip() + "\n" for line in lines)


def _count(tables: Sequence[TransitionTable]) -> str:
    if not tables:
        return "no status-update method was found in the files that were read"
    unsafe = sum(1 for table in tables if UNSAFE in marks(table))
    return f"{plural(len(tables), 'table')}, {unsafe} with unsafe cells"


def _groups(tables: Sequence[TransitionTable]) -> list[_Group]:
    """Tables in order of place; those that differ in the class alone become one."""
    groups: dict[object, _Group] = {}
    for table in sorted(tables, key=lambda t: (t.path, t.line, t.class_name, t.method)):
        key = (table.path, table.line, table.method, repr(table.enum), repr(table.transitions))
        first = groups.get(key, _Group((), table))
        groups[key] = _Group((*first.classes, table.class_name), first.table)
    return list(groups.values())


def _lines(group: _Group, style: Style) -> Iterator[str]:
    yield from _heading(group, style)
    yield from draw(group.table, style)
    used = set(marks(group.table))
    for symbol, meaning in LEGEND.items():
        if symbol in used:
            yield from style.wrap(meaning, indent="     ", first=f"  {symbol}  ")


def _heading(group: _Group, style: Style) -> Iterator[str]:
    table = group.table
    title = f"{', '.join(group.classes)}: {table.method}"
    for line in style.wrap(title, indent="    ", first=""):
        yield style.paint(line, "bold")
    owner = f" in {table.defined_in}" if table.defined_in else ""
    yield from style.wrap(f"{table.path}:{table.line}{owner}", indent="    ", first="  ")
