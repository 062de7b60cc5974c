"""What a name can stand for while a program is built, beside run-time operands."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvlint.discover.project import ClassInfo, FunctionNode, Module
from kvlint.programs.ir import Operand

if TYPE_CHECKING:
    from kvlint.programs.context import Context


@dataclass(frozen=True)
class ObjRef:
    """An object of a known class."""

    cls: ClassInfo


@dataclass(frozen=True)
class ClassRef:
    """A class."""

    cls: ClassInfo


@dataclass(frozen=True)
class TableRef:
    """A tracked table; `view` is set for `.values()` and the like."""

    name: str
    view: bool = False


@dataclass(frozen=True)
class InnerRef:
    """The per-room container that a tracked table holds."""

    table: str
    value: Operand


@dataclass(frozen=True)
class QueueRef:
    """A work queue, or a list of them."""

    name: str


@dataclass(frozen=True)
class LockRef:
    """A lock."""

    name: str


@dataclass(frozen=True)
class SetRef:
    """A literal collection of known values."""

    values: tuple[object, ...]


@dataclass(frozen=True)
class TupleRef:
    """A tuple display, element by element."""

    items: tuple[object, ...]


@dataclass(frozen=True)
class FrameRef:
    """A received message from part `offset` on; `var` holds which one it is."""

    var: str
    offset: int = 0


@dataclass(frozen=True)
class FrameItem:
    """One part of a received message."""

    var: str
    index: int


@dataclass(frozen=True)
class MaybeNone:
    """The value of a field that other code sets to None."""

    field: str


@dataclass(frozen=True)
class MaybeRef:
    """A reference that some returns of a function give and others do not; `var` tells which."""

    var: Operand
    ref: object


@dataclass(frozen=True, eq=False)
class FuncRef:
    """A function with what it closes over; `self_ref` is what a bound method is bound to."""

    node: FunctionNode | ast.Lambda
    module: Module
    owner: ClassInfo | None
    self_ref: object | None = None
    closure: Context | None = None
    name: str = field(default="lambda")


Value = (
    Operand
    | ObjRef
    | ClassRef
    | TableRef
    | InnerRef
    | QueueRef
    | LockRef
    | SetRef
    | TupleRef
    | FrameRef
    | FrameItem
    | MaybeNone
    | MaybeRef
    | FuncRef
)
