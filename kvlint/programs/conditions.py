"""Lower conditions: branch on a comparison, a membership, the truth of a value."""

from __future__ import annotations

import ast

from kvlint.programs.builder import Builder, as_operand
from kvlint.programs.context import Context, Label
from kvlint.programs.ir import PRESENT, Const, Op, Var
from kvlint.programs.refs import (
    ClassRef,
    FrameItem,
    FrameRef,
    FuncRef,
    InnerRef,
    MaybeNone,
    MaybeRef,
    ObjRef,
    SetRef,
    TableRef,
    TupleRef,
    Value,
)
from kvlint.protocol.domain import Member

ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Conditions(Builder):
    """Everything that an expression can be where it only decides which way to go."""

    def value(self, node: ast.expr | None, ctx: Context) -> Value:
        """Evaluate an expression; the half of the class for expressions provides it."""
        raise AssertionError("abstract")

    def flat(self, value: Value) -> Const | Var:
        """The operand that stands for any value."""
        if isinstance(value, InnerRef):
            return value.value
        if isinstance(value, MaybeRef):
            return value.var
        if isinstance(value, (ObjRef, ClassRef, FuncRef)):
            return Const(PRESENT)
        return as_operand(value)

    def condition(self, node: ast.expr, yes: Label, no: Label, ctx: Context) -> None:
        """Branch on a condition."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, no, yes, ctx)
        elif isinstance(node, ast.BoolOp):
            self._chain(node, yes, no, ctx)
        elif isinstance(node, ast.Compare):
            self._comparison(node, yes, no, ctx)
        else:
            value = self.value(node, ctx)
            self.truth(value, yes, no, ctx, node)

    def _chain(self, node: ast.BoolOp, yes: Label, no: Label, ctx: Context) -> None:
        for part in node.values[:-1]:
            ahead = Label()
            if isinstance(node.op, ast.Or):
                self.condition(part, yes, ahead, ctx)
            else:
                self.condition(part, ahead, no, ctx)
            self.place(ahead)
        self.condition(node.values[-1], yes, no, ctx)

    def truth(self, value: Value, yes: Label, no: Label, ctx: Context, node: ast.AST) -> None:
        """Branch on whether a value is true."""
        if isinstance(value, InnerRef):
            value = value.value
        elif isinstance(value, MaybeRef):
            value = value.var
        if isinstance(value, MaybeNone):
            self.checked.add(value.field)
        if isinstance(value, (ObjRef, ClassRef, FuncRef, FrameRef)):
            self.jump(yes, ctx, node)  # a message that was received has parts
        elif isinstance(value, (Const, Var)):
            self.branch("true", (value,), yes, no, ctx, node)
        else:
            self.branch("unknown", (), yes, no, ctx, node)

    def _comparison(self, node: ast.Compare, yes: Label, no: Label, ctx: Context) -> None:
        role = self.protocol.role
        decided = role.decide(node) if role is not None else None
        if decided is not None:
            self.jump(yes if decided else no, ctx, node)
            return
        # `a < b < c` is `a < b and b < c`; that b is evaluated once does not show.
        left = node.left
        for op, right in zip(node.ops[:-1], node.comparators, strict=False):
            ahead = Label()
            self._compare(left, op, right, ahead, no, ctx, node)
            self.place(ahead)
            left = right
        self._compare(left, node.ops[-1], node.comparators[-1], yes, no, ctx, node)

    def _compare(
        self,
        left: ast.expr,
        op: ast.cmpop,
        right: ast.expr,
        yes: Label,
        no: Label,
        ctx: Context,
        node: ast.AST,
    ) -> None:
        if isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn)):
            yes, no = no, yes
        if isinstance(op, (ast.In, ast.NotIn)):
            self._membership(left, right, yes, no, ctx, node)
        elif isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            left_value = self.value(left, ctx)
            self._equal(left_value, self.value(right, ctx), yes, no, ctx, node)
        else:
            args = (self.flat(self.value(left, ctx)), self.flat(self.value(right, ctx)))
            self.branch(ORDERS.get(type(op), "unknown"), args, yes, no, ctx, node)

    def _membership(
        self, left: ast.expr, right: ast.expr, yes: Label, no: Label, ctx: Context, node: ast.AST
    ) -> None:
        item = self.value(left, ctx)
        container = self.value(right, ctx)
        if isinstance(container, TupleRef):
            parts = container.items
            if all(isinstance(p, Const) for p in parts):
                container = SetRef(tuple(p.value for p in parts if isinstance(p, Const)))
        if isinstance(container, TableRef) and not container.view:
            instr = self.emit(Op.TEST, ctx, node, name=container.name)
            self.patch(instr, "next", yes)
            self.patch(instr, "alt", no)
        elif isinstance(container, SetRef) and isinstance(item, (Const, Var)):
            args = (item, *(Const(v) for v in container.values))
            self.branch("in", args, yes, no, ctx, node)
        elif isinstance(container, SetRef) and isinstance(item, FrameItem):
            self._frame_in(item, container, yes, no, ctx, node)
        else:
            self.branch("unknown", (), yes, no, ctx, node)

    def _frame_in(
        self, item: FrameItem, among: SetRef, yes: Label, no: Label, ctx: Context, node: ast.AST
    ) -> None:
        for literal in among.values:
            ahead = Label()
            self._frame_equal(item, literal, yes, ahead, ctx, node)
            self.place(ahead)
        self.jump(no, ctx, node)

    def _frame_equal(
        self, item: FrameItem, literal: object, yes: Label, no: Label, ctx: Context, node: ast.AST
    ) -> None:
        if isinstance(literal, Member):
            literal = literal.value
        args = (Var(item.var), Const(item.index), Const(literal))
        self.branch("frame", args, yes, no, ctx, node)

    def _equal(
        self, left: Value, right: Value, yes: Label, no: Label, ctx: Context, node: ast.AST
    ) -> None:
        if isinstance(left, FrameItem) and isinstance(right, Const):
            self._frame_equal(left, right.value, yes, no, ctx, node)
            return
        if isinstance(right, FrameItem) and isinstance(left, Const):
            self._frame_equal(right, left.value, yes, no, ctx, node)
            return
        if isinstance(left, MaybeNone) or isinstance(right, MaybeNone):
            self.checked |= {v.field for v in (left, right) if isinstance(v, MaybeNone)}
            self.branch("unknown", (), yes, no, ctx, node)
            return
        a, b = self.flat(left), self.flat(right)
        self.branch("equal", (a, b), yes, no, ctx, node)
