"""One class, two jobs: a manager that runs as prefill or as decode, told apart by a mode attribute.

The constructor compares one attribute with members of an enum and then makes other tables and
starts other threads. Analysing both at once would mix threads that never run together.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.protocol.facts import ClassFacts

MAX_CALL_DEPTH = 8


@dataclass(frozen=True)
class Role:
    """`self.<attribute> == <enum>.<member>` holds for the whole life of the object."""

    attribute: str
    enum: str
    member: str

    def decide(self, test: ast.expr) -> bool | None:
        """What a condition is worth under this role; None if the role says nothing."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decide(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            return _combine(test, [self.decide(v) for v in test.values])
        compared = mode_compare(test)
        if compared is None or compared[:2] != (self.attribute, self.enum):
            return None
        assert isinstance(test, ast.Compare)
        same = compared[2] == self.member
        return same if isinstance(test.ops[0], (ast.Eq, ast.Is)) else not same


def _combine(test: ast.BoolOp, known: list[bool | None]) -> bool | None:
    decisive = isinstance(test.op, ast.Or)
    if decisive in known:
        return decisive
    return None if None in known else not decisive


def mode_compare(test: ast.expr) -> tuple[str, str, str] | None:
    """(attribute, enum, member) of `x.attribute == Enum.MEMBER`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    left, right = test.left, test.comparators[0]
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
        if isinstance(right.value, ast.Name) and right.value.id not in ("self", "cls"):
            return left.attr, right.value.id, right.attr
    return None


@dataclass
class Reach:
    """What the constructor of a class does under one role."""

    attributes: set[str] = field(default_factory=set)
    functions: set[FunctionNode] = field(default_factory=set)
    spawns: set[ast.Call] = field(default_factory=set)


def find_roles(manager: ClassInfo, facts: dict[ClassInfo, ClassFacts]) -> list[Role]:
    """The roles that the constructors of a class tell apart; empty if it has one job."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for cls in manager.mro:
        init = cls.methods.get("__init__")
        if init is None:
            continue
        for node in ast.walk(init):
            if isinstance(node, ast.If):
                compared = mode_compare(node.test)
                if compared is not None:
                    seen[compared] += 1
    by_attribute: dict[tuple[str, str], set[str]] = {}
    for attribute, enum, member in seen:
        by_attribute.setdefault((attribute, enum), set()).add(member)
    for (attribute, enum), members in sorted(by_attribute.items()):
        if len(members) >= 2:
            roles = [Role(attribute, enum, m) for m in sorted(members)]
            made = [reach(manager, facts, role).attributes for role in roles]
            if any(a != made[0] for a in made):
                return roles
    return []


def reach(manager: ClassInfo, facts: dict[ClassInfo, ClassFacts], role: Role | None) -> Reach:
    """Everything that constructing `manager` under `role` runs, creates and starts."""
    result = Reach()
    init = manager.find("__init__")
    if init is not None:
        _visit(manager, init[0], init[1], role, result, 0)
    return result


def _visit(
    manager: ClassInfo,
    owner: ClassInfo,
    function: FunctionNode,
    role: Role | None,
    result: Reach,
    depth: int,
) -> None:
    if function in result.functions or depth > MAX_CALL_DEPTH:
        return
    result.functions.add(function)
    for node in live_nodes(function.body, role):
        if isinstance(node, ast.Call):
            result.spawns.add(node)
            called = _callee(manager, owner, node)
            if called is not None:
                _visit(manager, called[0], called[1], role, result, depth + 1)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            result.attributes.add(node.attr)


def _callee(
    manager: ClassInfo, owner: ClassInfo, call: ast.Call
) -> tuple[ClassInfo, FunctionNode] | None:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == "self":
        return manager.find(function.attr)
    if isinstance(function.value, ast.Call) and isinstance(function.value.func, ast.Name):
        if function.value.func.id == "super":
            return manager.find_after(owner, function.attr)
    return None


def live_nodes(body: Iterable[ast.AST], role: Role | None) -> Iterator[ast.AST]:
    """All nodes below `body` that the role does not rule out."""
    todo = list(reversed(list(body)))
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If) and role is not None:
            verdict = role.decide(node.test)
            if verdict is not None:
                todo.extend(reversed(node.body if verdict else node.orelse))
                continue
        todo.extend(reversed(list(ast.iter_child_nodes(node))))
