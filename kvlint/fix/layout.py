"""How the statements of a file are laid out: what the syntax tree of the analysis does not keep.

LibCST tells where a statement begins a line of its own, which comments stand above it and how its
block is indented. A statement is named by its line and column, as in Python's own tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import CodePosition, MetadataWrapper, PositionProvider

from kvlint.fix.text import FileText, Patch, Unfixable


@dataclass(frozen=True)
class Slot:
    """Where one statement stands.

    `comments` counts the lines of comment right above it, `alone` says that no other statement
    shares its line, `first` is the place of the first one there; `suite` is the place after the
    colon if it stands behind one, as in `if x: continue`. `indent` is what its block's lines begin
    with.
    """

    line: int
    column: int
    end_line: int
    indent: str
    first: tuple[int, int]
    comments: int = 0
    alone: bool = True
    suite: CodePosition | None = None


class Layout:
    """The slots of one file."""

    def __init__(self, file: FileText) -> None:
        self.file = file
        try:
            module = cst.parse_module(file.text)
        except cst.ParserSyntaxError as error:
            raise Unfixable(f"LibCST cannot parse the file: {error.message}") from None
        self.unit = module.default_indent
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        visitor = _Statements(file, self.unit)
        wrapper.visit(visitor)
        self._in_strings = visitor.in_strings
        self._slots = {(slot.line, slot.column): slot for slot in visitor.slots}

    def slot(self, statement: ast.stmt) -> Slot:
        """Where a statement stands; raises `Unfixable` for one that begins no line or suite."""
        column = self.file.column(statement.lineno, statement.col_offset)
        slot = self._slots.get((statement.lineno, column))
        if slot is None:
            raise Unfixable(f"line {statement.lineno} is laid out in a way that no patch fits")
        return slot

    def before(
        self, statement: ast.stmt, lines: Sequence[str], *, whole_line: bool = False
    ) -> Patch:
        """Put lines above a statement and its comments; a suite on the colon's line is opened.

        `whole_line`: above the statements on its line, if it is not the first one there.
        """
        slot = self.slot(statement)
        if whole_line:
            slot = self._slots[slot.first]
        if slot.suite is not None:
            return self._opened(slot, lines)
        if not self._starts_line(slot):
            raise Unfixable(f"line {slot.line} holds more than one statement")
        first = slot.line - slot.comments
        if first > 1 and self.file.line(first - 1).endswith("\\"):
            raise Unfixable(f"line {first - 1} goes on in the next one")
        newline = self.file.newline(slot.line)
        new = "".join(slot.indent + line + newline for line in lines)
        start = self.file.starts[first - 1]
        return Patch(start, start, new)

    def after(self, statement: ast.stmt, lines: Sequence[str]) -> Patch:
        """Put lines below a statement."""
        slot = self.slot(statement)
        if slot.suite is not None or not slot.alone or not self._starts_line(slot):
            raise Unfixable(f"line {slot.line} holds more than one statement")
        if slot.end_line >= len(self.file.starts):
            raise Unfixable(f"line {slot.end_line} has no end")
        newline = self.file.newline(slot.line)
        start = self.file.starts[slot.end_line]
        return Patch(start, start, "".join(slot.indent + line + newline for line in lines))

    def _opened(self, slot: Slot, lines: Sequence[str]) -> Patch:
        """`if x: continue` becomes a block of its own with the lines before the `continue`."""
        assert slot.suite is not None
        indent = self.indent_of(slot.line) + self.unit
        newline = self.file.newline(slot.line)
        new = "".join(newline + indent + line for line in (*lines, ""))
        start = self.file.offset(slot.suite.line, slot.suite.column)
        return Patch(start, self.file.offset(slot.line, slot.column), new)

    def wrapped(self, statements: Sequence[ast.stmt], head: Sequence[str]) -> Iterator[Patch]:
        """Put neighbouring statements, with their comments, into a block that `head` begins."""
        slots = [self.slot(s) for s in statements]
        for slot in slots:
            if slot.suite is not None or not slot.alone or not self._starts_line(slot):
                raise Unfixable(f"line {slot.line} holds more than one statement")
        first, last = slots[0].line - slots[0].comments, slots[-1].end_line
        newline = self.file.newline(slots[0].line)
        above = "".join(slots[0].indent + line + newline for line in head)
        for number in range(first, last + 1):
            moves = self.file.line(number).strip() and number not in self._in_strings
            extra = self.unit if moves else ""
            if above or extra:
                start = self.file.starts[number - 1]
                # After the indentation of the block, so that tabs and spaces stay in order.
                at = start + len(slots[0].indent)
                if above:
                    yield Patch(start, at, above + slots[0].indent + extra)
                elif self.file.line(number).startswith(slots[0].indent):
                    yield Patch(at, at, extra)
                else:
                    yield Patch(start, start, extra)
                above = ""

    def without(self, statement: ast.stmt, alone_in_block: bool) -> Patch:
        """Remove a statement with its line; `pass` takes its place if nothing else is there."""
        slot = self.slot(statement)
        start = self.file.offset(slot.line, slot.column)
        if alone_in_block:
            end_line = statement.end_lineno or statement.lineno
            column = self.file.column(end_line, statement.end_col_offset or 0)
            return Patch(start, self.file.offset(end_line, column), "pass")
        if slot.suite is not None or not slot.alone or not self._starts_line(slot):
            raise Unfixable(f"line {slot.line} holds more than one statement")
        starts = self.file.starts
        end = starts[slot.end_line] if slot.end_line < len(starts) else len(self.file.text)
        return Patch(starts[slot.line - 1], end, "")

    def replaced(self, statement: ast.stmt, lines: Sequence[str]) -> Patch:
        """Put other lines where a statement stands; a comment behind it stays."""
        slot = self.slot(statement)
        if slot.suite is not None or not slot.alone or not self._starts_line(slot):
            raise Unfixable(f"line {slot.line} holds more than one statement")
        end_line = statement.end_lineno or statement.lineno
        end = self.file.column(end_line, statement.end_col_offset or 0)
        new = (self.file.newline(slot.line) + slot.indent).join(lines)
        start = self.file.offset(slot.line, slot.column)
        return Patch(start, self.file.offset(end_line, end), new)

    def indent_of(self, line: int) -> str:
        """The white space that a line begins with."""
        text = self.file.line(line)
        return text[: len(text) - len(text.lstrip())]

    def _starts_line(self, slot: Slot) -> bool:
        return self.file.line(slot.line)[: slot.column] == slot.indent


class _Statements(cst.CSTVisitor):
    """Collects the slot of every statement that stands in a block."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, file: FileText, unit: str) -> None:
        super().__init__()
        self.file = file
        self.unit = unit
        self.slots: list[Slot] = []
        self.in_strings: set[int] = set()  # their white space is part of a value

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        span = self.get_metadata(PositionProvider, node)
        return bool(span.start.line < span.end.line)  # else no string in it has two lines

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self._string(node)

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self._string(node)

    def _string(self, node: cst.CSTNode) -> None:
        span = self.get_metadata(PositionProvider, node)
        self.in_strings |= set(range(span.start.line + 1, span.end.line + 1))

    def visit_Module(self, node: cst.Module) -> None:
        for statement in node.body:
            self._statement(statement)

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        for statement in node.body:
            self._statement(statement)

    def visit_SimpleStatementSuite(self, node: cst.SimpleStatementSuite) -> None:
        whole = self.get_metadata(PositionProvider, node)
        first = (0, 0)
        for index, small in enumerate(node.body):
            span = self.get_metadata(PositionProvider, small)
            start = span.start
            column = start.column - len(node.leading_whitespace.value) if index == 0 else 0
            suite = CodePosition(start.line, column) if index == 0 else None
            first = (start.line, start.column) if index == 0 else first
            self.slots.append(
                Slot(
                    start.line,
                    start.column,
                    whole.end.line,
                    "",
                    first,
                    alone=len(node.body) == 1,
                    suite=suite,
                )
            )

    def _statement(self, node: cst.BaseStatement) -> None:
        if isinstance(node, cst.SimpleStatementLine):
            parts: Sequence[cst.CSTNode] = node.body
        else:
            parts = (node,)
        comments = _comments_above(getattr(node, "leading_lines", ()))
        begin = self.get_metadata(PositionProvider, parts[0]).start
        for index, part in enumerate(parts):
            span = self.get_metadata(PositionProvider, part)
            line = self.file.line(span.start.line)
            indent = line[: len(line) - len(line.lstrip(" \t\f"))]
            last = self.get_metadata(PositionProvider, parts[-1]).end.line
            self.slots.append(
                Slot(
                    span.start.line,
                    span.start.column,
                    last,
                    indent,
                    (begin.line, begin.column),
                    comments if index == 0 else 0,
                    alone=len(parts) == 1,
                )
            )


def _comments_above(lines: Sequence[cst.EmptyLine]) -> int:
    count = 0
    for line in reversed(lines):
        if line.comment is None:
            break
        count += 1
    return count
