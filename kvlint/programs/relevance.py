"""Which functions can matter to a room, decided by the names they mention.

Inlining everything would make programs of thousands of instructions; a function is only lowered
if it, or something it calls, touches a tracked name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.discover.project import FunctionNode
from kvlint.programs.names import (
    BLOCKING,
    HARMLESS,
    QUIET_NAMES,
    RECEIVERS,
    is_foreign,
    is_queue_call,
)
from kvlint.protocol.bodies import body_of, nodes_within
from kvlint.protocol.facts import terminal_name
from kvlint.protocol.model import Protocol

MAX_BLOCK_DEPTH = 3


class Relevance:
    """Answers for one protocol; remembers every function it has looked at."""

    def __init__(self, protocol: Protocol) -> None:
        self.tracked = protocol.tables | protocol.queues | protocol.nullable | protocol.fields
        self._by_name: dict[str, list[FunctionNode]] = {}
        for function in self._functions(protocol):
            self._by_name.setdefault(function.name, []).append(function)
        self._relevant: set[str] = set()
        self._close()
        for attribute, cls in protocol.objects.items():
            for name in {n for owner in cls.mro for n in owner.methods} & HARMLESS:
                found = cls.find(name)
                if found is not None and self.matters(found[1]):
                    self._relevant.add(f"{attribute}.{name}")
        self._close()
        self._blocking: dict[FunctionNode, bool] = {}
        self._raising: dict[FunctionNode, bool] = {}

    @staticmethod
    def _functions(protocol: Protocol) -> Iterator[FunctionNode]:
        modules = {id(c.module): c.module for c in protocol.classes}
        for cls in protocol.classes:
            fact = protocol.facts.get(cls)
            if fact is not None:
                yield from (scope.function for scope in fact.scopes)
        for module in modules.values():
            yield from module.functions.values()

    def matters(self, function: FunctionNode | ast.Lambda) -> bool:
        """Whether inlining the function can add a tracked effect."""
        if isinstance(function, ast.Lambda):
            return True
        mentioned, called, special = _scan(function)
        if special or mentioned & self.tracked:
            return True
        return bool(called & self._relevant)

    def blocks(self, function: FunctionNode | ast.Lambda) -> bool:
        """Whether the function may wait or transfer."""
        return not isinstance(function, ast.Lambda) and self._blocks(function, 0)

    def raises(self, function: FunctionNode | ast.Lambda) -> bool:
        """Whether the function itself has a `raise` that it does not catch."""
        if isinstance(function, ast.Lambda):
            return False
        if function not in self._raising:
            self._raising[function] = _raises(function.body)
        return self._raising[function]

    def _blocks(self, function: FunctionNode, depth: int) -> bool:
        if function not in self._blocking:
            self._blocking[function] = False
            self._blocking[function] = any(
                self._call_blocks(node, depth)
                for node in nodes_within(function)
                if isinstance(node, ast.Call)
            )
        return self._blocking[function]

    def _call_blocks(self, node: ast.Call, depth: int) -> bool:
        name = terminal_name(node.func) or ""
        if name in BLOCKING:
            return isinstance(node.func, ast.Attribute)
        known = self._by_name.get(name)
        if known is not None:
            return depth < MAX_BLOCK_DEPTH and any(self._blocks(f, depth + 1) for f in known)
        return is_foreign(node) and name not in HARMLESS and name not in QUIET_NAMES

    def _close(self) -> None:
        """Add the functions that reach a tracked name; `attribute.method` for common names."""
        relevant = self._relevant
        waiting: dict[str, set[str]] = {}
        for plain, functions in self._by_name.items():
            name = f"self.{plain}" if plain in HARMLESS else plain
            scans = [_scan(function) for function in functions]
            if any(special or mentioned & self.tracked for mentioned, _, special in scans):
                relevant.add(name)
            elif name not in relevant:
                waiting[name] = set().union(*(called for _, called, _ in scans))
        fresh = relevant
        while fresh:
            fresh = {name for name, called in waiting.items() if called & fresh}
            relevant |= fresh
            for name in fresh:
                del waiting[name]


def _scan(function: FunctionNode) -> tuple[set[str], set[str], bool]:
    """(attributes mentioned, names called, whether it takes from a queue or a socket)."""
    body = body_of(function)
    if body.names is None:
        mentioned: set[str] = set()
        called: set[str] = set()
        special = False
        for node in nodes_within(function):
            if isinstance(node, ast.Attribute):
                mentioned.add(node.attr)
            elif isinstance(node, ast.Call):
                special = _note_call(node, called) or special
        body.names = (mentioned, called, special)
    return body.names


def _note_call(node: ast.Call, called: set[str]) -> bool:
    """Add what is called; says whether it takes from a queue or a socket."""
    name = terminal_name(node.func)
    if name is None:
        return False
    called.add(name)
    if not isinstance(node.func, ast.Attribute):
        return name in RECEIVERS and not node.args
    if name in HARMLESS:
        called.add(f"{_receiver(node.func.value)}.{name}")
    if name in RECEIVERS and not node.args:
        return True
    return isinstance(node.func.value, ast.Name) and is_queue_call(node, name)


def _receiver(node: ast.expr) -> str | None:
    """The last name of what a method is called on; `super()` is the object itself."""
    if isinstance(node, ast.Call) and terminal_name(node.func) == "super":
        return "self"
    return terminal_name(node)


def _raises(body: list[ast.stmt]) -> bool:
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        if isinstance(statement, ast.Try) and statement.handlers:
            continue
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if (
                isinstance(inner, list)
                and not isinstance(statement, ast.FunctionDef)
                and _raises(inner)
            ):
                return True
    return False
