"""Lower thread roots and entry points of a protocol to programs."""

from __future__ import annotations

import ast

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.programs.builder import TooLarge
from kvlint.programs.context import Context, InCall, Label
from kvlint.programs.ir import ANY, Const, Instr, Op, Program, Var
from kvlint.programs.refs import FuncRef, ObjRef, Value
from kvlint.programs.sharing import simplified
from kvlint.programs.statements import Statements
from kvlint.protocol.bodies import nodes_within
from kvlint.protocol.facts import local_assignments, parameters
from kvlint.protocol.model import Protocol, ThreadRoot


class Lowering(Statements):
    """One program under construction."""

    def program(self, ref: FuncRef, args: dict[str, Value], kind: str) -> Program:
        """The program of a function called from outside with these arguments."""
        assert not isinstance(ref.node, ast.Lambda)
        self.counter += 1
        ctx = Context(
            ident=self.counter,
            module=ref.module,
            cls=ref.owner,
            self_ref=ref.self_ref,  # type: ignore[arg-type]
            function=ref.name,
            parent=ref.closure,
            nodes=(ref.node,),
        )
        names = parameters(ref.node)
        if names and names[0] in ("self", "cls") and ref.self_ref is not None:
            ctx.names[names[0]] = ref.self_ref  # type: ignore[assignment]
            names = names[1:]
        for name in names:
            value = args.get(name, ANY)
            if isinstance(value, (Const, Var)) and local_assignments(ref.node, name):
                self.bind(name, value, ctx, ref.node)
            else:
                ctx.names[name] = value
        region = InCall(Label(), "result")
        self.unwind.append(region)
        try:
            self.lower_block(ref.node.body, ctx)
        except TooLarge:
            self.cut.append(f"{ref.name}: the program grew too large; its rest was not analysed")
        self.unwind.pop()
        self.place(region.done)
        end = self.emit_end(ctx, ref.node)
        end.next = -1
        self.finish()
        program = Program(ref.name, ref.name, self.code, kind, self.cut, self.ambiguous)
        return simplified(program, self.protocol.project.programs)

    def emit_end(self, ctx: Context, node: ast.AST) -> Instr:
        """The last instruction; it may exceed the size bound so that every label has a place."""
        instr = Instr(Op.END, ctx.where(node), ctx.stack, args=(Var("result"),))
        self.code.append(instr)
        return instr


def lower_root(protocol: Protocol, root: ThreadRoot) -> Program | None:
    """The program of a thread; None if its target cannot be resolved."""
    build = Lowering(protocol)
    ctx = closure_of(build, protocol, root)
    target = build.value(root.target, ctx)
    build.code.clear()
    build.patches.clear()
    build.choice_patches.clear()
    if not isinstance(target, FuncRef) or isinstance(target.node, ast.Lambda):
        return None
    names = [n for n in parameters(target.node) if n != "self" or target.self_ref is None]
    args = dict(zip(names, (build.value(a, ctx) for a in root.args), strict=False))
    build.code.clear()
    args = {k: v for k, v in args.items() if not isinstance(v, Var)}
    program = build.program(target, args, "thread")
    program.name = root.name
    return program


def closure_of(build: Lowering, protocol: Protocol, root: ThreadRoot) -> Context:
    """A context with the names that the code around a thread's start has bound."""
    ctx: Context | None = None
    scope = root.scope
    for function in scope.chain:
        build.counter += 1
        ctx = Context(
            ident=build.counter,
            module=scope.cls.module,
            cls=scope.cls,
            self_ref=ObjRef(protocol.manager),
            function=function.name,
            parent=ctx,
            nodes=(),
        )
        if parameters(function)[:1] == ["self"]:
            ctx.names["self"] = ObjRef(
                protocol.manager if scope.cls in protocol.family else scope.cls
            )
        _bind_closure(build, function, ctx)
    assert ctx is not None
    return ctx


def _nested(function: FunctionNode) -> list[FunctionNode]:
    """The functions in a function, outer ones first where two share a name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in nodes_within(function) if isinstance(n, kinds)]
    if len({n.name for n in found}) < len(found):
        found = [n for n in ast.walk(function) if isinstance(n, kinds) and n is not function]
    return found


def _bind_closure(build: Lowering, function: FunctionNode, ctx: Context) -> None:
    for nested in _nested(function):
        name = f"{ctx.function}.{nested.name}"
        ctx.names.setdefault(nested.name, FuncRef(nested, ctx.module, ctx.cls, None, ctx, name))
    for statement in function.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                value = build.value(statement.value, ctx)
                if not isinstance(value, (Var, Const)):
                    ctx.names[target.id] = value
        elif isinstance(statement, ast.For):
            value = build.value(statement.iter, ctx)
            if not isinstance(value, (Var, Const)):
                build.assign(statement.target, value, ctx, statement)


def lower_method(
    protocol: Protocol, cls: ClassInfo, name: str, args: dict[str, Value] | None = None
) -> Program | None:
    """The program of a method called from outside on an object of `cls`; not to be changed."""
    key = (cls, name, tuple(args.items()) if args else ())
    if key not in protocol.programs:
        protocol.programs[key] = _lower_method(protocol, cls, name, args or {})
    return protocol.programs[key]


def _lower_method(
    protocol: Protocol, cls: ClassInfo, name: str, args: dict[str, Value]
) -> Program | None:
    found = cls.find(name)
    if found is None:
        return None
    owner, function = found
    ref = FuncRef(function, owner.module, owner, ObjRef(cls), None, name)
    return Lowering(protocol).program(ref, args, "entry")
