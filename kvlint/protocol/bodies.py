"""The parts of a function body that anything asks about, collected in one walk per function.

The walk is the most expensive thing that happens before the search, so it is done once, visits no
leaves, and keeps its result at the function's node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kvlint.discover.project import FunctionNode

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEPT = frozenset(
    {
        ast.Attribute,
        ast.Call,
        ast.Assign,
        ast.AnnAssign,
        ast.NamedExpr,
        ast.Subscript,
        ast.Compare,
        ast.If,
        ast.For,
        ast.AsyncFor,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
    }
)
_NO_NODES = frozenset(
    """ctx op ops id attr arg name names kind module level conversion simple lineno rest kwd_attrs
    is_async type_comment tag""".split()
)
_LEAVES = (ast.Constant, ast.Name, ast.MatchSingleton, ast.Import, ast.ImportFrom)
_NOTHING: list[ast.expr] = []


class _Fields(dict[type, tuple[str, ...]]):
    """For each type of node the fields that hold nodes with something below or in them."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names: Iterable[str] = () if issubclass(kind, _LEAVES) else getattr(kind, "_fields", ())
        self[kind] = fields = tuple(name for name in names if name not in _NO_NODES)
        return fields


_fields = _Fields()


class Body:
    """One function without the functions in it.

    `nodes` are the kept nodes, statement after statement, within one statement the last child
    first; a nested function stands there as one node. `starts` are the places in it where a
    statement of the function begins. `live` is for `roles`: what remains under each of them;
    `names` for `relevance`: what the function mentions and calls; `mentioned` and `lists` are for
    `surroundings`.
    """

    __slots__ = ("_assigned", "_hidden", "lists", "live", "mentioned", "names", "nodes", "starts")

    def __init__(self, function: FunctionNode) -> None:
        self.nodes: list[ast.AST] = []
        self.starts: list[int] = []
        self.live: dict[object, list[ast.AST]] = {}
        self.names: tuple[set[str], set[str], bool] | None = None
        self.mentioned: tuple[frozenset[str], frozenset[str]] | None = None
        self.lists: list[ast.List] | None = None
        self._hidden: set[ast.AST] = set()
        self._assigned: dict[str, list[ast.expr]] | None = None
        for statement in function.body:
            self.starts.append(len(self.nodes))
            self._walk(statement)

    def _walk(self, top: ast.AST) -> None:
        todo: list[Any] = [top]
        pop, push, extend, keep = todo.pop, todo.append, todo.extend, self.nodes.append
        while todo:
            node = pop()
            kind = node.__class__
            if kind in _KEPT:
                keep(node)
                if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
                    continue
            elif kind is ast.Lambda:
                self._hidden.update(n for n in walk((node,)) if isinstance(n, ast.NamedExpr))
            for field in _fields[kind]:
                below = getattr(node, field)
                if below.__class__ is list:
                    extend(below)
                elif below is not None:
                    push(below)

    def assigned(self, name: str) -> list[ast.expr]:
        """What is assigned to a local, last statement first (lambdas left out)."""
        if self._assigned is None:
            self._assigned = {}
            ends = [*self.starts[1:], len(self.nodes)]
            for start, end in zip(reversed(self.starts), reversed(ends), strict=True):
                for node in self.nodes[start:end]:
                    self._note(node, self._assigned)
        return self._assigned.get(name, _NOTHING)

    def _note(self, node: ast.AST, found: dict[str, list[ast.expr]]) -> None:
        if isinstance(node, ast.Assign):
            for name in {t.id for t in node.targets if isinstance(t, ast.Name)}:
                found.setdefault(name, []).append(node.value)
            for target in node.targets:
                for name, value in _paired(target, node.value):
                    found.setdefault(name, []).append(value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            for name, value in _paired(ast.Tuple([node.target], ast.Store()), node.iter):
                found.setdefault(name, []).append(value)
        elif (
            isinstance(node, (ast.AnnAssign, ast.NamedExpr))
            and node not in self._hidden
            and isinstance(node.target, ast.Name)
            and node.value is not None
        ):
            found.setdefault(node.target.id, []).append(node.value)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """(name, expression) for the names in a tuple target; the whole value where it is no tuple."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    same = len(parts) == len(target.elts)
    for i, element in enumerate(target.elts):
        part = parts[i] if same else value
        if isinstance(element, ast.Name):
            yield element.id, part
        else:
            yield from _paired(element, part)


def body_of(function: FunctionNode) -> Body:
    """The body of a function, walked at the first call."""
    known: Body | None = function.__dict__.get("_kvlint_body")
    if known is None:
        known = Body(function)
        function.__dict__["_kvlint_body"] = known
    return known


def nodes_within(function: FunctionNode) -> Iterator[ast.AST]:
    """All kept nodes of a function: its body, its decorators and defaults, nested functions."""
    yield from walk((*function.decorator_list, function.args))
    if function.returns is not None:
        yield from walk((function.returns,))
    for node in body_of(function).nodes:
        yield node
        if isinstance(node, _FUNCTIONS):
            yield from nodes_within(node)


def walk(
    tops: Iterable[ast.AST], choose: Callable[[ast.If], list[ast.stmt] | None] | None = None
) -> Iterator[ast.AST]:
    """All nodes below and with `tops` except contexts and operators, each before what it holds.

    `choose` may name the branch of an `if` that alone is entered.
    """
    todo: list[Any] = list(tops)
    todo.reverse()
    while todo:
        node = todo.pop()
        if node is None:  # a gap in a list, as in `{**rest}`
            continue
        yield node
        if choose is not None and node.__class__ is ast.If:
            branch = choose(node)
            if branch is not None:
                todo.extend(reversed(branch))
                continue
        for field in reversed(_fields[node.__class__]):
            below = getattr(node, field)
            if below.__class__ is list:
                todo.extend(reversed(below))
            elif below is not None:
                todo.append(below)
