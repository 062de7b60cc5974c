"""KV105: an abort that has no effect because the room is not registered yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvlint.programs.ir import Const, Instr, Op, Where
from kvlint.programs.machine import Machine, Shared
from kvlint.protocol.model import Frame
from kvlint.rulekit import Hit, View
from kvlint.search.environment import sort_frames
from kvlint.search.macro import Folder, Leap

ABORTS = re.compile(r"abort|cancel", re.I)
MESSAGE = (
    "an abort for a room that is not registered yet leaves no trace; "
    "remember it until the room is opened"
)


def find(view: View) -> Iterator[Hit]:
    """Aborts for a room that is not registered yet, and aborts that nobody understands."""
    yield from _too_early(view)
    yield from _unknown_aborts(view)


def _too_early(view: View) -> Iterator[Hit]:
    """Handle every harmful message once with the room absent, once with it live, and compare."""
    _, harmful = sort_frames(view.system)
    for thread in view.system.threads:
        if thread.kind != "control":
            continue
        folder = Folder(view.system.machine(thread.program, 1), narrow=False)
        machine = folder.machine
        for pc, instr in enumerate(machine.code):
            if instr.op is Op.RECV:
                for frame in harmful:
                    where = _dropped(view, folder, machine, pc, frame)
                    if where is not None:
                        yield Hit(
                            where,
                            "confirmed",
                            MESSAGE,
                            bad_end=_end(view),
                            cause=("dropped", id(where.node)),
                        )


def _unknown_aborts(view: View) -> Iterator[Hit]:
    """Aborts that the peer in this tree sends and that a control loop turns away unread."""
    sides = view.system.tracked - {view.table}
    for frame in view.system.frames:
        if not isinstance(frame, Frame) or not ABORTS.search(frame.scope.qualname):
            continue
        for thread in view.system.threads:
            folder = Folder(view.system.machine(thread.program, 1), narrow=False)
            code = folder.machine.code
            for pc, instr in enumerate(code):
                if instr.op is not Op.RECV:
                    continue
                leaps = [
                    leap
                    for status in view.protocol.domain.members
                    for leap in folder.leaps(
                        pc,
                        folder.machine.initial(),
                        Shared(status, frozenset(sides), frames=frozenset({frame})),
                    )
                ]
                if all(_without_effect(leap, code[leap.pc].op) for leap in leaps):
                    where = _rejection(thread.full.code, frame)
                    if where is not None:
                        yield Hit(
                            where,
                            "confirmed",
                            f"{frame}, which the peer sends to abort a room, is dropped here",
                            related=((_sender(frame), "sent here"),),
                            cause=("dropped", id(where.node)),
                        )


def _without_effect(leap: Leap, end: Op) -> bool:
    changed = any(
        e.before != e.after and e.instr.op not in (Op.RECV, Op.LOCK, Op.UNLOCK)
        for e in leap.events
    )
    return not changed and end is Op.RECV


def _rejection(code: list[Instr], frame: Frame) -> Where | None:
    """The first comparison of the frame's tag."""
    for instr in code:
        if instr.op is Op.BRANCH and instr.cond == "frame" and instr.args[1] == Const(0):
            return instr.where
    return None


def _sender(frame: Frame) -> Where:
    scope = frame.scope
    return Where(scope.cls.module, frame.call, scope.cls.name, scope.qualname)


def _end(view: View) -> str | None:
    return "pinned" if any(w.kind == "pinned" for w in view.evidence.witnesses) else None


def _dropped(
    view: View, folder: Folder, machine: Machine, pc: int, frame: object
) -> Where | None:
    """Where handling an abort for an absent room goes without effect; None if it has one."""
    domain = view.protocol.domain
    live = [m for m in domain.members if not domain.is_terminal(m)]
    sides = view.system.tracked - {view.table}
    early = view.early_sides
    if not early:
        return None  # nothing is said of a room before it is registered

    def handle(start: Shared) -> list[Leap]:
        return folder.leaps(pc, machine.initial(), start)

    aborts = any(
        domain.is_failure(leap.shared.status)
        for status in live
        for leap in handle(Shared(status, frozenset(sides), frames=frozenset({frame})))
    )
    if not aborts:
        return None
    start = Shared(None, early, frames=frozenset({frame}))
    for leap in handle(start):
        kept = leap.shared.sides - early
        if leap.shared.status is None and not kept and machine.code[leap.pc].op is Op.RECV:
            where = _guard(view, leap)
            if where is not None:
                return where
    return None


def _guard(view: View, leap: Leap) -> Where | None:
    """The look at the status table that turned the abort away: the handler's own, if it has one."""
    looked = [e.instr for e in leap.events if e.instr.op in (Op.TEST, Op.LOAD)]
    own = [i for i in looked if i.name == view.table and i.where.function not in view.updaters]
    if own:
        return view.condition_of(own[-1])
    inner = [i for i in looked if i.name == view.table]
    return view.written_at(inner[-1]) if inner else None
