"""One pass over a class: which containers, locks, queues and threads its methods create and use.

Purely syntactic. What the facts mean is decided in `detect`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.protocol.bodies import body_of

DICT_MAKERS = frozenset({"dict", "defaultdict", "OrderedDict", "WeakValueDictionary", "TTLCache"})
SET_MAKERS = frozenset({"set"})
LOCK_MAKERS = frozenset({"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"})
SPAWNERS = frozenset({"submit", "ensure_future", "create_task", "run_coroutine_threadsafe"})


@dataclass(frozen=True)
class Scope:
    """A function and the functions around it, innermost last."""

    cls: ClassInfo
    chain: tuple[FunctionNode, ...]

    @property
    def function(self) -> FunctionNode:
        """The innermost function."""
        return self.chain[-1]

    @property
    def qualname(self) -> str:
        """`method.nested`, without the class."""
        return ".".join(f.name for f in self.chain)


@dataclass(frozen=True)
class Store:
    """`<...>.table[key] = value`, or the same through `setdefault`."""

    table: str
    key: ast.expr
    value: ast.expr
    scope: Scope


@dataclass(frozen=True)
class Spawn:
    """A place that starts concurrent work: the callable and the arguments it gets."""

    call: ast.Call
    target: ast.expr
    args: tuple[ast.expr, ...]
    scope: Scope


@dataclass(eq=False)
class ClassFacts:
    """What the methods of one class do, by attribute name."""

    cls: ClassInfo
    containers: dict[str, str] = field(default_factory=dict)
    locks: set[str] = field(default_factory=set)
    queues: set[str] = field(default_factory=set)
    stores: list[Store] = field(default_factory=list)
    subscripts: list[tuple[ast.Subscript, Scope]] = field(default_factory=list)
    compares: list[tuple[ast.Compare, Scope]] = field(default_factory=list)
    calls: list[tuple[str, ast.Call, Scope]] = field(default_factory=list)
    spawns: list[Spawn] = field(default_factory=list)
    attributes: dict[str, list[tuple[ast.expr, Scope]]] = field(default_factory=dict)
    mentions: set[str] = field(default_factory=set)
    nulled: set[str] = field(default_factory=set)
    scopes: list[Scope] = field(default_factory=list)


def class_facts(cls: ClassInfo) -> ClassFacts:
    """Scan every method of `cls` (not of its bases) once."""
    facts = ClassFacts(cls)
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            _dataclass_field(facts, statement.target.id, statement.value)
    for method in cls.methods.values():
        _scan_function(facts, Scope(cls, (method,)))
    return facts


def _dataclass_field(facts: ClassFacts, name: str, value: ast.expr | None) -> None:
    if isinstance(value, ast.Call) and call_name(value) == "field":
        for keyword in value.keywords:
            if keyword.arg == "default_factory":
                made = terminal_name(keyword.value)
                if made in DICT_MAKERS:
                    facts.containers[name] = "dict"
                elif made in SET_MAKERS:
                    facts.containers[name] = "set"


def _scan_function(facts: ClassFacts, scope: Scope) -> None:
    facts.scopes.append(scope)
    mentions, subscripts, compares = facts.mentions, facts.subscripts, facts.compares
    for node in body_of(scope.function).nodes:
        kind = node.__class__
        if kind is ast.Attribute:
            mentions.add(node.attr)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call):
            _note_call(facts, node, scope)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _note_assign(facts, target, node.value, scope)
        elif isinstance(node, ast.Subscript):
            subscripts.append((node, scope))
        elif isinstance(node, ast.Compare):
            compares.append((node, scope))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _note_assign(facts, node.target, node.value, scope)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _scan_function(facts, Scope(scope.cls, (*scope.chain, node)))


def _note_call(facts: ClassFacts, node: ast.Call, scope: Scope) -> None:
    name = call_name(node)
    if name is None:
        return
    facts.calls.append((name, node, scope))
    if name == "setdefault" and len(node.args) == 2 and isinstance(node.func, ast.Attribute):
        table = terminal_name(node.func.value)
        if table is not None:
            facts.stores.append(Store(table, node.args[0], node.args[1], scope))
    spawn = spawn_of(node, name)
    if spawn is not None:
        target, args = spawn
        facts.spawns.append(Spawn(node, target, args, scope))


def spawn_of(node: ast.Call, name: str) -> tuple[ast.expr, tuple[ast.expr, ...]] | None:
    """The callable and arguments of `Thread(target=...)`, `submit(f, ...)`, `create_task(f())`."""
    if name in ("Thread", "Process"):
        target = keyword_value(node, "target")
        args = keyword_value(node, "args")
        given = tuple(args.elts) if isinstance(args, (ast.Tuple, ast.List)) else ()
        return (target, given) if target is not None else None
    if name == "Timer" and len(node.args) >= 2:
        return node.args[1], ()
    if name in SPAWNERS and node.args:
        first = node.args[0]
        if isinstance(first, ast.Call):
            return first.func, tuple(first.args)
        return (first, tuple(node.args[1:])) if name == "submit" else None
    return None


def _note_assign(facts: ClassFacts, target: ast.expr, value: ast.expr, scope: Scope) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        return
    if isinstance(target, ast.Subscript):
        table = terminal_name(target.value)
        if table is not None:
            facts.stores.append(Store(table, target.slice, value, scope))
        return
    if not isinstance(target, ast.Attribute):
        return
    own = isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
    if is_none(value) and not own:
        facts.nulled.add(target.attr)
    if own:
        facts.attributes.setdefault(target.attr, []).append((value, scope))
        kind = container_kind(value)
        if kind is not None:
            facts.containers.setdefault(target.attr, kind)
        made = _made(value)
        if made in LOCK_MAKERS:
            facts.locks.add(target.attr)
        elif made is not None and made.endswith("Queue"):
            facts.queues.add(target.attr)


def container_kind(value: ast.expr) -> str | None:
    """`dict`, `defaultdict` or `set` if the expression makes an empty one."""
    if isinstance(value, ast.Dict):
        return "dict"
    if isinstance(value, ast.Call):
        name = call_name(value)
        if name in DICT_MAKERS:
            return "defaultdict" if name == "defaultdict" else "dict"
        if name in SET_MAKERS:
            return "set"
    return None


def _made(value: ast.expr) -> str | None:
    """The constructor behind `X()`, `[X() for ...]` and `{...: X()}`."""
    if isinstance(value, ast.Call):
        return call_name(value)
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return _made(value.elt)
    if isinstance(value, ast.List) and value.elts:
        return _made(value.elts[0])
    if isinstance(value, ast.IfExp):
        return _made(value.body)
    return None


def call_name(node: ast.Call) -> str | None:
    """The last part of the called name: `put` for `self.queues[i].put(x)`."""
    return terminal_name(node.func)


def terminal_name(node: ast.AST) -> str | None:
    """The last identifier of a dotted or subscripted expression."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def keyword_value(node: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((k.value for k in node.keywords if k.arg == name), None)


def is_none(node: ast.expr) -> bool:
    """Whether the expression is the literal `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def parameters(function: FunctionNode) -> list[str]:
    """All parameter names in call order, `self` included."""
    a = function.args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def local_assignments(function: FunctionNode, name: str) -> list[ast.expr]:
    """Every expression that is assigned to the local `name` (nested functions left out)."""
    return body_of(function).assigned(name)


def is_thread_class(cls: ClassInfo) -> bool:
    """Whether the class itself is a thread with a `run` of its own."""
    named = any(base.split(".")[-1] == "Thread" for c in cls.mro for base in c.bases)
    return named and any("run" in c.methods for c in cls.mro)
