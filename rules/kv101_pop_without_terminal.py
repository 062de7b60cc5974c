"""KV101: a per-room entry is removed while the room's status may stay non-terminal."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Op
from kvlint.rulekit import Hit, View, cause_of, verdict_of


def find(view: View) -> Iterator[Hit]:
    """Removals on the way to a pinned room; then removals that were found harmless."""
    failures = view.protocol.domain.failures
    for witness in view.pins:
        for moment in witness.of(Op.POP):
            gone = moment.event.before.sides - moment.event.after.sides
            if gone and moment.kind not in ("scheduler", "consumer"):
                yield Hit(
                    moment.event.instr.where,
                    verdict_of(witness),
                    f"`{min(gone)}` is emptied although the room may stay non-terminal; "
                    "remove it where the status becomes terminal",
                    ("C",),
                    "pinned",
                    witness=witness,
                    cause=cause_of(witness, failures),
                )
    yield from _harmless(view)


def _harmless(view: View) -> Iterator[Hit]:
    guarded = view.system.tracked - {view.table}
    for thread in view.system.threads:
        for instr in thread.full.code:
            if instr.op is Op.POP and instr.name in guarded:
                yield Hit(
                    instr.where,
                    "latent",
                    f"`{instr.name}` is emptied here; a room that is not terminal by then is stuck",
                    cause=("pop", id(instr.where.node)),
                    cleared="no schedule was found in which the room stays live after it",
                )
