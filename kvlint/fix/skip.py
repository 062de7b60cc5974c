"""Fix B: a worker that drops a chunk ends the room, unless that is over or gone.

Put right before the jump that drops the chunk (or before the assertion that does), so a chunk that
is dropped for another reason meets the same question: is the room still live? A chunk that goes
back into a queue is not touched.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.findings import Finding
from kvlint.fix.places import in_body, is_simple, names_in, own
from kvlint.fix.spelling import Words, call, condition, deeper
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import Place, Refused, Scene, Unit
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import Scope, call_name, parameters, terminal_name
from kvlint.tables import status_parameter, transitions_of

LETTER = "B"
RECORDS = re.compile(r"record.*fail|fail.*record", re.I)
REQUEUES = frozenset({"put", "put_nowait", "append", "appendleft"})
COMMENT = "# Nothing else ends a live room whose chunk is dropped here."
JUMPS = (ast.Continue, ast.Return, ast.Break)
OPPOSITE = {
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip


def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
    """One unit per place that drops a chunk."""
    for finding in findings:
        try:
            yield _made(scene, finding)
        except Unfixable as reason:
            yield Refused(LETTER, (finding,), str(reason))


def _made(scene: Scene, finding: Finding) -> Unit:
    file = scene.file(finding.span.path)
    statement = next(
        (n for n in file.nodes(finding.span) if isinstance(n, (*JUMPS, ast.Assert))), None
    ) if file is not None else None
    if file is None or statement is None:
        raise Unfixable("the chunk is dropped by no statement of its own")
    place = scene.place(file, statement)
    if place is None:
        raise Unfixable("no backend's code")
    patch = _Ending(place, statement).patch()
    return Unit(
        LETTER,
        finding.span.path,
        statement.lineno,
        f"{place.name}:{_ordinal(place, statement)}",
        "a dropped chunk ends its room",
        {finding.span.path: [patch]},
        (finding,),
    )


def _ordinal(place: Place, statement: ast.stmt) -> int:
    """Which jump of its function a statement is: tells two skips of one worker apart."""
    same = [n for n in in_body(place.function) if type(n) is type(statement)]
    same.sort(key=lambda n: n.lineno)  # type: ignore[attr-defined]
    return same.index(statement) + 1


@dataclass(frozen=True)
class Update:
    """A call that fails a room: `<target>(...)` with the room's key in it."""

    target: str
    key: str
    words: tuple[str, ...]
    method: tuple[ClassInfo, FunctionNode] | None


class _Ending:
    """The lines that end the room where one chunk is dropped."""

    def __init__(self, place: Place, statement: ast.stmt) -> None:
        self.place = place
        self.statement = statement
        self.protocol = place.protocol
        parents = place.file.parents
        cls = parents.class_of(place.functions[0])
        self.cls = next((c for c in self.protocol.classes if c.node is cls), None)
        near = [n for n in (*reversed(place.functions), cls) if n is not None]
        self.words = Words(self.protocol, place.file.module, near)
        self.unit = place.file.layout.unit

    def patch(self) -> Patch:
        """Insert the lines."""
        if self._requeues():
            raise Unfixable("the chunk goes back into a queue here")
        layout = self.place.file.layout
        slot = layout.slot(self.statement)
        indent = slot.indent if slot.suite is None else layout.indent_of(slot.line) + self.unit
        if isinstance(self.statement, ast.Assert):
            inner = list(self._lines(indent + self.unit))
            return layout.before(
                self.statement, [f"if {_negated(self.statement.test)}:", *deeper(inner, self.unit)]
            )
        return layout.before(self.statement, list(self._lines(indent)))

    def _requeues(self) -> bool:
        block = self.place.file.parents.block(self.statement)
        before = block[: block.index(self.statement)]
        return any(
            isinstance(n, ast.Call) and call_name(n) in REQUEUES for s in before for n in own(s)
        )

    def _lines(self, indent: str) -> Iterator[str]:
        update = self._update()
        record = self._record(update)
        yield COMMENT
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
        if self.cls is None or isinstance(node, ast.Name) and node.id in parameters(function):
            return None
        found = self.protocol.values.constants(node, Scope(self.cls, (function,)))
        names = {c.name for c in found} & set(self.protocol.domain.failures)
        if len(found) != 1 or len(names) != 1:
            return None
        return self.protocol.domain.member(names.pop())

    def _key(self, key: ast.expr, function: FunctionNode) -> str | None:
        """The room's key as the worker has it at the place that drops the chunk."""
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
                    reason = f'"chunk dropped: no entry in {missed}"'
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
                if isinstance(node, ast.Attribute) and node.attr == name and is_simple(node):
                    if names_in(node) == {"self"}:
                        return ast.unparse(node)
        receiver, dot, _ = update.target.rpartition(".")
        if not dot:
            raise Unfixable(f"`{name}` cannot be reached from here")
        return f"{receiver}.{name}"


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


def _negated(test: ast.expr) -> str:
    """The condition under which an assertion fails."""
    for node in ast.walk(test):
        if isinstance(node, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)):
            raise Unfixable("the assertion calls something, which must not happen twice")
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in OPPOSITE:
        sign = OPPOSITE[type(test.ops[0])]
        return f"{ast.unparse(test.left)} {sign} {ast.unparse(test.comparators[0])}"
    text = ast.unparse(test)
    return f"not {text}" if is_simple(test) else f"not ({text})"
