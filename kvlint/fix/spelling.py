"""How a module would write what a fix adds: enum members, conditions and calls.

Long lines are broken the way black breaks them, so that it leaves them as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kvlint.discover.project import ClassInfo, Module
from kvlint.discover.tables import dotted
from kvlint.fix.text import Unfixable
from kvlint.protocol.domain import Member, StatusDomain
from kvlint.protocol.model import Protocol

WIDTH = 88  # black's


class Words:
    """The members of a status domain as one place of a module names them."""

    def __init__(self, protocol: Protocol, module: Module, near: Sequence[ast.AST]) -> None:
        self.protocol = protocol
        self.module = module
        self.near = (*near, module.tree)  # innermost first

    def member(self, member: Member) -> str:
        """The source of one member; raises `Unfixable` where the module cannot name it."""
        prefix = self._prefix(self.protocol.domain)
        if prefix is not None:
            return f"{prefix}.{member.name}"
        if self._is_named_constant(member.name):
            return member.name
        if isinstance(member.value, str) and member.name == member.value:
            return '"' + member.value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        raise Unfixable(f"{self.module.display} has no name for `{member.name}`")

    def terminal(self) -> list[str]:
        """The terminal members, failures first."""
        domain = self.protocol.domain
        ends = [m for m in domain.members if domain.is_terminal(m)]
        ends.sort(key=lambda m: (not domain.is_failure(m), m.index))
        return [self.member(m) for m in ends]

    def _is_named_constant(self, name: str) -> bool:
        return name in self.module.constants or (
            name in self.module.imports and not isinstance(self._resolved(name), ClassInfo)
        )

    def _prefix(self, domain: StatusDomain) -> str | None:
        """What stands before a member's name where the module uses one, else its own name."""
        names = {m.name for m in domain.members}
        for root in self.near:
            for node in ast.walk(root):
                if isinstance(node, ast.Attribute) and node.attr in names:
                    prefix = dotted(node.value)
                    if prefix and self._is_enum(prefix):
                        return prefix
        for prefix in (domain.name, *self.module.imports):
            if self._is_enum(prefix):
                return prefix
        return None

    def _is_enum(self, prefix: str) -> bool:
        found = self._resolved(prefix)
        return isinstance(found, ClassInfo) and found.name == self.protocol.domain.name

    def _resolved(self, name: str) -> object:
        return self.protocol.values.resolve(self.module, name)


def condition(left: str, operator: str, words: Iterable[str], indent: str) -> list[str]:
    """`if left in (A, B):`, over several lines where one is too long."""
    listed = list(words)
    if len(listed) == 1:
        sign = "==" if operator == "in" else "!="
        return [f"if {left} {sign} {listed[0]}:"]
    short = f"if {left} {operator} ({', '.join(listed)}):"
    if width(indent) + len(short) <= WIDTH:
        return [short]
    return [f"if {left} {operator} (", *(f"    {word}," for word in listed), "):"]


def call(function: str, arguments: Sequence[str], indent: str) -> list[str]:
    """`function(a, b)`, over several lines where one is too long."""
    joined = ", ".join(arguments)
    if width(indent) + len(f"{function}({joined})") <= WIDTH:
        return [f"{function}({joined})"]
    if width(indent) + 4 + len(joined) <= WIDTH:
        return [f"{function}(", f"    {joined}", ")"]
    return [f"{function}(", *(f"    {argument}," for argument in arguments), ")"]


def deeper(lines: Iterable[str], unit: str) -> Iterator[str]:
    """Lines one level further in."""
    return (unit + line for line in lines)


def width(indent: str) -> int:
    """The columns that an indentation takes."""
    return len(indent.expandtabs(4))
