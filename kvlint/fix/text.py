"""The text of a file and patches to it, such that every byte outside a patch stays as it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kvlint.discover.source import decode

BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n|\n|\r")


class Unfixable(Exception):
    """Why a place is left as it is; the text is shown to the user."""


@dataclass(frozen=True, order=True)
class Patch:
    """Characters from `start` up to `end` become `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class FileText:
    """One file: its bytes, and its text by line."""

    path: str
    data: bytes

    @cached_property
    def text(self) -> str:
        """The decoded text, without a byte order mark."""
        return decode(self.data)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts; the first line is at index 0."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    def line(self, number: int) -> str:
        """A line without its end; lines count from 1."""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    def offset(self, line: int, column: int) -> int:
        """The offset of a column in characters, from 0."""
        return self.starts[line - 1] + column

    def column(self, line: int, bytes_before: int) -> int:
        """A column in characters, from the parser's offset in UTF-8 bytes."""
        return len(self.line(line).encode()[:bytes_before].decode())

    def newline(self, line: int) -> str:
        """How a line ends; the last line of a file without an end goes by the one before."""
        for number in (line, line - 1):
            if 0 < number < len(self.starts):
                end = self.starts[number]
                return "\r\n" if self.text.endswith("\r\n", 0, end) else self.text[end - 1]
        return "\n"

    def patched(self, patches: Iterable[Patch]) -> bytes:
        """The bytes after the patches.

        Raises `Unfixable` where the file's encoding cannot be written back byte for byte.
        """
        text = self.text
        for patch in sorted(patches, reverse=True):
            text = text[: patch.start] + patch.new + text[patch.end :]
        return self._encoded(text)

    def _encoded(self, text: str) -> bytes:
        mark = BOM if self.data.startswith(BOM) else b""
        try:
            if mark + self.text.encode(self._encoding) == self.data:
                return mark + text.encode(self._encoding)
        except UnicodeEncodeError:
            pass
        raise Unfixable("its encoding cannot be written back byte for byte")

    @property
    def _encoding(self) -> str:
        """The declared encoding; a byte order mark is not a part of it."""
        import io
        import tokenize

        return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0].removesuffix("-sig")


def check_apart(patches: Sequence[Patch]) -> None:
    """Raise `Unfixable` if two patches touch the same characters."""
    ordered = sorted(patches)
    for first, second in pairwise(ordered):
        if second.start < first.end or first.start == second.start:
            raise Unfixable("two fixes change the same place")


class Shift:
    """Where the lines of a text are after patches to it."""

    def __init__(self, file: FileText, patches: Iterable[Patch]) -> None:
        self._moves: list[tuple[int, int]] = []
        total = 0
        for patch in sorted(patches):
            old = file.text[patch.start : patch.end]
            total += len(_LINE_END.findall(patch.new)) - len(_LINE_END.findall(old))
            self._moves.append((_first_line_moved(file, patch), total))

    def line(self, number: int) -> int:
        """The new number of a line that was not removed."""
        at = bisect_right(self._moves, (number, 1 << 60))
        return number + (self._moves[at - 1][1] if at else 0)

    def before(self, number: int) -> int:
        """The old number of a line that was there before."""
        for first, moved in reversed(self._moves):
            if number - moved >= first:
                return number - moved
        return number


def _first_line_moved(file: FileText, patch: Patch) -> int:
    """The first line after the patch, or the patch's own if it is put before that line."""
    line = bisect_right(file.starts, patch.start)
    return line if file.starts[line - 1] == patch.start == patch.end else line + 1
