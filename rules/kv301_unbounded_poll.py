"""KV301: a poll loop waits for a status that only a peer can bring, with no deadline."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.programs.ir import Instr, Op, Program, Where
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import terminal_name
from kvlint.rulekit import Hit, View
from kvlint.search.driver import Driver, endings, results
from kvlint.search.evidence import outer_site
from kvlint.search.system import Operation
from kvlint.walking import statements

CLOCK = re.compile(r"^(time|monotonic|perf_counter)$|timeout|deadline|elapsed|overdue|expire", re.I)
Fields = tuple[tuple[str, object], ...]
WRITES = frozenset({Op.STORE, Op.POP, Op.SETDEFAULT})


def find(view: View) -> Iterator[Hit]:
    """Polls without a deadline, chunks put back without one, and loops that re-queue for ever."""
    yield from _polls(view)
    yield from _retries(view)
    yield from _requeues(view)


# -- polls ---------------------------------------------------------------------------


def _polls(view: View) -> Iterator[Hit]:
    # A manager that only answers leaves waiting to its caller.
    polls = [o for o in view.system.of_kind("poll") if o.cls in view.protocol.holders]
    waits = _waits(view) if polls else []
    fields = _fresh_fields(view) if waits else ()
    for operation in polls:
        machine = view.machine(operation.program)
        endless = next((s for s in waits if not _bounded(view, machine, s, fields)), None)
        if endless is not None:
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


def _waits(view: View) -> list[Member]:
    """The live statuses that only a peer can end."""
    if not any(thread.kind == "control" for thread in view.system.threads):
        return []
    domain = view.protocol.domain
    driver = Driver(view.system, 1, ())
    live = (m for m in domain.members if not domain.is_terminal(m))
    return [m for m in live if _only_a_peer_ends(view, driver, m)]


def _bounded(view: View, machine: Machine, status: Member, fields: Fields) -> bool:
    """Whether polling may end the room by itself."""
    start = Shared(status, view.live_sides, fields)
    if any(view.protocol.domain.is_terminal(s.status) for s in endings(machine, start)):
        return True  # the next poll will tell
    found = results(machine, start)
    return any(not isinstance(r, Member) or view.protocol.domain.is_terminal(r) for r in found)


def _fresh_fields(view: View) -> Fields:
    """The holder's own fields as its constructor leaves them: nothing has been concluded yet."""
    for operation in view.system.of_kind("open"):
        if operation.name == "__init__":
            machine = view.machine(operation.program)
            for shared in endings(machine, Shared()):
                return shared.fields
    return ()


def _only_a_peer_ends(view: View, driver: Driver, status: Member) -> bool:
    """Whether a message can move the room on from `status`, and nothing of this process can."""
    by_message = False
    for thread in view.system.threads:
        if not _moves(view, thread.program, status):
            continue
        if thread.kind == "control":
            by_message = True
        elif thread.kind != "consumer" or status not in driver.handshaken:
            return False
    kinds = {"open", "finish", "other", "feed"}
    if status in driver.handshaken:
        kinds.discard("feed")  # nothing is sent before the peer has answered
    own = [o for o in view.system.operations if o.kind in kinds]
    return by_message and not any(
        o.name != "__init__" and _moves(view, o.program, status) for o in own
    )


def _moves(view: View, program: Program, status: Member) -> bool:
    """Whether a run of the program may turn `status` into another one."""
    if not any(i.op in WRITES and i.name == view.table for i in program.code):
        return False
    machine = view.machine(program)
    sides = frozenset(view.system.tracked - {view.table})
    start: tuple[int, Env, Shared] = (
        0,
        machine.initial(),
        Shared(status, sides, queue=(True,), frames=frozenset(view.system.frames)),
    )
    seen = {start}
    todo = [start]
    while todo:
        pc, env, shared = todo.pop()
        for step in machine.steps(pc, env, shared):
            if step.shared.status is not status:
                return True
            state = (step.pc, step.env, step.shared)
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


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
