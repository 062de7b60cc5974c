"""KV103: a non-Failed write that can follow Failed and take effect."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Const, Instr, Op, Program, Where
from kvlint.protocol.domain import Member
from kvlint.rulekit import Hit, View, cause_of, verdict_of


def find(view: View) -> Iterator[Hit]:
    """Stores that the search saw overwrite Failed; then those that the table would allow."""
    failures = view.protocol.domain.failures
    seen: set[int] = set()
    for witness in view.evidence.of("resurrected"):
        if witness.bad is None:
            continue
        event = witness.bad.event
        where = view.written_at(event.instr)
        before, after = event.before.status, event.after.status
        assert before is not None
        assert after is not None
        if not witness.visible or (not witness.wide and event.instr.stack and _sticky(view)):
            continue  # a sticky update that is not atomic is KV201
        seen.add(id(where.node))
        yield Hit(
            where,
            verdict_of(witness),
            f"`{after.name}` can be written over `{before.name}`; make terminal states sticky",
            ("A",),
            "resurrected",
            ((event.instr.where, "stored here"),) if event.instr.where != where else (),
            witness,
            cause_of(witness, failures),
        )
    yield from _possible(view, seen)


def _possible(view: View, seen: set[int]) -> Iterator[Hit]:
    """Transient writes that would undo Failed, where no run was seen to do it."""
    if _sticky(view):
        return
    for thread in view.system.threads:
        for where, status in _transient_writes(view, thread.full):
            if id(where.node) not in seen:
                seen.add(id(where.node))
                yield Hit(
                    where,
                    "latent",
                    f"`{status.name}` would be stored over Failed here; nothing was seen to do it",
                    cause=("write", id(where.node)),
                    cleared="no schedule was found in which polling shows that Failed is gone",
                )


def _sticky(view: View) -> bool:
    """Whether no update method lets Failed change."""
    domain = view.protocol.domain
    for transitions in view.protocol.transitions.values():
        for (current, written), after in (transitions or {}).items():
            if (
                domain.is_failure(current)
                and not domain.is_failure(written)
                and not any(domain.is_failure(a) for a in after)
            ):
                return False
    return True


def _transient_writes(view: View, program: Program) -> Iterator[tuple[Where, Member]]:
    for instr in program.code:
        if instr.op is Op.STORE and instr.name == view.table:
            for status in _statuses(instr, program):
                if not view.protocol.domain.is_failure(status):
                    yield view.written_at(instr), status


def _statuses(instr: Instr, program: Program) -> Iterator[Member]:
    """The literal statuses that a store writes, directly or through `max`."""
    operands = list(instr.args)
    for source in program.code:
        if source.op in (Op.MAX, Op.MIN) and any(
            getattr(a, "name", None) == source.dst for a in instr.args
        ):
            operands.extend(source.args)
    for operand in operands:
        if isinstance(operand, Const) and isinstance(operand.value, Member):
            yield operand.value
