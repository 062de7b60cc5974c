"""The comments of a file, and the lines of the statement that each one belongs to."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_BETWEEN = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass(frozen=True)
class Comment:
    """A comment and the lines that it is about; line and column count from 1."""

    text: str
    line: int
    column: int
    first: int
    last: int


def comments(source: str) -> list[Comment]:
    """The comments of a statement, and those above it, are about its lines.

    Of a compound statement that is its head, with the decorators of a function or class. A comment
    after the last statement is about its own line.
    """
    found: list[Comment] = []
    waiting: list[tokenize.TokenInfo] = []
    first = 0
    begins, decorates = True, False
    for token in _tokens(source):
        if token.type == tokenize.COMMENT:
            waiting.append(token)
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if not decorates:
                found += [_comment(one, first, token.start[0]) for one in waiting]
                waiting, first = [], 0
            begins, decorates = True, False
        elif token.type not in _BETWEEN and begins:
            begins, decorates = False, token.string == "@"
            first = first or token.start[0]
    return found + [_comment(one, 0, 0) for one in waiting]


def _comment(token: tokenize.TokenInfo, first: int, last: int) -> Comment:
    line, column = token.start
    if not first:
        first = last = line
    return Comment(token.string, line, column + 1, first, last)


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a file that has been parsed; what the tokenizer refuses has none from there."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(source).readline)
    except (tokenize.TokenError, SyntaxError):
        return
