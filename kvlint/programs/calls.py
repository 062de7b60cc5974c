"""Lower calls: container operations, queues, locks, messages; inline what matters, drop others."""

from __future__ import annotations

import ast

from kvlint.programs.chunks import last_expressions
from kvlint.programs.context import Context, InCall, Label
from kvlint.programs.expressions import Expressions, solid
from kvlint.programs.ir import ANY, EMPTY, PRESENT, Const, Op, Var
from kvlint.programs.names import (
    BLOCKING,
    HARMLESS,
    QUIET_NAMES,
    RECEIVERS,
    SEQUENCE_MAKERS,
    is_foreign,
    is_queue_call,
)
from kvlint.programs.refs import (
    ClassRef,
    FrameItem,
    FrameRef,
    FuncRef,
    InnerRef,
    LockRef,
    MaybeRef,
    ObjRef,
    QueueRef,
    SetRef,
    TableRef,
    TupleRef,
    Value,
)
from kvlint.protocol.facts import local_assignments, parameters, terminal_name

MAX_INLINE_DEPTH = 12
MUTATORS = frozenset({"append", "extend", "insert", "add", "update", "remove", "discard", "pop"})


class Calls(Expressions):
    """Everything a call expression can be."""

    def call(self, node: ast.Call, ctx: Context) -> Value:
        """Evaluate a call."""
        if isinstance(node.func, ast.Name):
            return self._named(node, node.func.id, ctx)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, ctx)
        target = self.value(node.func, ctx)
        if isinstance(target, FuncRef):
            return self._apply(target, node, ctx)
        return self._unknown(node, ctx)

    _value_Call = call

    # -- plain names -----------------------------------------------------------------

    def _named(self, node: ast.Call, name: str, ctx: Context) -> Value:
        target = ctx.lookup(name)
        if target is not None:
            target = solid(target)
        if target is None and name in ("max", "min") and len(node.args) >= 2:
            return self._extreme(node, name, ctx)
        if target is None and name in SEQUENCE_MAKERS:
            return self._collect(node, ctx)
        if target is None and name in ("hasattr", "getattr"):
            return self._by_name(node, name, ctx)
        if target is None and name == "int" and len(node.args) == 1:
            return self._number(node, ctx)
        if target is None and name in QUIET_NAMES:
            values = [self.value(a, ctx) for a in node.args]
            for value, arg in zip(values, node.args, strict=False):
                if name in ("next", "iter", "sum", "any", "all", "enumerate", "sorted", "map"):
                    self.iterate(value, ctx, arg)
            return ANY
        if target is None:
            target = self.module_name(ctx.module, name)
        if isinstance(target, FuncRef):
            return self._apply(target, node, ctx)
        if isinstance(target, ClassRef):
            self._arguments(node, ctx)
            self.may_raise(ctx, node)
            return ObjRef(target.cls)
        return self._unknown(node, ctx, name)

    def _extreme(self, node: ast.Call, name: str, ctx: Context) -> Value:
        args = tuple(self.flat(self.value(a, ctx)) for a in node.args)
        dst = self.fresh(name)
        self.emit(Op.MAX if name == "max" else Op.MIN, ctx, node, dst=dst, args=args)
        return Var(dst)

    def _collect(self, node: ast.Call, ctx: Context) -> Value:
        """`list(x)`: a copy made in one step, so walking it later is safe."""
        if not node.args:
            return Const(EMPTY)
        source = self.value(node.args[0], ctx)
        self._arguments(node, ctx, skip=1)
        if isinstance(source, InnerRef):
            return source.value
        return source if isinstance(source, (Const, Var, SetRef)) else ANY

    def _number(self, node: ast.Call, ctx: Context) -> Value:
        """`int(part)`: a ValueError for a part of a message that is a word."""
        part = solid(self.value(node.args[0], ctx))
        if isinstance(part, FrameItem):
            pad = self.may_raise_error("ValueError", ctx, node, note="ValueError")
            args = (Var(part.var), Const(part.index))
            ahead = Label()
            branch = self.branch("number", args, ahead, ahead, ctx, node)
            self.patches.pop()
            self.patch(branch, "alt", pad)
            self.place(ahead)
        return ANY

    def _by_name(self, node: ast.Call, name: str, ctx: Context) -> Value:
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
            return self._unknown(node, ctx)
        attribute = node.args[1].value
        base = self.value(node.args[0], ctx)
        if not isinstance(attribute, str):
            return ANY
        if name == "getattr":
            return self.attribute(base, attribute, ctx, node)
        return Const(True) if attribute in self.protocol.tables else ANY

    # -- methods ---------------------------------------------------------------------

    def _method(self, node: ast.Call, func: ast.Attribute, ctx: Context) -> Value:
        name = func.attr
        if isinstance(func.value, ast.Call) and terminal_name(func.value.func) == "super":
            return self._super(node, name, ctx)
        base = solid(self.value(func.value, ctx))
        if isinstance(base, TableRef):
            return self._table_method(base, name, node, ctx)
        if isinstance(base, InnerRef):
            return self._inner_method(base, name, node, ctx)
        if isinstance(base, LockRef):
            return self._lock_method(base, name, node, ctx)
        if isinstance(base, (FrameRef, FrameItem)):
            self._arguments(node, ctx)
            return base if name in ("decode", "encode") else ANY
        if isinstance(base, QueueRef) or (
            is_queue_call(node, name) and self._local(func.value, ctx)
        ):
            queued = self._queue_method(base, name, node, ctx)
            if queued is not None:
                return queued
        if name in RECEIVERS and not node.args:
            return self._receive(node, ctx)
        target = self.attribute(base, name, ctx, func)
        if not isinstance(target, FuncRef) and not isinstance(base, (ObjRef, ClassRef)):
            target = self._by_method_name(name, func.value, ctx) or target
        if isinstance(target, FuncRef):
            if isinstance(base, ClassRef) and target.self_ref is None:
                return self._apply(target, node, ctx, unbound=True)
            return self._apply(target, node, ctx)
        if name in ("values", "items", "keys", "copy") and isinstance(base, (Var, Const)):
            return base
        if name in MUTATORS and isinstance(func.value, ast.Name) and isinstance(base, Var):
            self._arguments(node, ctx)
            self.bind(func.value.id, ANY, ctx, node)
            return ANY
        if isinstance(target, (Const, Var)) and isinstance(base, (Const, Var)) and name == "get":
            self._arguments(node, ctx)
            return ANY
        return self._unknown(node, ctx, name)

    def _by_method_name(self, name: str, receiver: ast.expr, ctx: Context) -> FuncRef | None:
        """A method of an object of unknown class, told by its name alone.

        Not for `self.engine.write()` or `manager.engine.write()`: what a known object keeps in an
        attribute of its own is either known from where it was assigned, or foreign.
        """
        if isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name):
            holder = receiver.value.id
            if holder == "self" or isinstance(solid(ctx.lookup(holder) or ANY), ObjRef):
                return None
        if name in HARMLESS or name in ("abort", "poll", "send", "close", "put", "pop", "run"):
            return None
        found = self.protocol.method_owner(name)
        if found is None:
            return None
        owner, function, bound = found
        return FuncRef(function, owner.module, owner, ObjRef(bound), None, name)

    def _super(self, node: ast.Call, name: str, ctx: Context) -> Value:
        this = ctx.self_ref
        if isinstance(this, ObjRef) and ctx.cls is not None:
            found = this.cls.find_after(ctx.cls, name)
            if found is not None:
                owner, function = found
                return self._apply(
                    FuncRef(function, owner.module, owner, this, None, name), node, ctx
                )
        return self._unknown(node, ctx, name)

    def _table_method(self, table: TableRef, name: str, node: ast.Call, ctx: Context) -> Value:
        args = [self.value(a, ctx) for a in node.args[1:]]
        if node.args:
            self.value(node.args[0], ctx)
        dst = self.fresh(table.name)
        if name == "get":
            default = self.flat(args[0]) if args else Const(None)
            self.emit(Op.LOAD, ctx, node, dst=dst, name=table.name, args=(default,), note="get")
            return self.loaded(table, dst)
        if name in ("pop", "remove"):
            return self._pop(table, args, node, ctx, dst)
        if name == "discard":
            self.emit(Op.POP, ctx, node, dst=dst, name=table.name, args=(Const(None),))
        elif name == "setdefault":
            value = self.flat(args[0]) if args else Const(PRESENT)
            self.emit(Op.SETDEFAULT, ctx, node, dst=dst, name=table.name, args=(value,))
            return self.loaded(table, dst)
        elif name == "add":
            self.emit(Op.STORE, ctx, node, name=table.name, args=(Const(PRESENT),))
        elif name in ("values", "items", "keys"):
            return TableRef(table.name, view=True)
        return ANY

    def _pop(
        self, table: TableRef, args: list[Value], node: ast.Call, ctx: Context, dst: str
    ) -> Value:
        """`table.pop(room)`: what comes out belongs to this thread alone."""
        if args:
            self.emit(Op.POP, ctx, node, dst=dst, name=table.name, args=(self.flat(args[0]),))
        else:
            pad = self.may_raise_error("KeyError", ctx, node, note="KeyError")
            instr = self.emit(Op.POP, ctx, node, dst=dst, name=table.name)
            self.patch(instr, "alt", pad)
        return Var(dst)

    def _inner_method(self, inner: InnerRef, name: str, node: ast.Call, ctx: Context) -> Value:
        """A method of what a table holds for one room."""
        self._arguments(node, ctx)
        if name in ("values", "items", "keys"):
            return inner
        if name == "copy":
            return inner.value
        if name in ("add", "discard", "remove", "append", "update", "pop", "clear"):
            self.emit(Op.STORE, ctx, node, name=inner.table, note="inner", args=(Const(PRESENT),))
        return ANY

    def _lock_method(self, lock: LockRef, name: str, node: ast.Call, ctx: Context) -> Value:
        if name == "acquire":
            self.emit(Op.LOCK, ctx, node, name=lock.name)
        elif name == "release":
            self.emit(Op.UNLOCK, ctx, node, name=lock.name)
        elif name == "wait":
            self.emit(Op.WINDOW, ctx, node, note="wait")
        return Const(True)

    @staticmethod
    def _local(node: ast.expr, ctx: Context) -> bool:
        """A parameter or local, or something called a queue."""
        name = terminal_name(node) or ""
        if isinstance(node, ast.Name):
            return ctx.lookup(name) is not None
        return "queue" in name.lower()

    def _queue_method(self, base: Value, name: str, node: ast.Call, ctx: Context) -> Value | None:
        queue = base.name if isinstance(base, QueueRef) else ""
        if name in ("get", "get_nowait", "popleft"):
            dst = self.fresh("chunk")
            self.taken[dst] = queue
            self.emit(Op.TAKE, ctx, node, dst=dst, name=queue)
            return Var(dst)
        if name in ("put", "put_nowait", "append", "appendleft"):
            item = self.value(node.args[0], ctx) if node.args else ANY
            fields = last_expressions(node.args[0]) if node.args else ()
            last = [self.flat(self.value(f, ctx)) for f in fields]
            again: Const | Var = item if isinstance(item, Var) else Const(PRESENT)
            if isinstance(item, TupleRef):
                chunks = [p for p in item.items if isinstance(p, Var) and "chunk" in p.name]
                again = chunks[0] if chunks else again
            self.emit(Op.PUT, ctx, node, name=queue, args=(again, *last[:1]))
            return Const(None)
        return None

    def _receive(self, node: ast.Call, ctx: Context) -> Value:
        dst = self.fresh("message")
        self.emit(Op.RECV, ctx, node, dst=dst, note=terminal_name(node.func) or "")
        return FrameRef(dst)

    # -- functions -------------------------------------------------------------------

    def _apply(self, target: FuncRef, node: ast.Call, ctx: Context, unbound: bool = False) -> Value:
        if isinstance(target.node, ast.Lambda):
            return self.value(target.node.body, target.closure or ctx)
        args = [solid(self.value(a, ctx)) for a in node.args if not isinstance(a, ast.Starred)]
        kwargs = {k.arg: self.value(k.value, ctx) for k in node.keywords if k.arg}
        self_ref = target.self_ref
        if unbound and args:
            first = args.pop(0)
            self_ref = first if isinstance(first, ObjRef) else self_ref
        bound = FuncRef(
            target.node, target.module, target.owner, self_ref, target.closure, target.name
        )
        return self.inline(bound, args, kwargs, ctx, node)

    def inline(
        self, ref: FuncRef, args: list[Value], kwargs: dict[str, Value], ctx: Context, node: ast.AST
    ) -> Value:
        """Lower the body of a called function in place, if it can matter."""
        function = ref.node
        assert not isinstance(function, ast.Lambda)
        handed = any(isinstance(a, (TableRef, QueueRef, FrameRef)) for a in args)
        if not handed and not self.protocol.relevance.matters(function):
            return self._skip(ref, ctx, node)
        if isinstance(function, ast.AsyncFunctionDef) and not self.awaiting:
            return ANY  # a coroutine that something else will run
        if function in ctx.nodes:
            return self._skip(ref, ctx, node)
        if len(ctx.nodes) >= MAX_INLINE_DEPTH:
            self.cut.append(f"{ctx.function} calls {ref.name}: inlined too deep")
            return self._skip(ref, ctx, node)
        self.counter += 1
        inner = Context(
            ident=self.counter,
            module=ref.module,
            cls=ref.owner,
            self_ref=ref.self_ref or (ctx.self_ref if ref.closure else None),  # type: ignore
            function=ref.name,
            parent=ref.closure,
            stack=(*ctx.stack, ctx.where(node)),
            nodes=(*ctx.nodes, function),
        )
        self._bind_parameters(ref, inner, args, kwargs)
        return self._body(ref, inner)

    def _body(self, ref: FuncRef, inner: Context) -> Value:
        assert not isinstance(ref.node, ast.Lambda)
        region = InCall(Label(), self.fresh("result"))
        self.emit(Op.SET, inner, ref.node, dst=region.result, args=(Const(None),))
        self.unwind.append(region)
        self.lower_block(ref.node.body, inner)
        self.unwind.pop()
        self.place(region.done)
        value = self.results.pop(region.result, None)
        if value is None:
            return Var(region.result)
        if region.result in self.plain_results:
            return MaybeRef(Var(region.result), value)
        return value

    def _bind_parameters(
        self, ref: FuncRef, inner: Context, args: list[Value], kwargs: dict[str, Value]
    ) -> None:
        function = ref.node
        assert not isinstance(function, ast.Lambda)
        names = parameters(function)
        if names and names[0] in ("self", "cls") and ref.self_ref is not None:
            inner.names[names[0]] = ref.self_ref  # type: ignore[assignment]
            names = names[1:]
        elif names and names[0] == "cls" and ref.owner is not None:
            inner.names["cls"] = ClassRef(ref.owner)
            names = names[1:]
        given = dict(zip(names, args, strict=False))
        given.update({k: v for k, v in kwargs.items() if k in names})
        defaults = _defaults(function)
        for name in names:
            value = given.get(name)
            if value is None:
                value = self.static(defaults[name], ref.module) if name in defaults else ANY
            if isinstance(value, (Const, Var)) and local_assignments(function, name):
                self.bind(name, value, inner, function)
            else:
                inner.names[name] = value

    def _skip(self, ref: FuncRef, ctx: Context, node: ast.AST) -> Value:
        """A call into code without tracked effects."""
        if self.protocol.relevance.blocks(ref.node):
            self.emit(Op.WINDOW, ctx, node, note=ref.name)
        if self.protocol.relevance.raises(ref.node):
            pad = self.may_raise_error("Exception", ctx, node)
            self.patch(self.emit(Op.NULLABLE, ctx, node, name=ref.name, note="call"), "alt", pad)
        self.may_raise(ctx, node)
        return ANY

    def _arguments(self, node: ast.Call, ctx: Context, skip: int = 0) -> None:
        for arg in node.args[skip:]:
            value = self.value(arg.value if isinstance(arg, ast.Starred) else arg, ctx)
            if isinstance(arg, ast.Starred):
                self.iterate(value, ctx, arg)
        for keyword in node.keywords:
            self.value(keyword.value, ctx)

    def _unknown(self, node: ast.Call, ctx: Context, name: str = "") -> Value:
        """A call that cannot be resolved: it may raise, and it may take its time."""
        self._arguments(node, ctx)
        if name in HARMLESS and name not in BLOCKING:
            return ANY
        if name in BLOCKING or (name not in QUIET_NAMES and is_foreign(node)):
            self.emit(Op.WINDOW, ctx, node, note=name or "call")
        self.may_raise(ctx, node)
        return ANY


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    a = function.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    found = dict(zip(reversed(positional), reversed(a.defaults), strict=False))
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        if default is not None:
            found[arg.arg] = default
    return found
