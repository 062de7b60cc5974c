"""From the bytes of a file to text and tree; everything that can go wrong becomes a line."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

MAX_BYTES = 5_000_000
_FIRST_READ = 1 << 16
_replaced: dict[str, bytes] = {}
Trees = dict[tuple[str, str], ast.Module]
_trees: Trees | None = None


class SourceError(Exception):
    """Why a file cannot be analysed, and the line where it shows."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


Contents = dict[str, bytes | SourceError]
_frozen: Contents | None = None


@contextmanager
def instead(contents: Mapping[str, bytes]) -> Iterator[None]:
    """Within, the files at these full paths have other contents than on disk."""
    before = dict(_replaced)
    _replaced.update(contents)
    try:
        yield
    finally:
        _replaced.clear()
        _replaced.update(before)


@contextmanager
def frozen(contents: Contents) -> Iterator[None]:
    """Within, each file is read once: what `contents` has is not read again, the rest goes in."""
    global _frozen
    before, _frozen = _frozen, contents
    try:
        yield
    finally:
        _frozen = before
        if before is not None:
            before.update(contents)  # the same files for whoever reads on


@contextmanager
def remembering(trees: Trees) -> Iterator[None]:
    """Within, a text that was parsed once gives the very tree that it gave then."""
    global _trees
    before, _trees = _trees, trees
    try:
        yield
    finally:
        _trees = before


def read_bytes(path: str) -> bytes:
    """The content of a file of bearable size."""
    if path in _replaced:
        return _replaced[path]
    if _frozen is None:
        return _read(path)
    known = outcome(path)
    if isinstance(known, SourceError):
        raise known
    return known


def outcome(path: str) -> bytes | SourceError:
    """What reading a file gives: its content, or why there is none."""
    if path in _replaced:
        return _replaced[path]
    if _frozen is None:
        return _tried(path)
    if path not in _frozen:
        _frozen[path] = _tried(path)
    return _frozen[path]


def _tried(path: str) -> bytes | SourceError:
    try:
        return _read(path)
    except SourceError as error:
        return error


def _read(path: str) -> bytes:
    try:
        # Without the layers of open(): a run over a large tree reads thousands of files.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            data = os.read(handle, _FIRST_READ)
            if len(data) == _FIRST_READ:
                data = _rest(handle, data)
        finally:
            os.close(handle)
    except OSError as error:
        raise SourceError(f"cannot read this file: {error.strerror or error}") from None
    return data


def _rest(handle: int, start: bytes) -> bytes:
    size = os.fstat(handle).st_size
    if size > MAX_BYTES:
        raise SourceError(
            f"file too large: {size / 1e6:.1f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB"
        )
    parts = [start]
    total = len(start)
    while total <= MAX_BYTES and (part := os.read(handle, MAX_BYTES + 1 - total)):
        parts.append(part)
        total += len(part)
    return b"".join(parts)


def decode(data: bytes) -> str:
    """The text of a Python file, in the encoding that it declares (PEP 263)."""
    at = data.find(b"\0")
    if at >= 0:
        raise SourceError("binary file: it holds a NUL byte", _line_of(data, at))
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"
    second = data.find(b"\n", data.find(b"\n") + 1)
    if b"coding" in data[: second if second >= 0 else len(data)]:
        encoding = _declared(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # A byte order mark is cut off before the position is counted.
        offset = 3 if error.encoding == "utf-8-sig" else 0
        line = _line_of(data, error.start + offset)
        raise SourceError(f"not valid {error.encoding} text", line) from None


def _declared(data: bytes) -> str:
    import io
    import tokenize

    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        raise SourceError(str(error.msg or error)) from None


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def parse(source: str, path: str) -> ast.Module:
    """The tree of a file."""
    if _trees is None:
        return _parsed(source, path)
    tree = _trees.get((path, source))
    if tree is None:
        tree = _trees[path, source] = _parsed(source, path)
    return tree


def _parsed(source: str, path: str) -> ast.Module:
    """Parse, and never print a warning about the text."""
    # Importing the module `warnings` is cheap (the interpreter has it loaded already).
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, path)
        except SyntaxError as error:
            raise SourceError(f"syntax error: {error.msg}", error.lineno or 1) from None
        except ValueError as error:
            raise SourceError(f"cannot parse this file: {error}") from None
        except (RecursionError, MemoryError):
            raise SourceError("cannot parse this file: it is nested too deeply") from None


def check(data: bytes, path: str) -> ast.Module:
    """The tree of a file; raises `SourceError` for one that is no Python."""
    return parse(decode(data), path)
