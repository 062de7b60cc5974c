"""One transition table drawn as a matrix, or as a list where a matrix is too wide."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.findings import TransitionTable
from kvlint.report.cells import DROPPED, UNSAFE, columns, mark, results, rows
from kvlint.report.style import Style

_CORNER = "current \\ written"
_INDENT = "  "
_GAP = "  "
_COLOUR = {UNSAFE: "red", DROPPED: "yellow"}


def draw(table: TransitionTable, style: Style) -> Iterator[str]:
    """The matrix if it fits into the width, else the list."""
    widths = [_column_width(table, column) for column in columns(table)]
    first = max(len(text) for text in (_CORNER, *rows(table)))
    whole = len(_INDENT) + first + 3 + sum(widths) + len(_GAP) * (len(widths) - 1)
    if whole <= style.width:
        return _matrix(table, first, widths, style)
    return _list(table, style)


def _matrix(table: TransitionTable, first: int, widths: list[int], style: Style) -> Iterator[str]:
    names = columns(table)
    bar = f" {style.glyph('bar')} "
    heads = [_padded(name, width, style, "bold") for name, width in zip(names, widths, strict=True)]
    yield f"{_INDENT}{_CORNER:{first}}{bar}{_GAP.join(heads)}"
    dash, cross = style.glyph("dash"), style.glyph("cross")
    yield (
        _INDENT
        + dash * (first + 1)
        + cross
        + dash * (sum(widths) + len(_GAP) * (len(widths) - 1) + 1)
    )
    for row in rows(table):
        cells = [_cell(table, row, column) for column in names]
        for level in range(max(len(cell) for cell in cells)):
            drawn = [
                _drawn(cell, level, width, mark(table, row, name), style)
                for cell, width, name in zip(cells, widths, names, strict=True)
            ]
            head = _padded(row if level == 0 else "", first, style, "bold")
            yield f"{_INDENT}{head}{bar}{_GAP.join(drawn)}"


def _cell(table: TransitionTable, current: str, written: str) -> list[str]:
    """The cell's lines: one for each possible result, the mark on the last."""
    *before, last = results(table, current, written)
    return [*(f"{result} or" for result in before), last + mark(table, current, written)]


def _column_width(table: TransitionTable, column: str) -> int:
    cells = (line for row in rows(table) for line in _cell(table, row, column))
    return max(len(column), *(len(line) for line in cells))


def _drawn(cell: list[str], level: int, width: int, symbol: str, style: Style) -> str:
    text = cell[level] if level < len(cell) else ""
    return _padded(text, width, style, *(("bold", _COLOUR[symbol]) if symbol else ()))


def _padded(text: str, width: int, style: Style, *colours: str) -> str:
    """Painted, then padded: the end of a line can still be stripped."""
    painted = style.paint(text, *colours) if colours else text
    return painted + " " * (width - len(text))


def _list(table: TransitionTable, style: Style) -> Iterator[str]:
    """For each state: which writes lead where."""
    for row in rows(table):
        yield _INDENT + style.paint(row, "bold")
        by_result: dict[tuple[str, str], list[str]] = {}
        for column in columns(table):
            after = " or ".join(results(table, row, column))
            by_result.setdefault((after, mark(table, row, column)), []).append(column)
        for (after, symbol), written in by_result.items():
            text = f"write {', '.join(written)} {style.glyph('becomes')} {after}"
            for line in style.wrap(text, indent="       ", first=f"   {symbol or ' '} "):
                yield style.paint(line, "bold", _COLOUR[symbol]) if symbol else line
