"""The status values of a backend: which there are, how they order, which of them end a room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kvlint.discover.project import ClassInfo

FAILURE_WORDS = re.compile(
    r"fail|abort|error|lost|dead|bad$|^bad|cancel|broken|gone|expired|timed_?out|reject|dropped",
    re.I,
)
SUCCESS_WORDS = re.compile(
    r"succe|done|^ok$|_ok$|complete|^good|_good$|^sent$|arriv|deliver|finish|conclud"
    r"|^passed$|^served$|^stored$",
    re.I,
)


@dataclass(frozen=True, eq=False)
class Member:
    """One status value; `index` is its place in the enum.

    Compared by identity, which the search does all the time: `make_domain` makes equal domains
    once.
    """

    name: str
    value: int | str
    index: int

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class StatusDomain:
    """The finite set of values a status table holds."""

    name: str
    members: tuple[Member, ...]
    failures: frozenset[str]
    successes: frozenset[str]

    def member(self, name: str) -> Member | None:
        """The member of that name, if there is one."""
        return next((m for m in self.members if m.name == name), None)

    def of_value(self, value: object) -> Member | None:
        """The member that a literal in the source stands for."""
        for member in self.members:
            if member.value == value and type(member.value) is type(value):
                return member
        return None

    def is_terminal(self, member: object) -> bool:
        """Whether a room with this status is over."""
        return isinstance(member, Member) and (
            member.name in self.failures or member.name in self.successes
        )

    def is_failure(self, member: object) -> bool:
        """Whether this status says that the room failed."""
        return isinstance(member, Member) and member.name in self.failures


def make_domain(
    name: str,
    values: Iterable[tuple[str, int | str]],
    failure: Iterable[str] = (),
    success: Iterable[str] = (),
) -> StatusDomain | None:
    """A domain of these names and values; None if nothing in it looks terminal.

    `failure` and `success` name members outright and replace the guess from the names.
    """
    return _make_domain(name, tuple(values), tuple(failure), tuple(success))


@lru_cache(maxsize=256)
def _make_domain(
    name: str,
    values: tuple[tuple[str, int | str], ...],
    failure: tuple[str, ...],
    success: tuple[str, ...],
) -> StatusDomain | None:
    members = tuple(Member(n, v, i) for i, (n, v) in enumerate(values))
    names = [m.name for m in members]
    failures = frozenset(failure) or frozenset(n for n in names if FAILURE_WORDS.search(n))
    successes = frozenset(success) or frozenset(n for n in names if SUCCESS_WORDS.search(n))
    successes -= failures
    if not failures or not successes or len(members) < 3:
        return None
    return StatusDomain(name, members, failures, successes)


def enum_constants(cls: ClassInfo) -> list[tuple[str, int | str]]:
    """Names and values of the constants in a class body, in source order.

    Understands plain ints and strings, `enum.auto()`, and `A, B, C = range(3)`.
    """
    found: list[tuple[str, int | str]] = []
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            found.extend(_constants(statement.targets[0], statement.value, len(found)))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            found.extend(_constants(statement.target, statement.value, len(found)))
    return found


def _constants(target: ast.expr, value: ast.expr, before: int) -> Iterator[tuple[str, int | str]]:
    if isinstance(target, ast.Name):
        constant = literal(value)
        if constant is not None:
            yield target.id, constant
        elif _called_name(value) == "auto":
            yield target.id, before + 1
    elif isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
        names = [e.id for e in target.elts if isinstance(e, ast.Name)]
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            for name, element in zip(names, value.elts, strict=True):
                constant = literal(element)
                if constant is not None:
                    yield name, constant
        elif _called_name(value) == "range":
            yield from ((name, i) for i, name in enumerate(names))


def literal(node: ast.expr | None) -> int | str | None:
    """The int or string a literal stands for (a negative number included)."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        return node.value  # type: ignore[return-value]
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and type(node.operand.value) is int
    ):
        return -node.operand.value
    return None


def _called_name(node: ast.expr) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else None
