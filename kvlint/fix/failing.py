"""The lines that end a room: as this backend fails rooms elsewhere, unless it is over or gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.fix.locks import LockUse
from kvlint.fix.places import in_body, is_simple, names_in
from kvlint.fix.spelling import Words, call, condition, deeper
from kvlint.fix.text import Unfixable
from kvlint.fix.unit import Place
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import Scope, call_name, parameters, terminal_name
from kvlint.tables import status_parameter, transitions_of

RECORDS = re.compile(r"record.*fail|fail.*record", re.I)


@dataclass(frozen=True)
class Update:
    """A call that fails a room: `<target>(...)` with the room's key in it."""

    target: str
    key: str
    words: tuple[str, ...]
    method: tuple[ClassInfo, FunctionNode] | None


class Ending:
    """The lines that end the room before or in place of one statement.

    `key` names the room if the statement itself does not leave that open.
    """

    def __init__(self, place: Place, statement: ast.stmt, key: str | None = None) -> None:
        self.place = place
        self.statement = statement
        self.given_key = key
        self.protocol = place.protocol
        parents = place.file.parents
        cls = parents.class_of(place.functions[0])
        self.cls = next((c for c in self.protocol.classes if c.node is cls), None)
        near = [n for n in (*reversed(place.functions), cls) if n is not None]
        self.words = Words(self.protocol, place.file.module, near)
        self.unit = place.file.layout.unit

    def lines(self, indent: str) -> Iterator[str]:
        """The lines at this indentation.

        Raises `Unfixable` where the backend has no call to take as a model, or where a lock that
        is held would be taken again.
        """
        update = self._update()
        record = self._record(update)
        if record is None and self._is_harmless(update):
            yield from call(update.target, update.words, indent)
            return
        failure = self.words.terminal()[0]
        table = self._table(update)
        yield from condition(
            f"{table}.get({update.key}, {failure})", "not in", self.words.terminal(), indent
        )
        inner = indent + self.unit
        if record is not None:
            yield from deeper(call(record[0], record[1], inner), self.unit)
        yield from deeper(call(update.target, update.words, inner), self.unit)

    # -- the call that fails the room --------------------------------------------------------

    def _update(self) -> Update:
        """As the worker fails a room elsewhere, else as another method of its class does."""
        functions = [self.place.function]
        if self.cls is not None:
            for cls in self.cls.mro:
                functions += [f for f in cls.methods.values() if f not in functions]
        for function in functions:
            for node in in_body(function):
                update = self._as_update(node, function) if isinstance(node, ast.Call) else None
                if update is not None:
                    LockUse(self.protocol).check(self.place, self.statement, update.method)
                    return update
        raise Unfixable("no call that fails a room is there to take as a model")

    def _as_update(self, node: ast.Call, function: FunctionNode) -> Update | None:
        if call_name(node) not in self.protocol.updaters or not is_simple(node.func):
            return None
        given = [*node.args, *(k.value for k in node.keywords)]
        if any(isinstance(a, ast.Starred) for a in node.args) or not all(map(is_simple, given)):
            return None
        failing = [a for a in given if self._failure(a, function) is not None]
        keys = [a for a in given if a not in failing]
        if len(failing) != 1 or len(keys) != 1:
            return None
        key = self._key(keys[0], function)
        if key is None or not self._reachable(node.func, function):
            return None
        word = self.words.member(self._failure(failing[0], function))  # type: ignore[arg-type]
        texts = {id(failing[0]): word, id(keys[0]): key}
        return Update(
            ast.unparse(node.func),
            key,
            (
                *(texts[id(a)] for a in node.args),
                *(f"{k.arg}={texts[id(k.value)]}" for k in node.keywords),
            ),
            self._method(call_name(node) or ""),
        )

    def _failure(self, node: ast.expr, function: FunctionNode) -> Member | None:
        if self.cls is None:
            return None
        if isinstance(node, ast.Name) and node.id in parameters(function):
            return None  # what its callers give: not always a failure
        found = self.protocol.values.constants(node, Scope(self.cls, (function,)))
        names = {c.name for c in found} & set(self.protocol.domain.failures)
        if len(found) != 1 or len(names) != 1:
            return None
        return self.protocol.domain.member(names.pop())

    def _key(self, key: ast.expr, function: FunctionNode) -> str | None:
        """The room's key as the function has it at this place."""
        if self.given_key is not None:
            return self.given_key
        if function is self.place.function and self._is_bound(key):
            return ast.unparse(key)
        for node in in_body(self.place.function):
            if isinstance(node, (ast.Compare, ast.Call, ast.Subscript)):
                looked = _looked_up(node, self.protocol.side_tables | {self.protocol.status_table})
                if looked is not None and is_simple(looked) and self._is_bound(looked):
                    return ast.unparse(looked)
        return None

    def _is_bound(self, key: ast.expr) -> bool:
        """Whether every name in a key has its value before the chunk is dropped."""
        function = self.place.function
        given = set(parameters(function))
        early = {
            n.id
            for n in in_body(function)
            if isinstance(n, ast.Name)
            and isinstance(n.ctx, ast.Store)
            and n.lineno < self.statement.lineno
        }
        return names_in(key) <= given | early | {"self"} and bool(names_in(key))

    def _reachable(self, target: ast.expr, function: FunctionNode) -> bool:
        """Whether the object that is called is there under the same name."""
        if function is self.place.function:
            return True
        return names_in(target) == {"self"}

    def _method(self, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        found = self.protocol.method_owner(name)
        return (found[0], found[1]) if found is not None else None

    # -- what goes with it -------------------------------------------------------------------

    def _record(self, update: Update) -> tuple[str, list[str]] | None:
        """The call that notes why a room failed, if the object that is updated can."""
        owner = self.protocol.manager if self.cls not in self.protocol.components else self.cls
        receiver, dot, _ = update.target.rpartition(".")
        for cls in owner.mro if owner is not None and dot else ():
            for name, function in cls.methods.items():
                given = parameters(function)[1:]
                if RECORDS.search(name) and len(given) == 2 and not function.args.kwonlyargs:
                    missed = self._missed()
                    reason = f'"no entry in {missed}"'
                    return f"{receiver}.{name}", [update.key, reason]
        return None

    def _missed(self) -> str:
        """The side table that the guard asks, as far as it is seen; else a word for it."""
        looked = [
            terminal_name(n)
            for n in in_body(self.place.function)
            if isinstance(n, ast.Attribute)
            and n.attr in self.protocol.side_tables
            and n.lineno <= (self.statement.end_lineno or 0)
        ]
        return looked[-1] or "a table" if looked else "its table"

    def _is_harmless(self, update: Update) -> bool:
        """Whether failing a room that is over or gone changes nothing by itself."""
        domain = self.protocol.domain
        if update.method is None:
            return False
        cls, function = update.method
        if not status_parameter(function):
            return False
        for one in (self.protocol.manager, *self.protocol.components):
            if one.is_subclass_of(cls):
                cls = one
        cells = transitions_of(self.protocol, cls, function.name) or {}
        kept = {
            current: results
            for (current, written), results in cells.items()
            if domain.is_failure(written) and (current is None or domain.is_terminal(current))
        }
        return bool(kept) and all(results == {current} for current, results in kept.items())

    def _table(self, update: Update) -> str:
        """The status table as this function can name it."""
        name = self.protocol.status_table
        for function in (self.place.function, *(self.cls.methods.values() if self.cls else ())):
            for node in in_body(function):
                if isinstance(node, ast.Attribute) and node.attr == name and _is_own(node):
                    return ast.unparse(node)
        receiver, dot, _ = update.target.rpartition(".")
        if not dot:
            raise Unfixable(f"`{name}` cannot be reached from here")
        return f"{receiver}.{name}"


def _is_own(node: ast.Attribute) -> bool:
    return is_simple(node) and names_in(node) == {"self"}


def _looked_up(node: ast.AST, tables: frozenset[str]) -> ast.expr | None:
    """The key that a membership test, a `.get()` or a subscript asks a table for."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return node.left if terminal_name(node.comparators[0]) in tables else None
    if isinstance(node, ast.Subscript):
        return node.slice if terminal_name(node.value) in tables else None
    if isinstance(node, ast.Call) and call_name(node) == "get" and node.args:
        held = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return node.args[0] if terminal_name(held) in tables else None
    return None
