"""KV102: a worker drops a chunk because a side table misses the room, and leaves the status."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Op
from kvlint.programs.machine import Shared
from kvlint.rulekit import Hit, View, cause_of, verdict_of
from kvlint.search.evidence import Moment, Witness
from kvlint.search.macro_steps import Stepper

MESSAGE = (
    "the chunk is dropped because `{table}` has no entry, and the status stays as it is; "
    "write a terminal status"
)


def find(view: View) -> Iterator[Hit]:
    """Skips on the way to a pinned room; then skips that nothing was seen to reach."""
    failures = view.protocol.domain.failures
    for witness in view.pins:
        found = skipped(witness)
        if found is not None:
            moment, table = found
            yield Hit(
                moment.event.instr.where,
                verdict_of(witness),
                MESSAGE.format(table=table),
                ("B",),
                "pinned",
                witness=witness,
                cause=cause_of(witness, failures),
            )
    yield from _latent(view)


def skipped(witness: Witness) -> tuple[Moment, str] | None:
    """The last chunk's skip: where it is, and the table that missed the room."""
    missing = ""
    skip: Moment | None = None
    for moment in witness.moments:
        instr, before = moment.event.instr, moment.event.before
        if moment.kind != "consumer":
            continue
        if instr.op is Op.TAKE:
            missing, skip = "", None
        elif instr.op in (Op.TEST, Op.LOAD) and before.status is not None:
            if instr.name not in before.sides and _is_side(instr.name, witness):
                missing, skip = instr.name, moment
        elif instr.op in (Op.SKIP, Op.RAISE) and missing:
            skip = moment
        elif instr.op in (Op.STORE, Op.PUT, Op.POP):
            missing, skip = "", None
    return (skip, missing) if skip is not None else None


def _is_side(name: str, witness: Witness) -> bool:
    return any(name in m.event.before.sides | m.event.after.sides for m in witness.moments)


def _latent(view: View) -> Iterator[Hit]:
    """Run one chunk of a live room whose side entry is missing, undisturbed."""
    domain = view.protocol.domain
    for thread in view.consumers:
        stepper = view.stepper(thread.program)
        named = {instr.name for instr in thread.program.code}
        for table in sorted(named & view.system.tracked - {view.table}):
            for status in domain.members:
                if not domain.is_terminal(status):
                    present = view.system.tracked - {view.table, table}
                    start = Shared(status, frozenset(present), queue=(True,))
                    yield from _dropped(stepper, start, table)


def _dropped(stepper: Stepper, start: Shared, table: str) -> Iterator[Hit]:
    machine = stepper.machine
    for pc, instr in enumerate(machine.code):
        if instr.op is not Op.TAKE:
            continue
        for macro_step in stepper.macro_steps(pc, machine.initial(), start):
            if macro_step.shared.status != start.status or macro_step.shared.queue:
                continue
            if machine.code[macro_step.pc].op is not Op.TAKE:
                continue
            looked = [e for e in macro_step.events if e.instr.name == table]
            skips = [e for e in macro_step.events if e.instr.op is Op.SKIP]
            if looked and not any(e.instr.op is Op.WINDOW for e in macro_step.events):
                where = (skips or looked)[-1].instr.where
                yield Hit(
                    where,
                    "latent",
                    MESSAGE.format(table=table),
                    cause=("skip", id(where.node)),
                    cleared="no schedule was found in which the room stays live after it",
                )
