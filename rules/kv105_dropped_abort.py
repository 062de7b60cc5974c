"""KV105: an abort that has no effect because the room is not registered yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvlint.programs.ir import Const, Instr, Op, Where
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.model import Frame
from kvlint.rulekit import Hit, View
from kvlint.search.environment import sort_frames
from kvlint.search.macro_steps import MacroStep
from kvlint.search.system import Thread

ABORTS = re.compile(r"abort|cancel", re.I)
MESSAGE = (
    "an abort for a room that is not registered yet leaves no trace; "
    "remember it until the room is opened"
)


def find(view: View) -> Iterator[Hit]:
    """Aborts for a room that is not registered yet, and aborts that nobody understands."""
    yield from _too_early(view)
    yield from _unknown_aborts(view)
    yield from _owed(view)


def _too_early(view: View) -> Iterator[Hit]:
    """Handle every harmful message once with the room absent, once with it live, and compare."""
    _, harmful = sort_frames(view.system)
    for thread in view.system.threads:
        if thread.kind != "control":
            continue
        machine = view.machine(thread.program)
        for pc, instr in enumerate(machine.code):
            if instr.op is Op.RECV:
                for frame in harmful:
                    look = _dropped(view, machine, pc, frame)
                    if look is None or _remembered(view, thread, look, frame):
                        continue
                    for where in _sites(view, look):
                        yield Hit(
                            where,
                            "confirmed",
                            MESSAGE,
                            bad_end=_end(view),
                            cause=("dropped", id(look)),
                        )


def _unknown_aborts(view: View) -> Iterator[Hit]:
    """Aborts that the peer in this tree sends and that a control loop turns away unread."""
    sides = view.system.tracked - {view.table}
    for frame in view.system.frames:
        if not isinstance(frame, Frame) or not ABORTS.search(frame.scope.qualname):
            continue
        for thread in view.system.threads:
            stepper = view.stepper(thread.program)
            code = stepper.machine.code
            for pc, instr in enumerate(code):
                if instr.op is not Op.RECV:
                    continue
                macro_steps = [
                    macro_step
                    for status in view.protocol.domain.members
                    for macro_step in stepper.macro_steps(
                        pc,
                        stepper.machine.initial(),
                        Shared(status, frozenset(sides), frames=frozenset({frame})),
                    )
                ]
                if all(
                    _without_effect(macro_step, code[macro_step.pc].op)
                    for macro_step in macro_steps
                ):
                    where = _rejection(thread.full.code)
                    if where is not None:
                        yield Hit(
                            where,
                            "confirmed",
                            f"{frame}, which the peer sends to abort a room, is dropped here",
                            related=((_sender(frame), "sent here"),),
                            cause=("dropped", id(where.node)),
                        )


def _without_effect(macro_step: MacroStep, end: Op) -> bool:
    changed = any(
        e.before != e.after and e.instr.op not in (Op.RECV, Op.LOCK, Op.UNLOCK)
        for e in macro_step.events
    )
    return not changed and end is Op.RECV


def _rejection(code: list[Instr]) -> Where | None:
    """The first comparison of the frame's tag."""
    for instr in code:
        if instr.op is Op.BRANCH and instr.cond == "frame" and instr.args[1] == Const(0):
            return instr.where
    return None


def _sender(frame: Frame) -> Where:
    scope = frame.scope
    return Where(scope.cls.module, frame.call, scope.cls.name, scope.qualname)


def _end(view: View) -> str | None:
    """Pinned, if polling waits for ever for the peer, which has given the room up.

    That another schedule pins a room says nothing about this one.
    """
    return "pinned" if view.endless else None


def _dropped(view: View, machine: Machine, pc: int, frame: object) -> Instr | None:
    """The look at the status that turns an early abort away; None if the abort has an effect."""
    domain = view.protocol.domain
    early = view.early_sides
    if not early:
        return None  # nothing is said of a room before it is registered
    frames = frozenset({frame})
    live = [m for m in domain.members if not domain.is_terminal(m)]
    aborts = any(
        domain.is_failure(after.status)
        for status in live
        for after, _ in _handled(view, machine, pc, Shared(status, view.live_sides, frames=frames))
    )
    if not aborts:
        return None
    for after, look in _handled(view, machine, pc, Shared(None, early, frames=frames)):
        if after.status is None and not after.sides - early and look is not None:
            return look
    return None


def _remembered(view: View, thread: Thread, look: Instr, frame: object) -> bool:
    """Whether the abort that `look` turns away is noted in a table that opening a room reads.

    The full program is run: such a table need not matter to anything else.
    """
    noted = {
        instr.name
        for operation in view.system.of_kind("open")
        for instr in operation.full.code
        if instr.op in (Op.TEST, Op.LOAD, Op.POP) and instr.name != view.table
    }
    machine = view.machine(thread.full)
    start = Shared(None, view.early_sides, frames=frozenset({frame}))
    todo: list[tuple[int, Env, Shared, bool]] = [
        (step.pc, step.env, step.shared, False)
        for pc, instr in enumerate(machine.code)
        if instr.op is Op.RECV
        for step in machine.steps(pc, machine.initial(), start)
    ]
    seen = set(todo)
    while todo:
        at, env, shared, looked = todo.pop()
        instr = machine.code[at]
        if instr.op in (Op.RECV, Op.END):
            continue
        looked = looked or instr.where.node is look.where.node
        if looked and instr.op in (Op.STORE, Op.SETDEFAULT) and instr.name in noted:
            return True
        for step in machine.steps(at, env, shared):
            state = (step.pc, step.env, step.shared, looked)
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def _handled(
    view: View, machine: Machine, pc: int, start: Shared
) -> Iterator[tuple[Shared, Instr | None]]:
    """Run one iteration of the loop: (state after, last look at the room's status) per way."""
    first = (pc, machine.initial(), start, None)
    todo: list[tuple[int, Env, Shared, Instr | None]] = [first]
    seen = set(todo)
    while todo:
        at, env, shared, look = todo.pop(0)
        instr = machine.code[at]
        if instr.op in (Op.RECV, Op.END) and (at, env, shared, look) != first:
            yield shared, look
            continue
        if instr.op in (Op.TEST, Op.LOAD) and instr.name == view.table:
            look = instr
        for step in machine.steps(at, env, shared):
            state = (step.pc, step.env, step.shared, look)
            if state not in seen:
                seen.add(state)
                todo.append(state)


def _sites(view: View, look: Instr) -> Iterator[Where]:
    """The test that turns the abort away and, where it has one of its own, the branch it takes."""
    if look.where.function in view.updaters:
        yield view.written_at(look)
        return
    where = view.condition_of(look)
    yield where
    branch = view.branch_without(where)
    if branch is not None:
        yield branch


# -- answers that an abort is owed ----------------------------------------------------


def _owed(view: View) -> Iterator[Hit]:
    """An answer that the aborter waits for is thrown away while a worker still has to send it."""
    senders = _senders(view)
    for operation in view.system.of_kind("close"):
        code = operation.full.code
        removals = [i for i in code if i.op is Op.POP and i.name in senders]
        used = _used(code) if removals else set()
        for instr in removals:
            if instr.dst not in used:
                sender = senders[instr.name]
                if _promised(view, instr.name):
                    yield Hit(
                        instr.where,
                        "narrow",
                        f"`{instr.name}` is thrown away here while a worker may still have to "
                        "answer the abort from it; let the one that answers remove it",
                        related=((sender.where, "answered from here"),),
                        cause=("owed", instr.name),
                    )


def _used(code: list[Instr]) -> set[str | None]:
    """The locals that something reads."""
    return {getattr(arg, "name", None) for instr in code for arg in instr.args}


def _senders(view: View) -> dict[str, Instr]:
    """Per table, where a worker takes the entry out in order to use it."""
    found: dict[str, Instr] = {}
    for thread in view.consumers:
        used = _used(thread.full.code)
        for instr in thread.full.code:
            if instr.op is Op.POP and instr.dst in used:
                found.setdefault(instr.name, instr)
    return found


def _promised(view: View, table: str) -> bool:
    """Whether what fails a room also files something under it in the table."""
    domain = view.protocol.domain
    for kind, _, program in view.programs():
        if kind in ("control", "other", "abort"):
            files = any(i.op is Op.STORE and i.name == table for i in program.code)
            fails = any(
                i.op is Op.STORE
                and i.name == view.table
                and any(isinstance(a, Const) and domain.is_failure(a.value) for a in i.args)
                for i in program.code
            )
            if files and fails:
                return True
    return False
