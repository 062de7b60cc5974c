"""How text may look where it goes: colours, character set and width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvlint.hints import one_line

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_GLYPHS = {
    "becomes": ("→", "->"),
    "cut": ("…", "..."),
    "bar": ("│", "|"),
    "dash": ("─", "-"),
    "cross": ("┼", "+"),
    "corner": ("┌", "+"),
    "moves": ("●", "*"),
    "idle": ("·", "."),
}
SAMPLE = "".join(pretty for pretty, _ in _GLYPHS.values())
SEVERITY_COLOUR = {"error": "red", "warning": "yellow", "note": "blue"}
DEFAULT_WIDTH = 100
MIN_WIDTH = 20


class Style(NamedTuple):
    """What the output may contain."""

    colour: bool = False
    unicode: bool = False
    width: int = DEFAULT_WIDTH

    def paint(self, text: str, *names: str) -> str:
        """`text` in the named colours, if there are any."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def severity(self, severity: str) -> str:
        """The severity's word in its colour."""
        return self.paint(severity, "bold", SEVERITY_COLOUR[severity])

    def glyph(self, name: str) -> str:
        """A drawing character, or what stands for it in ASCII."""
        pretty, plain = _GLYPHS[name]
        return pretty if self.unicode else plain

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> list[str]:
        """`text` broken between words; a word longer than a line stays whole."""
        return list(
            _wrapped(one_line(text), self.width, indent, indent if first is None else first)
        )


def _wrapped(text: str, width: int, indent: str, first: str) -> Iterator[str]:
    line, empty = first, True
    for word in text.split():
        if not empty and len(line) + 1 + len(word) > width:
            yield line
            line, empty = indent, True
        line = line + word if empty else f"{line} {word}"
        empty = False
    yield line


def plural(count: int, noun: str) -> str:
    """`1 error`, `2 errors`, `2 classes`, `2 entries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("ry"):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'ch')) else 's'}"
