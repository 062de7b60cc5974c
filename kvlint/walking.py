"""Walk the statements of a tree and leave their expressions alone, which are most of it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

_BLOCKS = ("body", "cases", "handlers", "orelse", "finalbody")


def statements(top: ast.stmt | ast.Module) -> Iterator[ast.AST]:
    """A node and every statement, handler and case below it, in the order of `ast.walk`."""
    todo: deque[ast.AST] = deque([top])
    while todo:
        node = todo.popleft()
        yield node
        for name in _BLOCKS:
            todo.extend(getattr(node, name, ()))
