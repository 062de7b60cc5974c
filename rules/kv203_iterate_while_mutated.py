"""KV203: a live view of a shared table is walked while another thread changes the table."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Instr, Op
from kvlint.rulekit import LOOPS, Hit, View


def find(view: View) -> Iterator[Hit]:
    """Walks over a shared container in a thread, without the lock that its changers hold."""
    if view.system.cooperative:
        return
    for kind, name, program in view.programs():
        loops = kind in (*LOOPS, "task")
        who = name if loops else "scheduler"
        for instr in program.code:
            if instr.op is not Op.ITER:
                continue
            others = list(_changes(view, instr, who))
            if not others or all(instr.held & other.held for other in others):
                continue
            fatal = loops and instr.alt >= 0 and view.escapes(program, instr.alt)
            inner = " of one room" if instr.note == "inner" else ""
            yield Hit(
                instr.where,
                "narrow" if fatal else "latent",
                f"`{instr.name}`{inner} is walked while another thread changes it; "
                "walk a `list(...)` of it or hold the lock",
                (),
                "dead-thread" if fatal else None,
                tuple(
                    (other.where, "changed here")
                    for other in sorted(others, key=lambda i: i.where.line)[:1]
                ),
                cause=("walk", instr.name, id(instr.where.node)),
                cleared="the error is caught, or ends only a call of the scheduler's own",
            )


def _changes(view: View, walk: Instr, who: str) -> Iterator[Instr]:
    """Changes of the walked container by other threads."""
    for kind, name, program in view.programs():
        if (name if kind in (*LOOPS, "task") else "scheduler") == who:
            continue
        for instr in program.code:
            if instr.name != walk.name or instr.where.node is walk.where.node:
                continue
            if instr.op in (Op.STORE, Op.POP, Op.SETDEFAULT) and (instr.note == "inner") == (
                walk.note == "inner"
            ):
                yield instr
