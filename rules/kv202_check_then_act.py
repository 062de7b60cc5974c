"""KV202: an entry is looked up or deleted while another thread may remove it."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Instr, Op
from kvlint.rulekit import LOOPS, Hit, View, verdict_of
from kvlint.search.evidence import outer_site


def find(view: View) -> Iterator[Hit]:
    """Accesses that raise KeyError if the entry is gone, in one thread, removed by another."""
    if view.system.cooperative:
        return
    proven = {id(w.death.where.node): w for w in view.evidence.of("dead-thread") if w.death}
    for kind, name, program in view.programs():
        loops = kind in (*LOOPS, "task")
        who = name if loops else "scheduler"
        for instr in program.code:
            if instr.op not in (Op.LOAD, Op.POP) or instr.alt < 0:
                continue
            if instr.name not in view.protocol.tables:
                continue
            if not view.removers.get(instr.name, set()) - {who} or _locked(view, instr, who):
                continue
            fatal = view.escapes(program, instr.alt)
            if not loops and view.protocol.holders:
                fatal = False  # the scheduler itself clears rooms, between its other calls
            witness = proven.get(id(instr.where.node)) if fatal else None
            where = outer_site(instr, view.readers)
            yield Hit(
                where,
                verdict_of(witness) if witness else "narrow" if fatal else "latent",
                f"`{instr.name}` may lose the entry before it is used; use one `.get()`, "
                f"`.pop(key, None)` or a lock",
                (),
                "dead-thread" if fatal else None,
                ((instr.where, "raises KeyError here"),) if where is not instr.where else (),
                witness,
                ("index", instr.name, where.function, where.class_name),
            )


def _locked(view: View, instr: Instr, who: str) -> bool:
    """Whether one lock joins the access with every removal by another thread."""
    if not instr.held:
        return False
    held = [
        other.held
        for kind, name, program in view.programs()
        if (name if kind in (*LOOPS, "task") else "scheduler") != who
        for other in program.code
        if other.op is Op.POP and other.name == instr.name
    ]
    return all(instr.held & h for h in held)
