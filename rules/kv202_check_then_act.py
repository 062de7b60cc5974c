"""KV202: an entry is looked up or deleted while another thread may remove it."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Instr, Op
from kvlint.rulekit import LOOPS, Hit, View
from kvlint.search.evidence import Witness, outer_site


def find(view: View) -> Iterator[Hit]:
    """Accesses that raise KeyError if the entry is gone, in one thread, removed by another."""
    if view.system.cooperative:
        return
    proven = dict(_proven(view))
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
            witness = proven.get(id(instr.where.node)) if fatal else None
            if not loops and witness is None:
                fatal = False  # the scheduler itself clears rooms, between its other calls
            where = outer_site(instr, view.readers)
            yield Hit(
                where,
                "narrow" if fatal else "latent",
                f"`{instr.name}` may lose the entry before it is used; use one `.get()`, "
                f"`.pop(key, None)` or a lock",
                (),
                "dead-thread" if fatal else None,
                ((instr.where, "raises KeyError here"),) if where is not instr.where else (),
                witness,
                ("index", instr.name, where.function, where.class_name),
                "the error is caught, or ends only a call of the scheduler's own",
            )


def _proven(view: View) -> Iterator[tuple[int, Witness]]:
    """Accesses that the search saw fail after another thread had removed the entry."""
    for witness in (*view.evidence.of("dead-thread"), *view.evidence.of("dead-call")):
        last = witness.moments[-1].event.instr if witness.moments else None
        if last is not None and any(
            m.event.instr.name == last.name and m.event.before != m.event.after
            for m in witness.of(Op.POP)
        ):
            yield id(last.where.node), witness


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
