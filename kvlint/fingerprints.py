"""What a finding is recognised by when lines move, locals are renamed or folders are copied.

The rule, the module, the class and the function, and the shape of the syntax. No line number, no
name of a local variable and no folder above the module's own.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator

from kvlint.discover.project import Module

_LENGTH = 16  # hexadecimal digits; enough for more findings than there is code


class Fingerprints:
    """Tells apart, by their order, places that nothing else tells apart."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, *parts: str) -> str:
        """The fingerprint of the next place that these parts describe."""
        same = _hashed("\0".join(parts))
        self._counts[same] = self._counts.get(same, 0) + 1
        return _hashed(f"{same}/{self._counts[same]}")[:_LENGTH]


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def module_key(module: Module) -> str:
    """The module within its package, wherever that lies and whatever folder the run is in."""
    return ".".join(module.name.split(".")[-2:])


def file_key(path: str) -> str:
    """The same for a file that is no module: its name and its folder's."""
    return "/".join(path.split("/")[-2:])


def shape(node: ast.AST) -> str:
    """The syntax of a node with its names numbered; of a compound statement its first line."""
    names: dict[str, str] = {}
    return " ".join(word for part in _parts(node) for word in _words(part, names))


def _parts(node: ast.AST) -> Iterator[ast.AST | str]:
    """What stands for a node: itself, or the head of a compound statement."""
    if not is_compound(node):
        yield node
        return
    yield type(node).__name__
    for field in ("name", "test", "target", "iter", "type", "items"):
        value = getattr(node, field, None)
        if isinstance(value, list):
            yield from value
        # The name that a handler binds is a local; that of a function or class is not.
        elif value is not None and (field, type(node)) != ("name", ast.ExceptHandler):
            yield value


def _words(part: ast.AST | str, names: dict[str, str]) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    for child in ast.walk(part):
        yield type(child).__name__
        if isinstance(child, ast.Name):
            yield names.setdefault(child.id, f"n{len(names)}")
        elif isinstance(child, ast.Attribute):
            yield child.attr
        elif isinstance(child, ast.Constant):
            yield repr(child.value)


_COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.If,
    ast.Try,
)


def is_compound(node: ast.AST) -> bool:
    """Whether a node has blocks below it, so that its first line stands for it."""
    return isinstance(node, _COMPOUND)
