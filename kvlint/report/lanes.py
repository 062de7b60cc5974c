"""A witness drawn with one lane for each thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kvlint.findings import Step
from kvlint.report.places import ending, place, shorten
from kvlint.report.style import Style

_GAP = "  "
_MIN_EVENT = 20
_ENOUGH = 34  # cells in which most places can be told apart
_LANE = 3  # cells


@dataclass(frozen=True)
class _Layout:
    """The widths of the columns."""

    digits: int
    where: int
    event: int
    status: int


@dataclass(frozen=True)
class _Row:
    """One step as it is drawn."""

    step: Step
    symbols: tuple[str, ...]
    status: tuple[str, ...]


def lanes(steps: Sequence[Step], style: Style, indent: str) -> Iterator[str]:
    """The names of the threads, then one row for each step."""
    threads = list(dict.fromkeys(step.thread for step in steps))
    rows = list(_rows(steps, threads, style))
    paths, layout = _layout(rows, threads, style, len(indent))
    margin = indent + " " * (2 + layout.digits + 2)
    for number, thread in enumerate(threads):
        bars = (style.glyph("bar") + " " * (_LANE - 1)) * number
        yield f"{margin}{bars}{style.glyph('corner')} {style.paint(thread, 'bold')}"
    for row in rows:
        yield from _drawn(row, paths[row.step.path], layout, style, indent)


def _paths(steps: Sequence[Step], width: int, style: Style) -> dict[str, str]:
    """Each path as the column shows it, alike in all rows."""
    ends: dict[str, int] = {}
    for step in steps:
        ends[step.path] = max(ends.get(step.path, 0), len(ending(step)))
    return {path: shorten(path, width - end, style) for path, end in ends.items()}


def _rows(steps: Sequence[Step], threads: list[str], style: Style) -> Iterator[_Row]:
    before = "absent"
    for index, step in enumerate(steps):
        symbols = tuple(_symbol(steps, index, thread) for thread in threads)
        becomes = style.glyph("becomes")
        changed = (f"{becomes} {step.status}",) if step.status != before else ()
        switch = (f"~ {step.window} window",) if step.window else ()
        yield _Row(step, symbols, (*changed, *switch))
        before = step.status


def _symbol(steps: Sequence[Step], index: int, thread: str) -> str:
    """The thread moves, is in the middle of something, or waits for work."""
    if steps[index].thread == thread:
        return "moves"
    begun = any(step.thread == thread for step in steps[:index])
    ahead = next((step for step in steps[index + 1 :] if step.thread == thread), None)
    return "bar" if begun and ahead is not None and not ahead.awakens else "idle"


def _layout(
    rows: Sequence[_Row], threads: list[str], style: Style, indent: int
) -> tuple[dict[str, str], _Layout]:
    """The paths as they fit, and the columns; the event gets what the others leave."""
    digits = len(str(rows[-1].step.step))
    room = style.width - indent - (2 + digits + 2) - _LANE * len(threads)
    status = max(len(text) for row in rows for text in ("", *row.status))
    room -= status + 2 * len(_GAP)
    longest = max(len(place(row.step, 10_000, style)) for row in rows)
    events = max(len(row.step.action) for row in rows)
    where = min(longest, max(room - events, min(room * 3 // 5, _ENOUGH)))
    paths = _paths([row.step for row in rows], where, style)
    where = max(len(paths[row.step.path] + ending(row.step)) for row in rows)
    return paths, _Layout(digits, where, min(events, max(room - where, _MIN_EVENT)), status)


def _drawn(row: _Row, path: str, layout: _Layout, style: Style, indent: str) -> Iterator[str]:
    """The row, and what of its event and status needs more lines."""
    step = row.step
    events = Style(width=layout.event).wrap(step.action)
    where = path + ending(step)
    mark = ">" if step.decisive else " "
    head = style.paint(mark, "bold", "red") if step.decisive else mark
    number = f"{step.step:>{layout.digits}}"
    first = True
    for event, status in zip_longest(events, row.status or ("",), fillvalue=""):
        left = f"{head} {number}" if first else " " * (2 + layout.digits)
        bold = style.paint(event, "bold") if step.decisive else event
        bold += " " * (layout.event - len(event))
        drawn = "".join(_lane(symbol, step, first, style) for symbol in row.symbols)
        cell = f"{where if first else '':{layout.where}}"
        yield f"{indent}{left}{_GAP}{drawn}{cell}{_GAP}{bold}{_GAP}{status}".rstrip()
        first = False


def _lane(symbol: str, step: Step, first: bool, style: Style) -> str:
    """One lane's cell; the lines below a step only carry on what goes on."""
    if not first and symbol != "bar":
        return " " * _LANE
    glyph = style.glyph(symbol)
    if symbol == "moves" and step.decisive:
        glyph = style.paint(glyph, "bold", "red")
    return glyph + " " * (_LANE - 1)
