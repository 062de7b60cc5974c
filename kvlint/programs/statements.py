"""Lower statements: assignments, loops, exceptions, locks."""

from __future__ import annotations

import ast

from kvlint.programs.builder import CATCH_ALL
from kvlint.programs.calls import Calls
from kvlint.programs.chunks import says_last
from kvlint.programs.context import (
    Context,
    Handler,
    InFinally,
    InHandler,
    InLock,
    InLoop,
    InTry,
    Label,
)
from kvlint.programs.ir import ANY, PRESENT, Const, Op, Var
from kvlint.programs.refs import (
    FrameItem,
    FrameRef,
    FuncRef,
    InnerRef,
    LockRef,
    MaybeRef,
    ObjRef,
    QueueRef,
    TableRef,
    TupleRef,
    Value,
)
from kvlint.protocol.facts import terminal_name

COMPREHENSIONS = (ast.SetComp, ast.DictComp, ast.ListComp)


class Statements(Calls):
    """Everything a statement can be."""

    def lower_block(self, body: list[ast.stmt], ctx: Context) -> None:
        """Lower statements in order."""
        for statement in body:
            method = getattr(self, "_do_" + type(statement).__name__, None)
            if method is not None:
                method(statement, ctx)

    def _do_Expr(self, node: ast.Expr, ctx: Context) -> None:
        if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            self.value(node.value.value, ctx)
        elif not isinstance(node.value, ast.Constant):
            self.value(node.value, ctx)

    def _do_FunctionDef(self, node: ast.FunctionDef, ctx: Context) -> None:
        ctx.names[node.name] = FuncRef(
            node, ctx.module, ctx.cls, None, ctx, f"{ctx.function}.{node.name}"
        )

    _do_AsyncFunctionDef = _do_FunctionDef

    # -- assignment ------------------------------------------------------------------

    def _do_Assign(self, node: ast.Assign, ctx: Context) -> None:
        for target in node.targets:
            if self._filtered_in_place(target, node.value, ctx):
                return
        value = self.value(node.value, ctx)
        for target in node.targets:
            self.assign(target, value, ctx, node)

    def _do_AnnAssign(self, node: ast.AnnAssign, ctx: Context) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, ctx), ctx, node)

    def _do_AugAssign(self, node: ast.AugAssign, ctx: Context) -> None:
        self.value(node.value, ctx)
        if isinstance(node.target, ast.Subscript):
            base = self.value(node.target.value, ctx)
            if isinstance(base, TableRef):
                self.load(base, ctx, node.target)
                self.emit(Op.STORE, ctx, node, name=base.name, args=(Const(PRESENT),))
        elif isinstance(node.target, ast.Name):
            self.bind(node.target.id, ANY, ctx, node)

    def _filtered_in_place(self, target: ast.expr, value: ast.expr, ctx: Context) -> bool:
        """`table = {k for k in table if k != room}`: the room is removed."""
        if not isinstance(target, ast.Attribute) or not isinstance(value, COMPREHENSIONS):
            return False
        name = target.attr
        if name not in self.protocol.tables or not value.generators[0].ifs:
            return False
        source = value.generators[0].iter
        if any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(source)):
            self.iterate(TableRef(name), ctx, value)
            self.emit(Op.POP, ctx, target, dst=self.fresh(name), name=name, args=(Const(None),))
            return True
        return False

    def assign(self, target: ast.expr, value: Value, ctx: Context, node: ast.AST) -> None:
        """Bind a target of any form."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value, ctx, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, ctx, node)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value, ctx, node)
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, value, ctx, node)

    def _unpack(self, targets: list[ast.expr], value: Value, ctx: Context, node: ast.AST) -> None:
        for i, target in enumerate(targets):
            part: Value = ANY
            if isinstance(value, TupleRef) and i < len(value.items):
                part = value.items[i]  # type: ignore[assignment]
            elif isinstance(value, FrameRef):
                part = FrameItem(value.var, value.offset + i)
            elif isinstance(value, Var):
                part = self._component(value, i, target, ctx, node)
            self.assign(target, part, ctx, node)

    def _component(
        self, value: Var, index: int, target: ast.expr, ctx: Context, node: ast.AST
    ) -> Value:
        """One element of a tuple held in a local: of a chunk, a result or a table row."""
        if value.name in self.tuples:
            return Var(f"{value.name}#{index}")
        name = terminal_name(target) or ""
        row = self.protocol.row_index == index
        places = self.protocol.last_places.get(self.taken.get(value.name, ""), ())
        if says_last(name) or index in places:
            dst = self.fresh(name or "part")
            self.emit(Op.CHUNK_FIELD, ctx, node, dst=dst, args=(value,), name=name)
            return Var(dst)
        return value if row else ANY

    def _store_item(self, target: ast.Subscript, value: Value, ctx: Context, node: ast.AST) -> None:
        base = self.value(target.value, ctx)
        self.value(target.slice, ctx)
        if isinstance(base, TableRef):
            self.emit(Op.STORE, ctx, node, name=base.name, args=(self._row(value),))
        elif isinstance(base, InnerRef):
            self.emit(Op.STORE, ctx, node, name=base.table, args=(Const(PRESENT),), note="inner")

    def _row(self, value: Value) -> Const | Var:
        index = self.protocol.row_index
        if isinstance(value, TupleRef) and index is not None and index < len(value.items):
            return self.flat(value.items[index])  # type: ignore[arg-type]
        return self.flat(value)

    def _store_attribute(
        self, target: ast.Attribute, value: Value, ctx: Context, node: ast.AST
    ) -> None:
        base = self.value(target.value, ctx)
        if (
            isinstance(base, ObjRef)
            and base.cls in self.protocol.holders
            and target.attr in self.protocol.fields
        ):
            self.emit(Op.FIELD_STORE, ctx, node, name=target.attr, args=(self.flat(value),))

    def _do_Delete(self, node: ast.Delete, ctx: Context) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                base = self.value(target.value, ctx)
                if isinstance(base, TableRef):
                    pad = self.may_raise_error("KeyError", ctx, node, note="KeyError")
                    instr = self.emit(
                        Op.POP, ctx, node, dst=self.fresh(base.name), name=base.name, note="del"
                    )
                    self.patch(instr, "alt", pad)

    # -- control flow ----------------------------------------------------------------

    def _do_If(self, node: ast.If, ctx: Context) -> None:
        yes, no, done = Label(), Label(), Label()
        self.condition(node.test, yes, no, ctx)
        self.place(yes)
        self.lower_block(node.body, ctx)
        self.jump(done, ctx, node)
        self.place(no)
        self.lower_block(node.orelse, ctx)
        self.place(done)

    def _do_While(self, node: ast.While, ctx: Context) -> None:
        again, inside, other, done = Label(), Label(), Label(), Label()
        self.place(again)
        self.condition(node.test, inside, other, ctx)
        self.place(inside)
        self.unwind.append(InLoop(again, done))
        self.lower_block(node.body, ctx)
        self.unwind.pop()
        self.jump(again, ctx, node)
        self.place(other)
        self.lower_block(node.orelse, ctx)
        self.place(done)

    def _do_For(self, node: ast.For, ctx: Context) -> None:
        source = self.value(node.iter, ctx)
        self.iterate(source, ctx, node.iter)
        first, again, inside, other, done = Label(), Label(), Label(), Label(), Label()
        self.place(first)
        self._more(source, inside, other, ctx, node)
        self.place(again)
        self.branch("unknown", (), inside, other, ctx, node, note="loop")
        self.place(inside)
        if isinstance(source, QueueRef):
            self.assign(node.target, source, ctx, node)
        else:
            self._element(node.target, ctx)
        self.unwind.append(InLoop(again, done))
        self.lower_block(node.body, ctx)
        self.unwind.pop()
        self.jump(again, ctx, node)
        self.place(other)
        self.lower_block(node.orelse, ctx)
        self.place(done)

    _do_AsyncFor = _do_For

    def _more(
        self, source: Value, inside: Label, other: Label, ctx: Context, node: ast.AST
    ) -> None:
        """Whether there is a first element: one present object has at least one."""
        operand = source.value if isinstance(source, InnerRef) else source
        if isinstance(operand, (Var, Const)):
            self.branch("nonempty", (operand,), inside, other, ctx, node)
        else:
            self.branch("unknown", (), inside, other, ctx, node, note="loop")

    def _element(self, target: ast.expr, ctx: Context) -> None:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                ctx.names[part.id] = ANY

    def _do_Match(self, node: ast.Match, ctx: Context) -> None:
        subject = self.value(node.subject, ctx)
        done = Label()
        for case in node.cases:
            yes, no = Label(), Label()
            self._pattern(case.pattern, subject, yes, no, ctx, node)
            self.place(yes)
            if case.guard is not None:
                fits = Label()
                self.condition(case.guard, fits, no, ctx)
                self.place(fits)
            self.lower_block(case.body, ctx)
            self.jump(done, ctx, node)
            self.place(no)
        self.place(done)

    def _pattern(
        self,
        pattern: ast.pattern,
        subject: Value,
        yes: Label,
        no: Label,
        ctx: Context,
        node: ast.AST,
    ) -> None:
        if isinstance(pattern, ast.MatchValue):
            self._equal(subject, self.value(pattern.value, ctx), yes, no, ctx, node)
        elif isinstance(pattern, ast.MatchSingleton):
            self._equal(subject, Const(pattern.value), yes, no, ctx, node)
        elif isinstance(pattern, ast.MatchOr):
            for part in pattern.patterns:
                ahead = Label()
                self._pattern(part, subject, yes, ahead, ctx, node)
                self.place(ahead)
            self.jump(no, ctx, node)
        elif isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                self.bind(pattern.name, subject, ctx, node)
            self.jump(yes, ctx, node)
        else:
            self.branch("unknown", (), yes, no, ctx, node)

    def _do_Break(self, node: ast.Break, ctx: Context) -> None:
        self.leave_loop(False, ctx, node)

    def _do_Continue(self, node: ast.Continue, ctx: Context) -> None:
        self.emit(Op.SKIP, ctx, node)
        self.leave_loop(True, ctx, node)

    def _do_Return(self, node: ast.Return, ctx: Context) -> None:
        value = self.value(node.value, ctx)
        name = self.result_name()
        if isinstance(value, TupleRef):
            self.tuples.add(name)
            for i, item in enumerate(value.items):
                part = self.flat(item)  # type: ignore[arg-type]
                self.emit(Op.SET, ctx, node, dst=f"{name}#{i}", args=(part,))
            self.emit(Op.SET, ctx, node, dst=name, args=(Const(PRESENT),))
        else:
            part = self.flat(value)
            if isinstance(value, MaybeRef):
                self.results[name] = value.ref  # type: ignore[assignment]
                self.plain_results.add(name)
            elif not isinstance(value, (Const, Var, InnerRef)):
                before = self.results.get(name)
                if isinstance(before, FuncRef) and isinstance(value, FuncRef):
                    self.ambiguous = self.ambiguous or before.node is not value.node
                self.results[name] = value
                part = Const(PRESENT)
            else:
                self.plain_results.add(name)
            self.emit(Op.SET, ctx, node, dst=name, args=(part,))
        self.leave_function(ctx, node)

    # -- exceptions and locks --------------------------------------------------------

    def _do_Raise(self, node: ast.Raise, ctx: Context) -> None:
        handling = any(isinstance(r, InHandler) for r in self.unwind)
        note = "raise in a handler" if handling else "raise"
        if node.exc is None:
            if self.reraised() in CATCH_ALL:
                self.may_raise(ctx, node)  # what was caught may be anything: any outer handler
            self.raise_error(self.reraised(), ctx, node, note)
            return
        if isinstance(node.exc, ast.Call):
            for arg in node.exc.args:
                self.value(arg, ctx)
        name = terminal_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        error = name if name and name[0].isupper() else self.reraised()
        self.raise_error(error, ctx, node, note)

    def _do_Assert(self, node: ast.Assert, ctx: Context) -> None:
        fine, broken = Label(), Label()
        self.condition(node.test, fine, broken, ctx)
        self.place(broken)
        self.raise_error("AssertionError", ctx, node, note="assert")
        self.place(fine)

    def _do_With(self, node: ast.With, ctx: Context) -> None:
        locks: list[InLock] = []
        for item in node.items:
            value = self.value(item.context_expr, ctx)
            if isinstance(value, LockRef):
                self.emit(Op.LOCK, ctx, item.context_expr, name=value.name)
                locks.append(InLock(value.name, item.context_expr, ctx))
                self.unwind.append(locks[-1])
            elif item.optional_vars is not None:
                self._element(item.optional_vars, ctx)
        self.lower_block(node.body, ctx)
        for lock in reversed(locks):
            self.unwind.pop()
            self.emit(Op.UNLOCK, ctx, lock.node, name=lock.name)

    _do_AsyncWith = _do_With

    def _do_Try(self, node: ast.Try, ctx: Context) -> None:
        done = Label()
        cleanup = InFinally(node.finalbody, ctx) if node.finalbody else None
        if cleanup is not None:
            self.unwind.append(cleanup)
        handlers = [Handler(_caught(h), Label(), h) for h in node.handlers]
        self.unwind.append(InTry(handlers))
        self.lower_block(node.body, ctx)
        self.unwind.pop()
        self.lower_block(node.orelse, ctx)
        self.jump(done, ctx, node)
        for handler in handlers:
            self.place(handler.label)
            self.unwind.append(InHandler(handler.types))
            self.emit(Op.HANDLER, ctx, handler.node, note=" ".join(handler.types))
            if handler.node.name:
                ctx.names[handler.node.name] = Const(PRESENT)
            self.lower_block(handler.node.body, ctx)
            self.unwind.pop()
            self.jump(done, ctx, handler.node)
        if cleanup is not None:
            self.unwind.pop()
        self.place(done)
        self.lower_block(node.finalbody, ctx)


def _caught(handler: ast.ExceptHandler) -> tuple[str, ...]:
    if handler.type is None:
        return ("BaseException",)
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(terminal_name(p) or "?" for p in parts)
