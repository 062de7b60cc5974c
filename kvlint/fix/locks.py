"""The locks of a backend: which are taken where, and whether their owner may take them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.fix.places import in_body
from kvlint.fix.text import Unfixable
from kvlint.fix.unit import Place
from kvlint.protocol.facts import call_name, terminal_name
from kvlint.protocol.model import Protocol

REENTRANT = frozenset({"RLock", "Condition"})  # a Condition makes an RLock unless told otherwise
MAX_DEPTH = 6


class LockUse:
    """What the methods of one protocol lock."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    def check(
        self, place: Place, statement: ast.stmt, called: tuple[ClassInfo, FunctionNode] | None
    ) -> None:
        """Raise `Unfixable` if calling a method at a place takes a held lock a second time."""
        held = set(self.around(place, statement))
        if called is None or not held:
            return
        for name in sorted(held & set(self.taken_by(called[1]))):
            if not self.is_reentrant(name):
                raise Unfixable(f"`{name}` is held here, and `{called[1].name}` takes it")

    def around(self, place: Place, statement: ast.stmt) -> Iterator[str]:
        """The locks that `with` holds around a statement of a function."""
        for node in place.file.parents.chain(statement):
            if node is place.function:
                return
            if isinstance(node, (ast.With, ast.AsyncWith)):
                yield from self.of(node)

    def of(self, node: ast.With | ast.AsyncWith) -> Iterator[str]:
        """The locks that one `with` takes."""
        for item in node.items:
            name = terminal_name(item.context_expr)
            if name is not None and name in self.protocol.locks:
                yield name

    def taken_by(
        self, function: FunctionNode, depth: int = 0, seen: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """The locks that a call of a function may take, in the methods it calls too."""
        for node in in_body(function):
            if isinstance(node, (ast.With, ast.AsyncWith)):
                yield from self.of(node)
            elif isinstance(node, ast.Call):
                name = call_name(node)
                if name == "acquire" and isinstance(node.func, ast.Attribute):
                    lock = terminal_name(node.func.value)
                    if lock in self.protocol.locks:
                        yield lock or ""
                elif name is not None and name not in seen and depth < MAX_DEPTH:
                    for method in self.methods(name):
                        if method is not function:
                            yield from self.taken_by(method, depth + 1, seen | {name})

    def methods(self, name: str) -> Iterator[FunctionNode]:
        """Every method of that name; a call is not resolved further than that."""
        for cls in self.protocol.classes:
            if name in cls.methods:
                yield cls.methods[name]

    def is_reentrant(self, name: str) -> bool:
        """Whether the thread that holds a lock may take it again."""
        made = {
            call_name(value)
            for cls in self.protocol.classes
            if cls in self.protocol.facts
            for value, _ in self.protocol.facts[cls].attributes.get(name, ())
            if isinstance(value, ast.Call)
        }
        return bool(made) and made <= REENTRANT

    def held_at_calls(self, function: FunctionNode, names: set[str]) -> set[str]:
        """The locks that `with` holds in a function where it calls one of these methods."""
        found: set[str] = set()
        for node in in_body(function):
            if isinstance(node, (ast.With, ast.AsyncWith)) and any(
                isinstance(n, ast.Call) and call_name(n) in names for n in ast.walk(node)
            ):
                found |= set(self.of(node))
        return found

    def taken_under(self, lock: str) -> set[str]:
        """The locks that some method takes while it holds this one."""
        found: set[str] = set()
        for cls in self.protocol.classes:
            for function in cls.methods.values():
                for node in in_body(function):
                    if isinstance(node, (ast.With, ast.AsyncWith)) and lock in self.of(node):
                        found |= self._inside(node)
        return found - {lock}

    def _inside(self, block: ast.With | ast.AsyncWith) -> set[str]:
        found: set[str] = set()
        for node in ast.walk(block):
            if isinstance(node, (ast.With, ast.AsyncWith)):
                found |= set(self.of(node))
            elif isinstance(node, ast.Call):
                for method in self.methods(call_name(node) or ""):
                    found |= set(self.taken_by(method))
        return found
