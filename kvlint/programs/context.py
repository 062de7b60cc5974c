"""Where lowering is: the function being inlined, its names, what to unwind on leaving it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kvlint.discover.project import ClassInfo, Module
from kvlint.programs.ir import Where
from kvlint.programs.refs import Value


class Label:
    """A place in the program that is not known yet."""

    __slots__ = ("pc",)

    def __init__(self) -> None:
        self.pc = -1


@dataclass(eq=False)
class Context:
    """One function activation; inlining the same function twice gives two of them."""

    ident: int
    module: Module
    cls: ClassInfo | None
    self_ref: Value | None
    function: str
    names: dict[str, Value] = field(default_factory=dict)
    parent: Context | None = None
    stack: tuple[Where, ...] = ()
    nodes: tuple[ast.AST, ...] = ()
    _places: dict[ast.AST, Where] = field(default_factory=dict, repr=False)

    def lookup(self, name: str) -> Value | None:
        """The value of a local or of a name in an enclosing function."""
        context: Context | None = self
        while context is not None:
            if name in context.names:
                return context.names[name]
            context = context.parent
        return None

    def where(self, node: ast.AST) -> Where:
        """The source position of a node in this activation."""
        place = self._places.get(node)
        if place is None:
            owner = self.cls.name if self.cls else ""
            place = self._places[node] = Where(self.module, node, owner, self.function)
        return place


@dataclass(eq=False)
class Handler:
    """One `except` clause: what it catches and where its body starts."""

    types: tuple[str, ...]
    label: Label
    node: ast.ExceptHandler


@dataclass(eq=False)
class Unwind:
    """Something to pass when control leaves a region early."""

    pads: dict[str, list[Label]] = field(default_factory=dict, init=False)


@dataclass(eq=False)
class InTry(Unwind):
    """Inside the body of a `try` with handlers."""

    handlers: list[Handler]


@dataclass(eq=False)
class InFinally(Unwind):
    """Inside a `try` whose `finally` must run."""

    body: list[ast.stmt]
    context: Context


@dataclass(eq=False)
class InLock(Unwind):
    """Inside `with lock:`."""

    name: str
    node: ast.AST
    context: Context


@dataclass(eq=False)
class InLoop(Unwind):
    """Inside a loop."""

    again: Label
    done: Label


@dataclass(eq=False)
class InCall(Unwind):
    """Inside an inlined call."""

    done: Label
    result: str


@dataclass(eq=False)
class InHandler(Unwind):
    """Inside the body of an `except` clause; a bare `raise` means `types`."""

    types: tuple[str, ...]
