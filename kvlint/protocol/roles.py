"""One class, two jobs: a manager that runs as prefill or as decode, told apart by a mode attribute.

The constructor compares one attribute with members of an enum and then makes other tables and
starts other threads. Analysing both at once would mix threads that never run together.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.protocol.bodies import body_of, nodes_within, walk

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

    def branch(self, node: ast.If) -> list[ast.stmt] | None:
        """The branch that alone runs under this role; None if the role says nothing."""
        decided = self.decide(node.test)
        return None if decided is None else node.body if decided else node.orelse


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
    if (
        isinstance(left, ast.Attribute)
        and isinstance(right, ast.Attribute)
        and isinstance(right.value, ast.Name)
        and right.value.id not in ("self", "cls")
    ):
        return left.attr, right.value.id, right.attr
    return None


@dataclass
class Reach:
    """What the constructor of a class does under one role."""

    attributes: set[str] = field(default_factory=set)
    functions: set[FunctionNode] = field(default_factory=set)
    spawns: set[ast.Call] = field(default_factory=set)


class Reaches:
    """`reach` of one manager under each of its roles, worked out once."""

    def __init__(self, manager: ClassInfo) -> None:
        self.manager = manager
        self._known: dict[Role | None, Reach] = {}

    def of(self, role: Role | None) -> Reach:
        """What constructing the manager does under a role."""
        if role not in self._known:
            self._known[role] = reach(self.manager, role)
        return self._known[role]


def find_roles(reaches: Reaches) -> list[Role]:
    """The roles that the constructors of a class tell apart; empty if it has one job."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for cls in reaches.manager.mro:
        init = cls.methods.get("__init__")
        if init is None:
            continue
        for node in nodes_within(init):
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
            made = [reaches.of(role).attributes for role in roles]
            if any(a != made[0] for a in made):
                return roles
    return []


def reach(manager: ClassInfo, role: Role | None) -> Reach:
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
    for node in _live(function, role):
        if isinstance(node, ast.Call):
            result.spawns.add(node)
            called = _callee(manager, owner, node)
            if called is not None:
                _visit(manager, called[0], called[1], role, result, depth + 1)
        elif isinstance(node, ast.Attribute):
            result.attributes.add(node.attr)


def _callee(
    manager: ClassInfo, owner: ClassInfo, call: ast.Call
) -> tuple[ClassInfo, FunctionNode] | None:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == "self":
        return manager.find(function.attr)
    if (
        isinstance(function.value, ast.Call)
        and isinstance(function.value.func, ast.Name)
        and function.value.func.id == "super"
    ):
        return manager.find_after(owner, function.attr)
    return None


def _live(function: FunctionNode, role: Role | None) -> list[ast.AST]:
    """The calls and attribute stores of a function that the role does not rule out."""
    known = body_of(function).live
    if role not in known:
        known[role] = [
            node
            for node in walk(function.body, role.branch if role is not None else None)
            if isinstance(node, ast.Call)
            or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        ]
    return known[role]
