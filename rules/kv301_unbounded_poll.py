"""KV301: a poll loop waits for a status that only a peer can bring, with no deadline."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.programs.ir import Instr, Op, Where
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import terminal_name
from kvlint.rulekit import Hit, View
from kvlint.search.evidence import outer_site
from kvlint.search.system import Operation
from kvlint.walking import statements

CLOCK = re.compile(r"^(time|monotonic|perf_counter)$|timeout|deadline|elapsed|overdue|expire", re.I)


def find(view: View) -> Iterator[Hit]:
    """Polls without a deadline, chunks put back without one, and loops that re-queue for ever."""
    yield from _polls(view)
    yield from _retries(view)
    yield from _requeues(view)


# -- polls ---------------------------------------------------------------------------


def _polls(view: View) -> Iterator[Hit]:
    for operation, endless in view.endless:
        where = _test_of_others(view, operation, endless) or _read(view, operation)
        if where is not None:
            yield Hit(
                where,
                "confirmed",
                f"`{endless.name}` has no deadline here: if the peer stays silent, "
                "polling never ends",
                (),
                "pinned",
                cause=("poll", id(where.node)),
            )


def _read(view: View, operation: Operation) -> Where | None:
    for instr in operation.full.code:
        if instr.op is Op.LOAD and instr.name == view.table:
            return outer_site(instr, view.readers)
    return None


def _test_of_others(view: View, operation: Operation, status: Member) -> Where | None:
    """The test that gives other statuses a deadline, if there is one."""
    for instr in operation.full.code:
        if instr.op is Op.BRANCH and instr.cond == "equal":
            named = [getattr(a, "value", None) for a in instr.args]
            members = [m for m in named if isinstance(m, Member)]
            if (
                members
                and members[0] is not status
                and not view.protocol.domain.is_terminal(members[0])
            ):
                return instr.where
    return None


# -- chunks that are put back --------------------------------------------------------


def _retries(view: View) -> Iterator[Hit]:
    for thread in view.consumers:
        for instr in thread.full.code:
            if instr.op is Op.PUT and not _timed(view, instr):
                yield Hit(
                    instr.where,
                    "latent",
                    "the chunk is put back without a deadline; what it waits for may never come",
                    cause=("retry", id(instr.where.node)),
                    cleared="what it waits for is not known, so it may come",
                )


def _timed(view: View, instr: Instr) -> bool:
    """Whether the function around a statement looks at a clock."""
    function = _enclosing(view, instr.where)
    return function is not None and _looks_at_clock(function)


def _enclosing(view: View, where: Where) -> FunctionNode | None:
    found: FunctionNode | None = None
    for node in view.statements(where.module):
        if (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.lineno <= where.line <= (node.end_lineno or node.lineno)
            and (found is None or node.lineno >= found.lineno)
        ):
            found = node
    return found


def _looks_at_clock(function: FunctionNode) -> bool:
    return any(
        isinstance(n, (ast.Name, ast.Attribute)) and CLOCK.search(terminal_name(n) or "")
        for n in ast.walk(function)
    )


# -- loops of a scheduler ------------------------------------------------------------


def _requeues(view: View) -> Iterator[Hit]:
    """`for request, poll in ...:` whose branch for a live status keeps the request."""
    yield from view.once("requeues", lambda: list(_requeuing(view)))


def _requeuing(view: View) -> Iterator[Hit]:
    members = {m.name for m in view.protocol.domain.members}
    for cls, function in _polling_functions(view):
        for node in statements(function):
            if isinstance(node, ast.For):
                yield from _loop(view, cls, function.name, node, members)


def _polling_functions(view: View) -> Iterator[tuple[ClassInfo, FunctionNode]]:
    """Methods of the linted files that compare something with a status and keep lists."""
    name = view.protocol.domain.name
    for module in view.protocol.project.linted():
        if name not in module.source:
            continue
        for cls in module.classes.values():
            for function in cls.methods.values():
                text = module.text_of(function)
                if name in text and ".append(" in text and "for " in text:
                    yield cls, function


def _loop(
    view: View, cls: ClassInfo, function: str, loop: ast.For, members: set[str]
) -> Iterator[Hit]:
    items = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for statement in loop.body:
        if not isinstance(statement, ast.If):
            continue
        seen: set[str] = set()
        branch: ast.stmt = statement
        while isinstance(branch, ast.If):
            named = _named(branch.test, members)
            seen |= named
            if named and _keeps(branch.body, items) and not _ends(view, named):
                where = Where(cls.module, branch, cls.name, function)
                yield Hit(
                    where,
                    "latent",
                    "re-queued on every pass without a deadline or a log",
                    cause=("requeue", id(loop)),
                    cleared="whether the status ends is up to the backend, not to this loop",
                )
            rest = branch.orelse
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                branch = rest[0]
                continue
            if rest and len(seen) >= 3 and _keeps(rest, items):
                missed = sorted(members - seen)
                where = Where(cls.module, rest[0], cls.name, function)
                yield Hit(
                    where,
                    "narrow",
                    f"a status that no branch expects ({', '.join(missed)}) is re-queued for "
                    "ever; give it a deadline",
                    (),
                    "pinned",
                    cause=("requeue", id(loop)),
                )
            break


def _named(test: ast.expr, members: set[str]) -> set[str]:
    return {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute) and n.attr in members}


def _ends(view: View, named: set[str]) -> bool:
    domain = view.protocol.domain
    return any(n in domain.failures or n in domain.successes for n in named)


def _keeps(body: list[ast.stmt], items: set[str]) -> bool:
    """Whether a branch appends the loop's item to a list and does nothing that ends it."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and terminal_name(node.func) == "append" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Name) and first.id in items:
                    return True
    return False
