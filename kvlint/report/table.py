"""Transition tables for reading: rows are the current state, columns the written one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kvlint.findings import TransitionTable
from kvlint.hints import one_line
from kvlint.report.style import Style, plural

ABSENT = "absent"
UNSAFE, DROPPED = "!", "~"
LEGEND = {
    UNSAFE: "unsafe: a terminal status does not stay terminal",
    DROPPED: "dropped: a failure has no effect because the room is not registered",
}
_COLOUR = {UNSAFE: "red", DROPPED: "yellow"}
_LIST_WORD = {UNSAFE: "unsafe", DROPPED: "dropped"}


@dataclass(frozen=True)
class _Group:
    """Classes that share one method and one behaviour."""

    classes: tuple[str, ...]
    table: TransitionTable


def render(tables: Sequence[TransitionTable], style: Style) -> str:
    """One matrix for each behaviour; where it is wider than the output, one line for each cell."""
    lines: list[str] = []
    for group in _groups(tables):
        lines += [*_group(group, style), ""]
    unsafe = sum(1 for table in tables if any(m == UNSAFE for m in _marks(table)))
    of = plural(len(tables), "class")
    lines.append(
        style.paint(f"{of} with a status table, {unsafe} of them with unsafe cells", "bold")
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def mark(table: TransitionTable, current: str, written: str) -> str:
    """`!` where a terminal state can be left, `~` where a failure is lost, else nothing."""
    results = table.transitions[current][written]
    if current in table.failures and any(r not in table.failures for r in results):
        return UNSAFE
    terminal = {*table.failures, *table.successes}
    if current in table.successes and any(r not in terminal for r in results):
        return UNSAFE
    if current == ABSENT and written in table.failures and ABSENT in results:
        return DROPPED
    return ""


def _marks(table: TransitionTable) -> Iterator[str]:
    for current, row in table.transitions.items():
        for written in row:
            yield mark(table, current, written)


def _groups(tables: Sequence[TransitionTable]) -> list[_Group]:
    """Tables in order of place; those that differ in the class alone become one."""
    groups: dict[object, _Group] = {}
    for table in sorted(tables, key=lambda t: (t.path, t.line, t.class_name, t.method)):
        key = (table.path, table.line, table.method, repr(table.enum), repr(table.transitions))
        known = groups.get(key)
        classes = (*known.classes, table.class_name) if known else (table.class_name,)
        groups[key] = _Group(classes, known.table if known else table)
    return list(groups.values())


def _group(group: _Group, style: Style) -> Iterator[str]:
    table = group.table
    yield from style.wrap(_heading(group), indent="  ")
    widths = _widths(table)
    if sum(widths) + 3 * len(widths) <= style.width:
        yield from _matrix(table, widths, style)
    else:
        yield from _list(table, style)
    used = set(_marks(table))
    for symbol in (UNSAFE, DROPPED):
        if symbol in used:
            yield from style.wrap(LEGEND[symbol], indent="      ", first=f"  {symbol}   ")


def _heading(group: _Group) -> str:
    table = group.table
    owner = f", defined in {table.defined_in}" if table.defined_in else ""
    place = f"{one_line(table.path)}:{table.line}"
    return f"{', '.join(group.classes)}: {table.method} ({place}{owner})"


def _columns(table: TransitionTable) -> list[str]:
    seen: dict[str, None] = {}
    for row in table.transitions.values():
        seen.update(dict.fromkeys(row))
    order = {name: index for index, name in enumerate(table.enum)}
    return sorted(seen, key=lambda name: (order.get(name, len(order)), name))


def _rows(table: TransitionTable) -> list[str]:
    order = {ABSENT: -1, **{name: index for index, name in enumerate(table.enum)}}
    return sorted(table.transitions, key=lambda name: (order.get(name, len(order)), name))


def _cell(table: TransitionTable, current: str, written: str) -> str:
    results = table.transitions[current].get(written)
    if results is None:
        return "?"
    return "/".join(results) + mark(table, current, written)


_CORNER = "current \\ written"


def _widths(table: TransitionTable) -> list[int]:
    first = max(len(text) for text in (_CORNER, *_rows(table)))
    return [first, *(_column_width(table, column) for column in _columns(table))]


def _column_width(table: TransitionTable, column: str) -> int:
    return max(len(column), *(len(_cell(table, row, column)) for row in _rows(table)))


def _matrix(table: TransitionTable, widths: Sequence[int], style: Style) -> Iterator[str]:
    columns = _columns(table)
    bar = f" {style.glyph('bar')} "
    heads = [f"{text:{width}}" for text, width in zip((_CORNER, *columns), widths, strict=True)]
    yield (
        "  "
        + style.paint(heads[0], "dim")
        + bar
        + _joined(style.paint(h, "bold") for h in heads[1:])
    )
    dash = style.glyph("dash")
    yield (
        "  "
        + dash * widths[0]
        + f"{dash}{'┼' if style.unicode else '+'}"
        + dash * (sum(widths[1:]) + 2 * (len(columns) - 1) + 1)
    )
    for row in _rows(table):
        cells = [
            _painted(table, row, column, width, style)
            for column, width in zip(columns, widths[1:], strict=True)
        ]
        yield "  " + style.paint(f"{row:{widths[0]}}", "bold") + bar + _joined(cells)


def _joined(cells: Iterable[str]) -> str:
    return "  ".join(cells)


def _painted(table: TransitionTable, row: str, column: str, width: int, style: Style) -> str:
    text = f"{_cell(table, row, column):{width}}"
    symbol = mark(table, row, column) if column in table.transitions[row] else ""
    return style.paint(text, "bold", _COLOUR[symbol]) if symbol else text


def _list(table: TransitionTable, style: Style) -> Iterator[str]:
    """The cells that change something or are marked, one a line, for a narrow output."""
    for row in _rows(table):
        yield "  " + style.paint(row, "bold")
        for column in _columns(table):
            if column not in table.transitions[row]:
                continue
            symbol = mark(table, row, column)
            results = "/".join(table.transitions[row][column])
            line = f"{symbol or ' '} write {column} {style.glyph('arrow')} {results}"
            yield "   " + (style.paint(line, "bold", _COLOUR[symbol]) if symbol else line)
