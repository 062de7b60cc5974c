"""A source excerpt with line numbers, and carets under what is meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.findings import Span
from kvlint.report.source import Sources
from kvlint.report.style import Style

_TAB = "    "


@dataclass(frozen=True)
class Mark:
    """A place to show: `^` under the finding's own site, `-` under the others."""

    span: Span
    label: str = ""
    primary: bool = False


@dataclass(frozen=True)
class _Cells:
    """One line as it is drawn: the text and where the mark starts and how wide it is."""

    text: str
    start: int
    length: int


def excerpt(marks: Sequence[Mark], sources: Sources, style: Style, indent: str) -> Iterator[str]:
    """The marked lines of one file; nothing if none of them can be read."""
    shown = [mark for mark in _in_order(marks) if sources.line(mark.span.path, mark.span.line)]
    if not shown:
        return
    digits = max(len(str(mark.span.line)) for mark in shown)
    gutter = style.paint(f"{indent}{'':{digits}} {style.glyph('bar')}", "blue")
    yield gutter
    last = None
    for mark in shown:
        number = mark.span.line
        if last is not None and number > last + 1:
            yield style.paint(f"{indent}{'...':>{digits}}", "blue")
        room = max(style.width - len(indent) - digits - 3, 10)
        cells = _cut(_cells(sources.line(mark.span.path, number) or "", mark.span), room, style)
        if number != last:
            head = style.paint(f"{indent}{number:>{digits}} {style.glyph('bar')}", "blue")
            yield f"{head} {cells.text}".rstrip()
        yield from _underline(mark, cells, gutter, room, style)
        last = number


def _in_order(marks: Sequence[Mark]) -> list[Mark]:
    return sorted(marks, key=lambda mark: (mark.span, not mark.primary, mark.label))


def _underline(mark: Mark, cells: _Cells, gutter: str, room: int, style: Style) -> Iterator[str]:
    colours = ("bold", "red") if mark.primary else ("cyan",)
    line = " " * cells.start + ("^" if mark.primary else "-") * cells.length
    beside = f"{line} {mark.label}"
    if not mark.label or len(beside) <= room:
        yield f"{gutter} {style.paint((beside if mark.label else line), *colours)}"
        return
    yield f"{gutter} {style.paint(line, *colours)}"
    for part in Style(width=room).wrap(mark.label, indent=" " * min(cells.start, room // 3)):
        yield f"{gutter} {style.paint(part, *colours)}"


def _cells(line: str, span: Span) -> _Cells:
    """The line as terminal cells: tabs expanded, control characters made visible."""
    start = min(max(span.column - 1, 0), len(line))
    end = _end(line, span, start)
    before, marked, after = (_visible(part) for part in (line[:start], line[start:end], line[end:]))
    return _Cells(before + marked + after, _width(before), max(_width(marked), 1))


def _end(line: str, span: Span, start: int) -> int:
    """Where the mark ends in its first line; a span without an end marks what is left of it."""
    if span.end_line == span.line and span.end_column > span.column:
        return min(span.end_column - 1, len(line))
    return max(len(line.rstrip()), start)


def _cut(cells: _Cells, room: int, style: Style) -> _Cells:
    """The part of the line that fits, with the start of the mark in it."""
    if _width(cells.text) <= room:
        return cells
    cut = style.glyph("cut")
    text, start = cells.text, cells.start
    if start > room * 2 // 3:
        drop = start - room // 3
        text, start = cut + _tail(text, drop + len(cut)), room // 3
    if _width(text) > room:
        text = _head(text, room - len(cut)) + cut
    return _Cells(text, start, max(min(cells.length, _width(text) - start), 1))


def _visible(text: str) -> str:
    text = text.replace("\t", _TAB)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "?" for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    from unicodedata import combining, east_asian_width

    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _head(text: str, width: int) -> str:
    """As much of the start of `text` as fits into `width` cells."""
    used = 0
    for index, char in enumerate(text):
        used += _width(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    """`text` without its first `width` cells."""
    head = _head(text, width)
    rest = text[len(head) :]
    if _width(head) < width and rest:  # a wide character straddles the cut
        return " " + rest[1:]
    return rest
