"""A witness as the steps that a reader sees."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.findings import Step
from kvlint.programs.ir import Op
from kvlint.search.evidence import Moment, Witness
from kvlint.tables import state_name

CHUNK = {True: "the last chunk", False: "a chunk that is not the last"}


def steps(witness: Witness) -> tuple[Step, ...]:
    """The steps of a witness, numbered from 1; what only looks and finds nothing odd is left out."""
    shown = [m for i, m in enumerate(witness.moments) if _matters(m, witness, i)]
    found = []
    for number, moment in enumerate(shown, 1):
        where = moment.event.instr.where
        found.append(
            Step(
                step=number,
                thread=moment.thread,
                path=where.module.display,
                line=where.line,
                function=where.function,
                action=action(moment),
                status=state_name(moment.event.after.status),
                window=moment.window,
            )
        )
    if witness.death is not None and shown:
        where = witness.death.where
        found.append(
            Step(
                step=len(found) + 1,
                thread=shown[-1].thread,
                path=where.module.display,
                line=where.line,
                function=where.function,
                action=f"{witness.death.note}: the thread ends",
                status=state_name(shown[-1].event.after.status),
            )
        )
    return tuple(found)


def _matters(moment: Moment, witness: Witness, at: int) -> bool:
    event = moment.event
    op = event.instr.op
    if event.before != event.after and op not in (Op.LOCK, Op.UNLOCK):
        return True
    if op is Op.STORE or op is Op.SKIP:
        return True
    if op is Op.WINDOW:
        return moment.window is not None or _flies(witness, at)
    return moment is witness.bad


def _flies(witness: Witness, at: int) -> bool:
    """Whether another thread ran just before this wait ended: it was in flight meanwhile."""
    return at > 0 and witness.moments[at - 1].thread != witness.moments[at].thread


def action(moment: Moment) -> str:
    """What happens, in a few words."""
    return " ".join(_words(moment))


def _words(moment: Moment) -> Iterator[str]:
    event = moment.event
    instr, before, after = event.instr, event.before, event.after
    if instr.op is Op.TAKE:
        yield f"take {CHUNK[before.queue[0]]}"
    elif instr.op is Op.PUT:
        yield f"queue {CHUNK[after.queue[-1]]}"
    elif instr.op is Op.RECV:
        gone = before.frames - after.frames
        yield f"receive {next(iter(gone), 'a message')}"
    elif instr.op is Op.SKIP:
        yield "continue: nothing more is done for this chunk"
    elif instr.op is Op.WINDOW:
        yield f"in {instr.note}"
    elif before.status != after.status:
        verb = "remove" if after.status is None else "store"
        yield f"{verb} {instr.name}: {state_name(before.status)} -> {state_name(after.status)}"
    elif before.sides != after.sides:
        yield ("add to " if after.sides > before.sides else "remove from ") + instr.name
    else:
        yield f"{instr.op.value} {instr.name}, {state_name(after.status)} stays"
