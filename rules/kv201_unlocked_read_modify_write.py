"""KV201: the status is read and written back without a common lock by more than one thread."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.discover.project import ClassInfo
from kvlint.programs.ir import Instr, Op, Program
from kvlint.programs.lower import lower_method
from kvlint.rulekit import Hit, View

STOPS = frozenset({Op.TAKE, Op.RECV, Op.WINDOW, Op.DEAD, Op.END})


def find(view: View) -> Iterator[Hit]:
    """Update methods whose read and store are not under one lock, if two threads use them."""
    if len(view.writers.get(view.table, ())) < 2 or view.system.cooperative:
        return
    for cls, name in view.protocol.transitions:
        pair = unlocked_pair(view, cls, name)
        if pair is None:
            continue
        read, store = pair
        if _locked_by_callers(view, store):
            continue
        where = store.stack[0] if store.stack else store.where
        lost = [w for w in view.evidence.of("resurrected") if w.bad and not w.wide]
        shown = [w for w in lost if w.bad and w.bad.event.instr.where.node is store.where.node]
        yield Hit(
            where,
            "narrow",
            "the status is read and written back in two steps that no lock joins; "
            "hold one lock over both",
            ("D",),
            "resurrected",
            ((read.where, "read here"),) if read.where.line != where.line else (),
            shown[0] if shown else None,
            cause=("rmw", id(where.node)),
        )


def unlocked_pair(view: View, cls: ClassInfo, name: str) -> tuple[Instr, Instr] | None:
    """(read, store) of one update without a common lock; the store that uses the read first."""
    program = lower_method(view.protocol, cls, name)
    if program is None:
        return None
    found = list(_pairs(program, view.table))
    computed = {i.dst for i in program.code if i.op in (Op.MAX, Op.MIN)}
    found.sort(key=lambda p: not any(getattr(a, "name", "") in computed for a in p[1].args))
    return found[0] if found else None


def _pairs(program: Program, table: str) -> Iterator[tuple[Instr, Instr]]:
    code = program.code
    for pc, read in enumerate(code):
        if read.op not in (Op.LOAD, Op.TEST) or read.name != table:
            continue
        seen = {pc}
        todo = list(read.successors())
        while todo:
            at = todo.pop()
            if at in seen or code[at].op in STOPS:
                continue
            seen.add(at)
            now = code[at]
            if now.op is Op.STORE and now.name == table:
                if not read.held & now.held:
                    yield read, now
            else:
                todo.extend(now.successors())


def _locked_by_callers(view: View, store: Instr) -> bool:
    """Whether every thread that gets to this store holds one and the same lock around it."""
    held: list[frozenset[str]] = []
    for _, _, program in view.programs():
        held += [i.held for i in program.code if i.where.node is store.where.node]
    return bool(held) and bool(frozenset.intersection(*held))
