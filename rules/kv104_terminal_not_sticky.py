"""KV104: a status-update method whose table lets a terminal state change."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Const, Op, Where
from kvlint.programs.lower import lower_method
from kvlint.programs.machine import Machine, Shared
from kvlint.protocol.domain import Member
from kvlint.rulekit import Hit, View
from kvlint.tables import Transitions, status_parameter


def find(view: View) -> Iterator[Hit]:
    """One hit on the method, one on each store that does it, one per heir in another file."""
    protocol = view.protocol
    for (cls, name), transitions in protocol.transitions.items():
        method = cls.find(name)
        if transitions is None or method is None:
            continue
        owner, function = method
        bad = broken_cells(view, transitions)
        where = Where(owner.module, function, owner.name, name)
        cause = ("table", id(function))
        if not bad:
            continue
        current, written = bad[0]
        text = f"`{current.name}` can become `{written.name}`; return early if the room is over"
        yield Hit(where, "confirmed", text, ("A",), cause=cause)
        for store in sorted(_stores(view, cls, name, bad), key=lambda w: w.line):
            yield Hit(
                store,
                "confirmed",
                f"this store turns `{current.name}` into `{written.name}`",
                ("A",),
                cause=cause,
            )
        if owner.module is not cls.module:
            heir = Where(cls.module, cls.node, cls.name, "")
            yield Hit(
                heir,
                "confirmed",
                f"inherits `{name}`, which lets `{current.name}` become `{written.name}`",
                related=((where, f"`{owner.name}.{name}` is defined here"),),
                cause=cause,
            )
    yield from _absent_reads(view)


def broken_cells(view: View, transitions: Transitions) -> list[tuple[Member, Member]]:
    """(terminal state, written) for every cell that surely leaves a terminal state.

    A cell that a condition on untracked data decides is not counted, nor is Success turning into
    Failed: a late failure report is no resurrection.
    """
    domain = view.protocol.domain
    found = []
    for (current, written), after in transitions.items():
        if current is None or not domain.is_terminal(current):
            continue
        if domain.is_failure(current):
            broken = not any(domain.is_failure(a) for a in after)
        else:
            broken = not any(a is not None and domain.is_terminal(a) for a in after)
        if broken and None not in after:
            found.append((current, written))
    return found


def _stores(view: View, cls: object, name: str, bad: list[tuple[Member, Member]]) -> set[Where]:
    """The stores that a run of the method from a terminal state goes through."""
    protocol = view.protocol
    found: set[Where] = set()
    for current, written in bad:
        method = cls.find(name)  # type: ignore[attr-defined]
        parameter = status_parameter(method[1])
        program = lower_method(protocol, cls, name, {parameter: Const(written)})  # type: ignore
        if program is None:
            continue
        machine = Machine(
            program, protocol.domain, protocol.status_table, frozenset({protocol.status_table})
        )
        todo = [(0, machine.initial(), Shared(status=current))]
        seen = set(todo)
        while todo:
            pc, env, shared = todo.pop()
            for step in machine.steps(pc, env, shared):
                if machine.code[pc].op is Op.STORE and step.shared.status != shared.status:
                    found.add(machine.code[pc].where)
                state = (step.pc, step.env, step.shared)
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
    return found


def _absent_reads(view: View) -> Iterator[Hit]:
    """A reader that answers with a live status for a room that does not exist."""
    domain = view.protocol.domain
    for _, _, program in view.programs():
        for instr in program.code:
            if instr.op is Op.LOAD and instr.name == view.table and instr.args:
                default = instr.args[0]
                if (
                    isinstance(default, Const)
                    and isinstance(default.value, Member)
                    and not domain.is_terminal(default.value)
                ):
                    yield Hit(
                        instr.where,
                        "latent",
                        f"an absent room reads as `{default.value.name}`, which never ends",
                        cause=("absent", id(instr.where.node)),
                        cleared="the scheduler polls a room only while it is there",
                    )
