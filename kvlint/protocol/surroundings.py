"""What stands around a status table: holders, side tables, queues, locks, threads, messages."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from kvlint.config import ProtocolOverrides
from kvlint.discover.project import ClassInfo, ConstantRef, FunctionNode
from kvlint.protocol.bodies import body_of, walk
from kvlint.protocol.facts import (
    ClassFacts,
    Scope,
    Spawn,
    is_thread_class,
    parameters,
    terminal_name,
)
from kvlint.protocol.holders import attributes_of, find_holders, find_objects
from kvlint.protocol.model import NUMBER, Frame, Protocol, ThreadRoot
from kvlint.protocol.roles import Reach, Role
from kvlint.protocol.values import Values

TABLE_METHODS = frozenset({"get", "pop", "setdefault", "discard", "remove", "add"})
SENDERS = frozenset({"send_multipart", "send_pyobj", "send"})


def fill(
    protocol: Protocol, values: Values, overrides: ProtocolOverrides, role: Role | None
) -> None:
    """Complete `protocol` in place for one role."""
    facts = protocol.facts
    reached = protocol.reaches.of(role)
    protocol.role = role
    protocol.components = _components(protocol, values)
    protocol.holders = find_holders(protocol, role)
    classes = protocol.classes
    own = [facts[c] for c in classes if c in facts]
    protocol.containers = frozenset(n for f in facts.values() for n in f.containers)
    protocol.own_containers = frozenset(
        n
        for c in (*protocol.family, *protocol.components)
        for n in (facts[c].containers if c in facts else ())
    )
    protocol.locks = frozenset(n for f in own for n in f.locks)
    protocol.queues = frozenset(overrides.queues) or frozenset(n for f in own for n in f.queues)
    protocol.updaters = tuple(overrides.updaters) or _updaters(protocol, own)
    protocol.readers = frozenset(overrides.readers)
    protocol.entry_points = frozenset(overrides.entry_points)
    keys = _room_names(protocol, own)
    protocol.side_tables = frozenset(overrides.side_tables) or _side_tables(protocol, own, keys)
    protocol.default_tables = frozenset(
        n for f in facts.values() for n, kind in f.containers.items() if kind == "defaultdict"
    )
    protocol.nullable = frozenset(n for f in facts.values() for n in f.nulled)
    protocol.fields = _fields(protocol)
    protocol.objects = find_objects(protocol)
    strangers = _called_by_others_only(protocol, role)
    protocol.roots = tuple(_roots(protocol, own, reached, role, strangers))
    protocol.frames = tuple(_frames(protocol, values))


def _components(protocol: Protocol, values: Values) -> tuple[ClassInfo, ...]:
    """Classes that the manager makes or is handed and whose tables or methods it uses."""
    found: dict[ClassInfo, None] = dict.fromkeys(protocol.components)
    for cls in protocol.family:
        for assigned in protocol.facts[cls].attributes.values() if cls in protocol.facts else ():
            for value, scope in assigned:
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                    made = values.class_of(scope.cls.module, value.func.id)
                    if made is not None and made not in protocol.family:
                        found.setdefault(made)
    return tuple(found)


def _updaters(protocol: Protocol, own: list[ClassFacts]) -> tuple[str, ...]:
    """Methods that store a status they were handed, in the order they are found."""
    names: dict[str, None] = {}
    for fact in own:
        for store in fact.stores:
            if store.table == protocol.status_table and _from_parameter(store.value, store.scope):
                names.setdefault(store.scope.function.name)
    return tuple(names)


def _from_parameter(value: ast.expr, scope: Scope) -> bool:
    params = set(parameters(scope.function)[1:])
    return any(name in params for name in _value_names(value))


def _value_names(value: ast.expr) -> Iterator[str]:
    """Names that can be the value of an expression, not only decide it."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.IfExp):
        yield from _value_names(value.body)
        yield from _value_names(value.orelse)
    elif isinstance(value, (ast.Tuple, ast.BoolOp)):
        for part in value.elts if isinstance(value, ast.Tuple) else value.values:
            yield from _value_names(part)
    elif isinstance(value, ast.Call) and terminal_name(value.func) in ("max", "min"):
        for part in value.args:
            yield from _value_names(part)


def _room_names(protocol: Protocol, own: list[ClassFacts]) -> set[str]:
    """How this code names a room: the last identifier of every key of the status table."""
    names: Counter[str] = Counter()
    for fact in own:
        for table, key in _keyed(fact):
            if table == protocol.status_table:
                name = terminal_name(key)
                if name is not None:
                    names[name] += 1
        for called, call, _ in fact.calls:
            if called in protocol.updaters and call.args:
                name = terminal_name(call.args[0])
                if name is not None:
                    names[name] += 1
    return set(names)


def _keyed(fact: ClassFacts) -> Iterator[tuple[str, ast.expr]]:
    """(container, key) of every keyed access in a class."""
    for store in fact.stores:
        yield store.table, store.key
    for node, _ in fact.subscripts:
        table = terminal_name(node.value) if isinstance(node.value, ast.Attribute) else None
        if table is not None:
            yield table, node.slice
    for name, call, _ in fact.calls:
        if name in TABLE_METHODS and call.args and isinstance(call.func, ast.Attribute):
            table = terminal_name(call.func.value)
            if table is not None:
                yield table, call.args[0]
    for compare, _ in fact.compares:
        if isinstance(compare.ops[0], (ast.In, ast.NotIn)):
            table = terminal_name(compare.comparators[0])
            if table is not None:
                yield table, compare.left


def _side_tables(protocol: Protocol, own: list[ClassFacts], room_names: set[str]) -> frozenset[str]:
    found: set[str] = set()
    for fact in own:
        for table, key in _keyed(fact):
            if table in protocol.containers and table != protocol.status_table:
                if isinstance(key, ast.Tuple) and key.elts:
                    key = key.elts[0]
                if terminal_name(key) in room_names:
                    found.add(table)
    return frozenset(found)


def _fields(protocol: Protocol) -> frozenset[str]:
    """Per-request fields of the holders that take part in decisions: flags and latches."""
    found: set[str] = set()
    for holder in protocol.holders:
        for cls in holder.mro:
            if cls not in protocol.facts:
                continue
            for name, assigned in protocol.facts[cls].attributes.items():
                if any(_is_latch(protocol, value, scope) for value, scope in assigned):
                    found.add(name)
    return frozenset(found)


def _is_latch(protocol: Protocol, value: ast.expr, scope: Scope) -> bool:
    if isinstance(value, ast.Constant):
        return value.value is None or isinstance(value.value, bool)
    return any(c.owner is not None for c in protocol.values.constants(value, scope))


def _roots(
    protocol: Protocol,
    own: list[ClassFacts],
    reached: Reach,
    role: Role | None,
    strangers: set[str],
) -> Iterator[ThreadRoot]:
    manager = protocol.manager
    for cls in (manager, *protocol.components):
        run = cls.find("run") if is_thread_class(cls) else None
        if run is not None:
            name = ast.Attribute(ast.Name("self", ast.Load()), "run", ast.Load())
            yield ThreadRoot("run", Scope(cls, (run[1],)), name, (), run[1])
    other = _started_elsewhere(protocol, role)
    for fact in own:
        if fact.cls not in protocol.family and fact.cls not in protocol.components:
            continue
        for spawn in fact.spawns:
            overridden = manager.find(spawn.scope.chain[0].name)
            if spawn.call in reached.spawns:
                yield _root(spawn)
                continue
            if spawn.scope.chain[0].name in strangers or _leans_on_others(protocol, spawn, reached):
                continue
            if fact.cls in protocol.family and (
                overridden is None or overridden[1] is not spawn.scope.chain[0]
            ):
                continue
            if spawn.call not in other and not _never_called(protocol, spawn):
                yield _root(spawn)


def _leans_on_others(protocol: Protocol, spawn: Spawn, reached: Reach) -> bool:
    """Whether the starter needs attributes that only another role's constructor makes."""
    starter = spawn.scope.chain[0]
    functions = [starter]
    for name in called_names(starter):
        found = protocol.manager.find(name)
        if found is not None:
            functions.append(found[1])
    foreign = attributes_of(protocol, [r for r in protocol.roles if r != protocol.role])
    foreign -= reached.attributes
    return bool(foreign) and any(foreign & _mentioned(function)[1] for function in functions)


def called_names(function: FunctionNode) -> frozenset[str]:
    """The last names of everything that a function calls."""
    return _mentioned(function)[0]


def _mentioned(function: FunctionNode) -> tuple[frozenset[str], frozenset[str]]:
    """The last names of everything that a function calls, and the names of all attributes."""
    body = body_of(function)
    if body.mentioned is None:
        called: set[str] = set()
        attributes: set[str] = set()
        for node in walk((function,)):
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
            elif isinstance(node, ast.Call):
                called.add(terminal_name(node.func) or "")
        body.mentioned = frozenset(called), frozenset(attributes)
    return body.mentioned


def _called_by_others_only(protocol: Protocol, role: Role | None) -> set[str]:
    """Methods that holders of other roles call and this role's do not."""
    if role is None:
        return set()
    others = [find_holders(protocol, r) for r in protocol.roles if r != role]
    theirs = {name for holders in others for name in _calls_of(protocol, holders)}
    return theirs - _calls_of(protocol, protocol.holders)


def _calls_of(protocol: Protocol, holders: tuple[ClassInfo, ...]) -> set[str]:
    return {
        name
        for holder in holders
        for cls in holder.mro
        if cls in protocol.facts
        for name, _, _ in protocol.facts[cls].calls
    }


def _never_called(protocol: Protocol, spawn: Spawn) -> bool:
    """A private starter of a class with known roles that no constructor of it ever calls."""
    return bool(protocol.roles) and spawn.scope.chain[0].name.startswith("_")


def _started_elsewhere(protocol: Protocol, role: Role | None) -> set[ast.Call]:
    """Spawns that only the other roles' constructors reach."""
    calls: set[ast.Call] = set()
    for other in protocol.roles:
        if other != role:
            calls |= protocol.reaches.of(other).spawns
    return calls


def _root(spawn: Spawn) -> ThreadRoot:
    name = terminal_name(spawn.target) or "lambda"
    return ThreadRoot(name, spawn.scope, spawn.target, spawn.args, spawn.call)


def _frames(protocol: Protocol, values: Values) -> Iterator[Frame]:
    """Messages that are sent, or built to be sent, in the modules of the protocol."""
    modules = {cls.module for cls in protocol.classes}
    for cls, fact in protocol.facts.items():
        if cls.module not in modules:
            continue
        sent: set[ast.expr] = set()
        for name, call, scope in fact.calls:
            if name in SENDERS and call.args:
                parts = call.args[0]
                sent.add(parts)
                if isinstance(parts, (ast.List, ast.Tuple)) and parts.elts:
                    yield Frame(_parts(parts, scope, values), call, scope)
        for scope in fact.scopes:
            for built in _built(scope):
                if built not in sent:
                    frame = Frame(_parts(built, scope, values), built, scope, open=True)
                    if isinstance(frame.parts[0], bytes) or frame.parts[0] == NUMBER:
                        yield frame


def _parts(node: ast.List | ast.Tuple, scope: Scope, values: Values) -> tuple[object, ...]:
    return tuple(_part(p, scope, values) for p in node.elts)


def _built(scope: Scope) -> list[ast.List]:
    """List displays that are returned or kept in a local: messages before they are sent."""
    body = body_of(scope.function)
    if body.lists is None:
        text = scope.cls.module.text_of(scope.function)
        encodes = ".encode(" in text or 'b"' in text
        body.lists = list(_lists(scope.function)) if encodes else []
    return body.lists


def _lists(function: FunctionNode) -> Iterator[ast.List]:
    for node in ast.walk(function):
        if node.__class__ is ast.Return or node.__class__ is ast.Assign:
            value = getattr(node, "value", None)
            if isinstance(value, ast.List) and len(value.elts) >= 2:
                yield value


def _part(node: ast.expr, scope: Scope, values: Values) -> object:
    """The literal value of one message part, looked up through constants and `.encode()`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bytes, str)):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "encode":
            inner = _part(node.func.value, scope, values)
            return inner.encode() if isinstance(inner, str) and inner != NUMBER else inner
        return None
    if isinstance(node, ast.Call) and terminal_name(node.func) == "str":
        return NUMBER
    return constant_value(node, scope, values)


def constant_value(node: ast.expr, scope: Scope, values: Values) -> object:
    """A module or class constant of bytes or string type that `node` names."""
    if isinstance(node, ast.Name):
        target = values.resolve(scope.cls.module, node.id)
        return _constant_of(target.node) if isinstance(target, ConstantRef) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owners: tuple[ClassInfo, ...] = ()
        if node.value.id in ("self", "cls"):
            owners = scope.cls.mro
        else:
            target = values.resolve(scope.cls.module, node.value.id)
            owners = target.mro if isinstance(target, ClassInfo) else ()
        for owner in owners:
            if node.attr in owner.attributes:
                return _constant_of(owner.attributes[node.attr])
    return None


def _constant_of(node: object) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bytes, str)):
        return node.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "encode"
    ):
        inner = _constant_of(node.func.value)
        return inner.encode() if isinstance(inner, str) else None
    return None
