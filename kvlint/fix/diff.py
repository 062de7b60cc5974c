"""A unified diff that `git apply` accepts, byte for byte."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from kvlint.report.style import Style

NO_NEWLINE = b"\\ No newline at end of file\n"


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """The diff of one file; lines end as they do in it."""
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(old), _lines(new), _name(b"a", path), _name(b"b", path)
    )
    return b"".join(_ended(line) for line in lines)


_COLOURS = {b"+": "green", b"-": "red", b"@": "cyan"}


def painted(diff: bytes, style: Style) -> bytes:
    """The diff in the colours that git gives it, if there are any."""
    if not style.colour:
        return diff
    return b"".join(_painted(line, style) for line in _lines(diff))


def _painted(line: bytes, style: Style) -> bytes:
    text = line.rstrip(b"\r\n")
    colour = "bold" if text.startswith((b"--- ", b"+++ ")) else _COLOURS.get(text[:1])
    if colour is None:
        return line
    before, _, after = style.paint("|", colour).encode().partition(b"|")
    return before + text + after + line[len(text) :]


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only, as git does."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE


def _name(side: bytes, path: str) -> bytes:
    plain = path.lstrip("/").encode("utf-8", "surrogateescape")
    if all(32 < byte < 127 and byte not in b'"\\' for byte in plain.replace(b" ", b"_")):
        tab = b"\t" if b" " in plain else b""
        return side + b"/" + plain + tab
    return b'"' + side + b"/" + b"".join(_quoted(plain)) + b'"'


def _quoted(name: bytes) -> Iterator[bytes]:
    for byte in name:
        if byte in b'"\\':
            yield b"\\" + bytes([byte])
        elif 32 <= byte < 127:
            yield bytes([byte])
        else:
            yield b"\\%03o" % byte
