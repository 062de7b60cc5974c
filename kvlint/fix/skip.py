"""Fix B: a worker that drops a chunk ends the room, unless that is over or gone.

Put right before the jump that drops the chunk (or before the assertion that does), so a chunk that
is dropped for another reason meets the same question: is the room still live? A chunk that goes
back into a queue is not touched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.findings import Finding
from kvlint.fix.failing import Ending
from kvlint.fix.places import in_body, is_simple, own
from kvlint.fix.spelling import deeper
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import Place, Refused, Scene, Unit
from kvlint.protocol.facts import call_name

LETTER = "B"
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
    statement = (
        next((n for n in file.nodes(finding.span) if isinstance(n, (*JUMPS, ast.Assert))), None)
        if file is not None
        else None
    )
    if file is None or statement is None:
        raise Unfixable("the chunk is dropped by no statement of its own")
    place = scene.place(file, statement, finding.searched)
    if place is None:
        raise Unfixable("no backend's code")
    return Unit(
        LETTER,
        finding.span.path,
        statement.lineno,
        place.name,
        "a dropped chunk ends its room",
        {finding.span.path: [_patch(place, statement)]},
        (finding,),
        _ordinal(place, statement),
    )


def _ordinal(place: Place, statement: ast.stmt) -> str:
    """Which jump of its function a statement is: tells two skips of one worker apart."""
    same = [n for n in in_body(place.function) if type(n) is type(statement)]
    return str(same.index(statement))


def _patch(place: Place, statement: ast.stmt) -> Patch:
    if _requeues(place, statement):
        raise Unfixable("the chunk goes back into a queue here")
    layout = place.file.layout
    slot = layout.slot(statement)
    indent = slot.indent if slot.suite is None else layout.indent_of(slot.line) + layout.unit
    ending = Ending(place, statement)
    if isinstance(statement, ast.Assert):
        inner = [COMMENT, *ending.lines(indent + layout.unit)]
        head = f"if {_negated(statement.test)}:"
        return layout.before(statement, [head, *deeper(inner, layout.unit)])
    return layout.before(statement, [COMMENT, *ending.lines(indent)], whole_line=True)


def _requeues(place: Place, statement: ast.stmt) -> bool:
    block = place.file.parents.block(statement)
    before = block[: block.index(statement)]
    return any(isinstance(n, ast.Call) and call_name(n) in REQUEUES for s in before for n in own(s))


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
