"""Which constants can reach an expression: the evidence for what a table holds.

A bounded, flow-insensitive look: literals, enum members, module and class constants, both arms of
a conditional, arguments of `max`, locals, and one or two levels of parameters through their
callers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kvlint.discover.project import ClassInfo, FunctionNode, Module, Project
from kvlint.protocol.domain import enum_constants, literal
from kvlint.protocol.facts import ClassFacts, Scope, call_name, local_assignments, parameters

MAX_PARAMETER_DEPTH = 2


@dataclass(frozen=True)
class Constant:
    """A constant in the source: a class member, a named module constant, or a bare literal."""

    owner: ClassInfo | None
    name: str
    value: int | str


class Values:
    """Answers `constants(expression)` for one set of classes."""

    def __init__(self, project: Project, facts: Iterable[ClassFacts]) -> None:
        self.project = project
        self.callers: dict[str, list[tuple[ast.Call, Scope]]] = {}
        for fact in facts:
            for name, call, scope in fact.calls:
                self.callers.setdefault(name, []).append((call, scope))
        self._members: dict[ClassInfo, dict[str, int | str]] = {}
        self._resolved: dict[tuple[int, str], object] = {}
        self._constants: dict[tuple[ast.expr, FunctionNode, int], set[Constant]] = {}
        self._given: dict[tuple[str, str, FunctionNode, int], set[Constant]] = {}
        self._module_constants: dict[int, dict[str, int | str]] = {}

    def constants(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> set[Constant]:
        """Every constant that may be the value of `node` (or one of its components)."""
        if node is None:
            return set()
        # What a name means depends on where it stands, and on nothing else.
        key = (node, scope.chain[-1], depth)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._find(node, scope, depth)
        return known

    def _find(self, node: ast.expr, scope: Scope, depth: int) -> set[Constant]:
        value = literal(node)
        if value is not None:
            return {Constant(None, str(value), value)}
        if isinstance(node, ast.Attribute):
            return set(self._member(node, scope))
        if isinstance(node, ast.Name):
            return self._name(node, scope, depth)
        found: set[Constant] = set()
        if isinstance(node, ast.IfExp):
            parts: list[ast.expr] = [node.body, node.orelse]
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            parts = list(node.elts)
        elif isinstance(node, ast.BoolOp):
            parts = list(node.values)
        elif isinstance(node, ast.Call) and call_name(node) in ("max", "min", "frozenset", "set"):
            parts = list(node.args)
        else:
            return found
        for part in parts:
            found |= self.constants(part, scope, depth)
        return found

    def members(self, cls: ClassInfo) -> dict[str, int | str]:
        """The constants of a class body."""
        if cls not in self._members:
            self._members[cls] = dict(enum_constants(cls))
        return self._members[cls]

    def resolve(self, module: Module, name: str) -> object:
        """`Project.resolve`, remembered."""
        key = (id(module), name)
        if key not in self._resolved:
            self._resolved[key] = self.project.resolve(module, name)
        return self._resolved[key]

    def class_of(self, module: Module, name: str) -> ClassInfo | None:
        """The class that a name stands for; a file with a function of that name stays unread."""
        key = (id(module), name)
        loader = self.project.loader
        if key not in self._resolved and loader and loader.is_unread_function(module, name):
            return None
        found = self.resolve(module, name)
        return found if isinstance(found, ClassInfo) else None

    def _member(self, node: ast.Attribute, scope: Scope) -> Iterator[Constant]:
        base = node.value
        if not isinstance(base, ast.Name):
            return
        owners: tuple[ClassInfo, ...] = ()
        if base.id in ("self", "cls"):
            owners = scope.cls.mro
        else:
            target = self.class_of(scope.cls.module, base.id)
            owners = () if target is None else (target,)
        for owner in owners:
            members = self.members(owner)
            if node.attr in members:
                yield Constant(owner, node.attr, members[node.attr])
                return

    def module_constants(self, module: Module) -> dict[str, int | str]:
        """Simple constants of a module, `A, B = 1, 2` included."""
        if id(module) not in self._module_constants:
            found: dict[str, int | str] = {}
            for statement in module.tree.body:
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                    _collect(statement.targets[0], statement.value, found)
            self._module_constants[id(module)] = found
        return self._module_constants[id(module)]

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> set[Constant]:
        known = self.module_constants(scope.cls.module)
        if node.id in known:
            return {Constant(None, node.id, known[node.id])}
        found: set[Constant] = set()
        for function in reversed(scope.chain):
            if node.id in parameters(function):
                return self._parameter(node.id, function.name, scope, depth)
            assigned = local_assignments(function, node.id)
            if assigned and depth <= MAX_PARAMETER_DEPTH:
                for value in assigned:
                    found |= self.constants(value, scope, depth + 1)
                return found
        return found

    def _parameter(self, name: str, function: str, scope: Scope, depth: int) -> set[Constant]:
        if depth > MAX_PARAMETER_DEPTH:
            return set()
        key = (name, function, scope.chain[-1], depth)
        known = self._given.get(key)
        if known is None:
            known = self._given[key] = self._find_given(name, function, scope, depth)
        return known

    def _find_given(self, name: str, function: str, scope: Scope, depth: int) -> set[Constant]:
        names = parameters(scope.function)
        position = names.index(name) if name in names else -1
        if names and names[0] in ("self", "cls"):
            position -= 1
        found: set[Constant] = set()
        for call, where in self.callers.get(function, ()):
            given = next((k.value for k in call.keywords if k.arg == name), None)
            if given is None and 0 <= position < len(call.args):
                given = call.args[position]
            if isinstance(given, ast.Name) and given.id == name and where.function.name == function:
                continue
            found |= self.constants(given, where, depth + 1)
        return found


def _collect(target: ast.expr, value: ast.expr, found: dict[str, int | str]) -> None:
    if isinstance(target, ast.Name):
        constant = literal(value)
        if constant is not None:
            found[target.id] = constant
    elif isinstance(target, ast.Tuple):
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for element, part in zip(target.elts, value.elts, strict=True):
                _collect(element, part, found)
        elif isinstance(value, ast.Call) and call_name(value) == "range":
            for i, element in enumerate(target.elts):
                if isinstance(element, ast.Name):
                    found[element.id] = i
