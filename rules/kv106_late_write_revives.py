"""KV106: a write after `clear()` recreates the room."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.protocol.domain import Member
from kvlint.rulekit import Hit, View, verdict_of


def find(view: View) -> Iterator[Hit]:
    """Stores that the search saw put a cleared room back."""
    for witness in view.evidence.of("zombie"):
        if witness.bad is None or witness.bad.kind == "control":
            continue  # a message may open a room; its peer decides when
        instr = witness.bad.event.instr
        after = witness.bad.event.after.status
        assert after is not None
        if view.protocol.domain.is_failure(after):
            continue  # a Failed ghost makes nobody wait
        if not witness.wide and instr.stack and _refused(view, after):
            continue  # an update that means to refuse it but is not atomic is KV201
        call = view.written_at(instr)
        # Where the store is inherited from another file, the backend's own line is its call.
        where = instr.where if instr.where.module is call.module else call
        yield Hit(
            where,
            verdict_of(witness),
            f"a late `{after.name}` puts a cleared room back; only an opening status may create it",
            ("E",),
            "zombie",
            ((instr.where, "stored here"),) if instr.where is not where else (),
            witness,
            ("revives", id(where.node)),
        )


def _refused(view: View, status: Member) -> bool:
    """Whether no update method would create a room with this status."""
    tables = [t for t in view.protocol.transitions.values() if t is not None]
    return bool(tables) and all(status not in table[None, status] for table in tables)
