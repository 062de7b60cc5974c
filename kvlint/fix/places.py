"""Find the code around a finding: its statement, its function, and the accesses to a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.discover.project import FunctionNode, Module
from kvlint.protocol.facts import terminal_name

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OTHER_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Load)


class Parents:
    """The way from any node of a module up to its root."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._above: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)
        }

    def chain(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        while node in self._above:
            node = self._above[node]
            yield node

    def functions(self, node: ast.AST) -> tuple[FunctionNode, ...]:
        """The functions around a node, outermost first, with the node if it is one."""
        around = [n for n in (node, *self.chain(node)) if isinstance(n, FUNCTIONS)]
        return tuple(reversed(around))

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((n for n in self.chain(node) if isinstance(n, ast.ClassDef)), None)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that is or holds a node."""
        return next((n for n in (node, *self.chain(node)) if isinstance(n, ast.stmt)), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which one stands."""
        for block in blocks(self._above[statement]):
            if statement in block:
                return block
        return [statement]

    def at(self, line: int, column: int = -1) -> Iterator[ast.AST]:
        """The nodes that begin at a place (column in bytes, -1 for any), outermost first."""
        for node in (self.module.tree, *self._above):
            if getattr(node, "lineno", 0) == line and column in (
                -1,
                getattr(node, "col_offset", -1),
            ):
                yield node


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks that belong to a compound statement directly."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, without the bodies of functions and classes in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _OTHER_SCOPES):
            yield child
        else:
            yield from own(child)


def in_body(function: FunctionNode) -> Iterator[ast.AST]:
    """Everything that a function itself runs, in source order."""
    for statement in function.body:
        if not isinstance(statement, _OTHER_SCOPES):
            yield from own(statement)


def store_targets(statement: ast.AST, table: str) -> list[ast.Subscript]:
    """The `<...>.table[key]` that an assignment stores to."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    else:
        return []
    return [t for t in targets if isinstance(t, ast.Subscript) and _is_table(t.value, table)]


def reads_of(node: ast.AST, table: str) -> ast.Subscript | ast.Call | None:
    """`table[key]` or `table.get(key)` if the expression is exactly that."""
    if isinstance(node, ast.Subscript) and _is_table(node.value, table):
        return node
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and _is_table(node.func.value, table)
        and not node.keywords
        and (len(node.args) == 1 or (len(node.args) == 2 and _is_none(node.args[1])))
    ):
        return node
    return None


def table_and_key(access: ast.Subscript | ast.Call) -> tuple[str, str]:
    """The source of the table and of the key of an access."""
    if isinstance(access, ast.Subscript):
        return ast.unparse(access.value), ast.unparse(access.slice)
    assert isinstance(access.func, ast.Attribute)
    return ast.unparse(access.func.value), ast.unparse(access.args[0])


def mentions(node: ast.AST, table: str) -> bool:
    """Whether a table is named in a node."""
    return any(_is_table(n, table) for n in ast.walk(node))


def is_simple(node: ast.AST) -> bool:
    """Whether evaluating an expression a second time has no effect."""
    return all(isinstance(n, (*_SIMPLE, ast.expr_context)) for n in ast.walk(node))


def names_in(node: ast.AST) -> set[str]:
    """The plain names that an expression uses."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def bound_names(function: FunctionNode) -> set[str]:
    """The names that a function binds after it was called."""
    return {n.id for n in in_body(function) if isinstance(n, ast.Name) and _is_bound(n)}


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, (ast.Store, ast.Del))


def _is_table(node: ast.AST, table: str) -> bool:
    return isinstance(node, (ast.Attribute, ast.Name)) and terminal_name(node) == table


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
