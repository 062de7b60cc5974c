"""Fix C: a handler leaves a room's side entry to the code that ends or clears the room.

Only where such code is there: an entry that nothing else removes would stay for ever. A handler
that does nothing for the room but remove its entry fails the room instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.findings import Finding
from kvlint.fix.failing import Ending
from kvlint.fix.places import blocks, in_body, is_simple, store_targets
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import Place, Refused, Scene, Unit
from kvlint.protocol.facts import call_name, terminal_name

LETTER = "C"
REMOVERS = frozenset({"pop", "discard", "remove", "clear"})


def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
    """One unit per removal."""
    for finding in findings:
        try:
            yield _made(scene, finding)
        except Unfixable as reason:
            yield Refused(LETTER, (finding,), str(reason))


def _made(scene: Scene, finding: Finding) -> Unit:
    file = scene.file(finding.span.path)
    for node in file.nodes(finding.span) if file is not None else ():
        place = scene.place(file, node, finding.searched) if file is not None else None
        statement = file.parents.statement(node) if file is not None else None
        if place is None or file is None or statement is None:
            continue
        table = _removed(statement)
        if table is None:
            continue
        if not _removed_elsewhere(place, statement, table):
            raise Unfixable(f"nothing else removes a room from `{table}`: the entry would stay")
        return Unit(
            LETTER,
            finding.span.path,
            statement.lineno,
            place.name,
            f"`{table}` keeps the entry until the room is over or cleared",
            {finding.span.path: [_patch(place, statement)]},
            (finding,),
            table,
        )
    raise Unfixable("the entry is removed by no statement of its own")


def _patch(place: Place, statement: ast.stmt) -> Patch:
    """Without the removal; a handler that does nothing else for the room fails it instead."""
    layout = place.file.layout
    if _fails_a_room(place):
        return layout.without(statement, len(place.file.parents.block(statement)) == 1)
    indent = layout.slot(statement).indent
    lines = list(Ending(place, statement, ast.unparse(_key(statement))).lines(indent))
    return layout.replaced(statement, lines)


def _fails_a_room(place: Place) -> bool:
    """Whether the function names a failure at all, itself or in a method it calls by name."""
    failures = place.protocol.domain.failures
    called = {call_name(n) for n in in_body(place.function) if isinstance(n, ast.Call)}
    functions = [place.function]
    functions += [f for c in place.protocol.classes for n, f in c.methods.items() if n in called]
    return any(
        isinstance(node, (ast.Attribute, ast.Name)) and terminal_name(node) in failures
        for function in functions
        for node in in_body(function)
    )


def _key(statement: ast.stmt) -> ast.expr:
    """The key of the entry that a statement removes."""
    if isinstance(statement, ast.Delete) and isinstance(statement.targets[0], ast.Subscript):
        return statement.targets[0].slice
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        key = next(iter(statement.value.args), None)
        if key is not None and is_simple(key):
            return key
    raise Unfixable("the removal names no room")


def _removed(statement: ast.stmt) -> str | None:
    """The table that a statement does nothing but remove an entry from."""
    if isinstance(statement, ast.Delete) and len(statement.targets) == 1:
        target = statement.targets[0]
        return terminal_name(target.value) if isinstance(target, ast.Subscript) else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in REMOVERS:
            return terminal_name(function.value)
    return None


def _removed_elsewhere(place: Place, statement: ast.stmt, table: str) -> bool:
    """Whether another function of the protocol removes rooms from the table, too."""
    for cls in place.protocol.classes:
        for function in cls.methods.values():
            if function is place.functions[0]:
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not statement and _takes(node, table):
                    return True
    return _takes_besides(place, statement, table)


def _takes_besides(place: Place, statement: ast.stmt, table: str) -> bool:
    """Whether another thread that is written down in the same method does."""
    return any(
        isinstance(node, ast.stmt) and _takes(node, table)
        for function in ast.walk(place.functions[0])
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and function is not place.function
        for node in in_body(function)
        if node is not statement
    )


def _takes(statement: ast.stmt, table: str) -> bool:
    """Whether a statement itself (not one in it) removes an entry from the table."""
    if any(blocks(statement)):
        return False
    if isinstance(statement, ast.Delete):
        return any(
            isinstance(t, ast.Subscript) and terminal_name(t.value) == table
            for t in statement.targets
        )
    if isinstance(statement, ast.Assign) and not store_targets(statement, table):
        rebuilt = any(terminal_name(t) == table for t in statement.targets)
        if rebuilt and isinstance(statement.value, (ast.DictComp, ast.SetComp)):
            return True
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in REMOVERS
        and terminal_name(node.func.value) == table
        for node in ast.walk(statement)
    )
