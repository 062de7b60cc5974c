"""Which statuses only a peer can end, and whether polling gives up on them by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvlint.programs.ir import Op, Program
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.domain import Member
from kvlint.search.driver import Driver, endings, results
from kvlint.search.system import Operation

if TYPE_CHECKING:
    from kvlint.rulekit import View

Fields = tuple[tuple[str, object], ...]
WRITES = frozenset({Op.STORE, Op.POP, Op.SETDEFAULT})


def endless_polls(view: View) -> Iterator[tuple[Operation, Member]]:
    """The polls that go on for ever in a status if the peer stays silent, each with the first."""
    # A manager that only answers leaves waiting to its caller.
    polls = [o for o in view.system.of_kind("poll") if o.cls in view.protocol.holders]
    waits = _waits(view) if polls else []
    fields = _fresh_fields(view) if waits else ()
    for operation in polls:
        machine = view.machine(operation.program)
        endless = next((s for s in waits if not _bounded(view, machine, s, fields)), None)
        if endless is not None:
            yield operation, endless


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
