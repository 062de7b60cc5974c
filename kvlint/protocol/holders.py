"""Who holds the manager: the objects of a request, and threads that are classes of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kvlint.discover.project import ClassInfo
from kvlint.protocol.bodies import body_of
from kvlint.protocol.facts import (
    Scope,
    is_thread_class,
    local_assignments,
    parameters,
    terminal_name,
)
from kvlint.protocol.model import Protocol
from kvlint.protocol.roles import Role


def find_holders(protocol: Protocol, role: Role | None) -> tuple[ClassInfo, ...]:
    """Classes whose objects keep the manager in an attribute and drive rooms through it."""
    candidates = [
        c
        for c, fact in protocol.facts.items()
        if not set(c.mro) & set(protocol.family)
        and c not in protocol.components
        and c.module.linted
        and any(_uses_manager(protocol, k) for k in c.mro)
    ]
    for cls in protocol.family:
        near = [c for c in candidates if c.module is cls.module]
        leaves = [c for c in near if not any(c in o.mro and o is not c for o in near)]
        if leaves:
            candidates = leaves
            break
    if role is not None:
        candidates = [c for c in candidates if _plays(protocol, c, role)]
    return tuple(candidates)


def _uses_manager(protocol: Protocol, cls: ClassInfo) -> bool:
    fact = protocol.facts.get(cls)
    if fact is None or not ({protocol.status_table} | _writers(protocol)) & fact.mentions:
        return False
    for assigned in fact.attributes.values():
        for value, scope in assigned:
            if (
                isinstance(value, ast.Name)
                and scope.function.name == "__init__"
                and _is_handed(protocol, value, scope)
            ):
                return True
    return False


def _is_handed(protocol: Protocol, value: ast.Name, scope: Scope) -> bool:
    """Whether a constructor's parameter holds the manager: by its annotation, or by its use."""
    if value.id not in parameters(scope.function):
        return False
    for arg in (*scope.function.args.args, *scope.function.args.kwonlyargs):
        if arg.arg == value.id and arg.annotation is not None:
            annotated = terminal_name(arg.annotation)
            return any(annotated == c.name for c in protocol.family)
    kept = {
        name
        for name, assigned in protocol.facts[scope.cls].attributes.items()
        if any(isinstance(v, ast.Name) and v.id == value.id for v, _ in assigned)
    }
    members = {name for c in protocol.family for name in c.methods} | {protocol.status_table}
    return any(
        node.attr in members and _stands_for(node.value, user, kept, scope, value.id)
        for user in protocol.facts[scope.cls].scopes
        for node in body_of(user.function).nodes
        if isinstance(node, ast.Attribute)
    )


def _stands_for(
    node: ast.expr, user: Scope, kept: set[str], constructor: Scope, parameter: str
) -> bool:
    """Whether an expression is what a constructor was handed, whatever a local calls it."""
    if not isinstance(node, ast.Name):
        return _is_own(node, kept)
    return any(
        any(_is_own(value, kept) for value in local_assignments(function, node.id))
        or (function is constructor.function and node.id == parameter)
        for function in user.chain
    )


def _is_own(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is `self.name` for one of these names."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _writers(protocol: Protocol) -> set[str]:
    return {
        store.scope.function.name
        for cls in protocol.family
        if cls in protocol.facts
        for store in protocol.facts[cls].stores
        if store.table == protocol.status_table
    } - {"__init__"}


def _plays(protocol: Protocol, cls: ClassInfo, role: Role) -> bool:
    """Whether the class belongs to this role: by the attributes only one role's object has."""
    others = [r for r in protocol.roles if r != role]
    here = protocol.reaches.of(role).attributes
    mentions: set[str] = set()
    for c in cls.mro:
        if c in protocol.facts:
            mentions |= protocol.facts[c].mentions
    score = len(mentions & (here - attributes_of(protocol, others)))
    for other in others:
        there = protocol.reaches.of(other).attributes
        if len(mentions & (there - here)) > score:
            return False
    return True


def attributes_of(protocol: Protocol, roles: Iterable[Role]) -> set[str]:
    made: set[str] = set()
    for role in roles:
        made |= protocol.reaches.of(role).attributes
    return made


def find_objects(protocol: Protocol) -> dict[str, ClassInfo]:
    """Attributes that hold the manager, a component or a holder, by name."""
    found: dict[str, ClassInfo] = {}
    for holder in (*protocol.holders, *filter(is_thread_class, protocol.components)):
        for cls in holder.mro:
            for name, assigned in (
                protocol.facts[cls].attributes.items() if (cls in protocol.facts) else ()
            ):
                for value, scope in assigned:
                    if (
                        isinstance(value, ast.Name)
                        and scope.function.name == "__init__"
                        and _is_handed(protocol, value, scope)
                    ):
                        found.setdefault(name, protocol.manager)
    for cls in protocol.family:
        for name in protocol.facts[cls].attributes if cls in protocol.facts else ():
            made = protocol.attribute_class(cls, name)
            if made is not None and made in protocol.components:
                found.setdefault(name, made)
    return found
