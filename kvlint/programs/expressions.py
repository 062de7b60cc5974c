"""Lower expressions: evaluate to a reference or an operand."""

from __future__ import annotations

import ast

from kvlint.discover.project import ClassInfo, ConstantRef, FunctionRef, Module
from kvlint.programs.chunks import says_last
from kvlint.programs.conditions import Conditions
from kvlint.programs.context import Context, Label
from kvlint.programs.ir import ANY, EMPTY, PRESENT, Const, Op, Var
from kvlint.programs.refs import (
    ClassRef,
    FrameItem,
    FrameRef,
    FuncRef,
    InnerRef,
    LockRef,
    MaybeNone,
    MaybeRef,
    ObjRef,
    QueueRef,
    SetRef,
    TableRef,
    TupleRef,
    Value,
)
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import terminal_name


class Expressions(Conditions):
    """Evaluation of names, attributes and subscripts."""

    def call(self, node: ast.Call, ctx: Context) -> Value:
        """Evaluate a call; the call half of the class provides it."""
        raise AssertionError("abstract")

    def value(self, node: ast.expr | None, ctx: Context) -> Value:
        """Evaluate an expression, emitting its tracked effects in order."""
        if node is None:
            return Const(None)
        method = getattr(self, "_value_" + type(node).__name__, None)
        if method is not None:
            return method(node, ctx)  # type: ignore[no-any-return]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, ctx)
        return ANY

    def constant(self, value: object) -> Const:
        """A literal, as the status member it stands for where statuses are strings."""
        if isinstance(value, str):
            member = self.protocol.domain.of_value(value)
            if member is not None:
                return Const(member)
        return Const(value)

    def _value_Constant(self, node: ast.Constant, ctx: Context) -> Value:
        return self.constant(node.value)

    def _value_JoinedStr(self, node: ast.JoinedStr, ctx: Context) -> Value:
        return Const(PRESENT)

    def _value_Lambda(self, node: ast.Lambda, ctx: Context) -> Value:
        return FuncRef(node, ctx.module, ctx.cls, None, ctx)

    def _value_Await(self, node: ast.Await, ctx: Context) -> Value:
        self.awaiting = True
        value = self.value(node.value, ctx)
        self.awaiting = False
        self.emit(Op.WINDOW, ctx, node, note="await")
        return value

    def _value_Name(self, node: ast.Name, ctx: Context) -> Value:
        found = ctx.lookup(node.id)
        if found is not None:
            return found
        return self.module_name(ctx.module, node.id)

    def module_name(self, module: Module, name: str) -> Value:
        """What a global name stands for."""
        values = self.protocol.values
        constants = values.module_constants(module)
        if name in constants:
            return self.constant(constants[name])
        target = values.resolve(module, name)
        if isinstance(target, ClassInfo):
            return ClassRef(target)
        if isinstance(target, FunctionRef):
            return FuncRef(target.node, target.module, target.owner, None, None, target.node.name)
        if isinstance(target, ConstantRef):
            return self.static(target.node, target.module)
        return ANY

    def static(self, node: ast.expr, module: Module) -> Value:
        """A module- or class-level expression, without emitting anything."""
        if isinstance(node, ast.Constant):
            return self.constant(node.value)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            parts = [self.static(e, module) for e in node.elts]
            if all(isinstance(p, Const) for p in parts):
                return SetRef(tuple(p.value for p in parts if isinstance(p, Const)))
        if isinstance(node, ast.Call) and node.args:
            name = terminal_name(node.func)
            if name in ("frozenset", "set", "tuple", "list"):
                return self.static(node.args[0], module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = self.static(node.func.value, module)
            if (
                node.func.attr == "encode"
                and isinstance(inner, Const)
                and isinstance(inner.value, str)
            ):
                return Const(inner.value.encode())
        if isinstance(node, ast.Name):
            return self.module_name(module, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base = self.module_name(module, node.value.id)
            if isinstance(base, ClassRef):
                return self.class_attribute(base.cls, node.attr)
        return ANY

    def class_attribute(self, cls: ClassInfo, name: str) -> Value:
        """`Class.name`: a status member, a class constant, a function."""
        if cls.name == self.protocol.domain.name:
            member = self.protocol.domain.member(name)
            if member is not None:
                return Const(member)
        for owner in cls.mro or (cls,):
            constants = self.protocol.values.members(owner)
            if name in constants:
                return self.constant(constants[name])
            if name in owner.attributes:
                return self.static(owner.attributes[name], owner.module)
        found = cls.find(name)
        if found is not None:
            return FuncRef(found[1], found[0].module, found[0], None, None, name)
        return ANY

    def _value_Attribute(self, node: ast.Attribute, ctx: Context) -> Value:
        base = solid(self.value(node.value, ctx))
        return self.attribute(base, node.attr, ctx, node)

    def attribute(self, base: Value, name: str, ctx: Context, node: ast.AST) -> Value:
        """`base.name`."""
        protocol = self.protocol
        if isinstance(base, ClassRef):
            return self.class_attribute(base.cls, name)
        if name in self.known_tables:
            return TableRef(name)
        if name in protocol.queues:
            return QueueRef(name)
        if name in protocol.locks:
            return LockRef(name)
        if isinstance(base, ObjRef):
            return self._object_attribute(base, name, ctx, node)
        if isinstance(base, MaybeNone):
            self._dereference(base, ctx, node)
            return ANY
        if isinstance(base, Var) and says_last(name):
            dst = self.fresh(name)
            self.emit(Op.CHUNK_FIELD, ctx, node, dst=dst, args=(base,), name=name)
            return Var(dst)
        owner = protocol.object_attribute(name)
        if owner is not None:
            return ObjRef(owner)
        if name in protocol.nullable:
            return MaybeNone(name)
        return ANY

    def _object_attribute(self, base: ObjRef, name: str, ctx: Context, node: ast.AST) -> Value:
        protocol = self.protocol
        found = base.cls.find(name)
        if found is not None:
            decorators = found[1].decorator_list
            reference = FuncRef(found[1], found[0].module, found[0], base, None, name)
            if any(terminal_name(d) in ("property", "cached_property") for d in decorators):
                return self.inline(reference, [], {}, ctx, node)
            return reference
        if name in protocol.fields and base.cls in protocol.holders:
            dst = self.fresh(name)
            self.emit(Op.FIELD_LOAD, ctx, node, dst=dst, name=name)
            return Var(dst)
        kind = protocol.attribute_class(base.cls, name)
        if kind is not None:
            return ObjRef(kind)
        constant = self.class_attribute(base.cls, name)
        if constant is not ANY:
            return constant
        return MaybeNone(name) if name in protocol.nullable else ANY

    def inline(
        self, ref: FuncRef, args: list[Value], kwargs: dict[str, Value], ctx: Context, node: ast.AST
    ) -> Value:
        """Lower the body of a called function; the call half provides it."""
        raise AssertionError("abstract")

    def _dereference(self, base: MaybeNone, ctx: Context, node: ast.AST) -> None:
        """An attribute of something that other code sets to None: may raise AttributeError."""
        if base.field in self.checked:
            return
        pad = self.may_raise_error("AttributeError", ctx, node)
        instr = self.emit(Op.NULLABLE, ctx, node, name=base.field)
        self.patch(instr, "alt", pad)

    def _value_Subscript(self, node: ast.Subscript, ctx: Context) -> Value:
        base = solid(self.value(node.value, ctx))
        if isinstance(base, TableRef) and not base.view:
            self.value(node.slice, ctx)
            return self.load(base, ctx, node)
        if isinstance(base, FrameRef):
            return self._frame_part(base, node.slice)
        if isinstance(base, QueueRef):
            return base
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(base, TupleRef) and isinstance(index, int) and index < len(base.items):
            return base.items[index]  # type: ignore[return-value]
        if isinstance(base, (Var, Const)) and self.protocol.row_index is not None:
            return base if index == self.protocol.row_index else ANY
        self.value(node.slice, ctx)
        return ANY

    def load(self, table: TableRef, ctx: Context, node: ast.AST) -> Value:
        """`table[room]`: the value, or a KeyError."""
        dst = self.fresh(table.name)
        pad = self.may_raise_error("KeyError", ctx, node, note="KeyError")
        instr = self.emit(Op.LOAD, ctx, node, dst=dst, name=table.name, note="[]")
        if table.name in self.protocol.default_tables:
            instr.args = (Const(PRESENT),)
        else:
            self.patch(instr, "alt", pad)
        return self.loaded(table, dst)

    def loaded(self, table: TableRef, dst: str) -> Value:
        """What was read from a table: a status, or the room's own container."""
        if table.name == self.protocol.status_table:
            return Var(dst)
        return InnerRef(table.name, Var(dst))

    def _frame_part(self, base: FrameRef, index: ast.expr) -> Value:
        if isinstance(index, ast.Slice):
            start = index.lower.value if isinstance(index.lower, ast.Constant) else 0
            if isinstance(start, int) and index.upper is None:
                return FrameRef(base.var, base.offset + start)
            return ANY
        if isinstance(index, ast.Constant) and isinstance(index.value, int) and index.value >= 0:
            return FrameItem(base.var, base.offset + index.value)
        return ANY

    def _value_Tuple(self, node: ast.Tuple, ctx: Context) -> Value:
        return TupleRef(tuple(self.value(e, ctx) for e in node.elts))

    def _value_List(self, node: ast.List, ctx: Context) -> Value:
        parts = [self.value(e, ctx) for e in node.elts]
        if not parts:
            return Const(EMPTY)
        if all(isinstance(p, Const) and isinstance(p.value, Member) for p in parts):
            return SetRef(tuple(p.value for p in parts if isinstance(p, Const)))
        return Const(PRESENT)

    _value_Set = _value_List

    def _value_Dict(self, node: ast.Dict, ctx: Context) -> Value:
        for child in (*node.keys, *node.values):
            if child is not None:
                self.value(child, ctx)
        return Const(PRESENT if node.keys else EMPTY)

    def _value_NamedExpr(self, node: ast.NamedExpr, ctx: Context) -> Value:
        value = self.value(node.value, ctx)
        self.bind(node.target.id, value, ctx, node)
        return ctx.names[node.target.id]

    def bind(self, name: str, value: Value, ctx: Context, node: ast.AST) -> None:
        """Assign to a local: references are known now, operands live in a run-time local."""
        if isinstance(value, (Const, Var)):
            local = f"{name}@{ctx.ident}"
            self.emit(Op.SET, ctx, node, dst=local, args=(value,))
            ctx.names[name] = Var(local)
            self._bind_item(local, value)
        elif isinstance(value, InnerRef):  # other branches may bind the name to something else
            local = f"{name}@{ctx.ident}"
            self.emit(Op.SET, ctx, node, dst=local, args=(value.value,))
            ctx.names[name] = InnerRef(value.table, Var(local))
        else:
            ctx.names[name] = value

    def _bind_item(self, local: str, value: Const | Var) -> None:
        """Remember which queue an item in a local came from; another value hides it."""
        queue = self.taken.get(value.name) if isinstance(value, Var) else None
        if queue is not None:
            self.taken[local] = queue
        else:
            self.taken.pop(local, None)

    def _value_IfExp(self, node: ast.IfExp, ctx: Context) -> Value:
        yes, no, done = Label(), Label(), Label()
        self.condition(node.test, yes, no, ctx)
        dst = self.fresh("either")
        message: FrameRef | None = None
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.place(label)
            value = solid(self.value(part, ctx))
            operand = self.flat(value)
            if isinstance(value, FrameRef):
                message, operand = value, Const(PRESENT)
            self.emit(Op.SET, ctx, part, dst=dst, args=(operand,))
            self.jump(done, ctx, part)
        self.place(done)
        return Var(dst) if message is None else MaybeRef(Var(dst), message)

    def _value_Compare(self, node: ast.expr, ctx: Context) -> Value:
        yes, no, done = Label(), Label(), Label()
        self.condition(node, yes, no, ctx)
        dst = self.fresh("test")
        for label, result in ((yes, True), (no, False)):
            self.place(label)
            self.emit(Op.SET, ctx, node, dst=dst, args=(Const(result),))
            self.jump(done, ctx, node)
        self.place(done)
        return Var(dst)

    def _value_UnaryOp(self, node: ast.UnaryOp, ctx: Context) -> Value:
        if isinstance(node.op, ast.Not):
            return self._value_Compare(node, ctx)
        self.value(node.operand, ctx)
        return ANY

    def _value_BoolOp(self, node: ast.BoolOp, ctx: Context) -> Value:
        """`a or b` as a value: the first operand that decides it."""
        done, dst = Label(), self.fresh("chain")
        for part in node.values[:-1]:
            value = self.flat(self.value(part, ctx))
            self.emit(Op.SET, ctx, part, dst=dst, args=(value,))
            ahead = Label()
            yes, no = (done, ahead) if isinstance(node.op, ast.Or) else (ahead, done)
            self.branch("true", (Var(dst),), yes, no, ctx, part)
            self.place(ahead)
        value = self.flat(self.value(node.values[-1], ctx))
        self.emit(Op.SET, ctx, node, dst=dst, args=(value,))
        self.place(done)
        return Var(dst)

    def _comprehension(self, node: ast.expr, ctx: Context) -> Value:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        for generator in generators:
            source = self.value(generator.iter, ctx)
            self.iterate(source, ctx, generator.iter)
        return ANY

    _value_ListComp = _value_SetComp = _value_DictComp = _value_GeneratorExp = _comprehension

    def iterate(self, source: Value, ctx: Context, node: ast.AST) -> None:
        """Note that a shared container is walked while others may change it."""
        if isinstance(source, TableRef):
            name, note = source.name, ""
        elif isinstance(source, InnerRef):
            name, note = source.table, "inner"
        else:
            return
        pad = self.may_raise_error("RuntimeError", ctx, node, note="RuntimeError")
        walk = self.emit(Op.ITER, ctx, node, name=name, note=note)
        self.patch(walk, "alt", pad)


def solid(value: Value) -> Value:
    """The reference itself, where it is used and no longer asked for."""
    return value.ref if isinstance(value, MaybeRef) else value  # type: ignore[return-value]
