"""Transition tables: run a status-update method over its whole finite domain.

The method is lowered like any other code (through overrides and `super()`), then explored once
for every pair of a current status (or none) and a written one.
"""

from __future__ import annotations

from kvlint.config import Settings
from kvlint.discover.project import ClassInfo, FunctionNode, Project
from kvlint.findings import Report, TransitionTable
from kvlint.programs.ir import Const, Op
from kvlint.programs.lower import lower_method
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.detect import find_protocols
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import parameters
from kvlint.protocol.model import Protocol

ABSENT = "absent"
STATUS_PARAMETERS = ("status", "state", "new", "value", "wanted", "how", "outcome", "poll")

Transitions = dict[tuple[Member | None, Member], frozenset[Member | None]]


def tables_of(project: Project, settings: Settings) -> Report:
    """The transition table of every status-update method in the linted files."""
    report = Report()
    for protocol in find_protocols(project, settings.protocol):
        add_tables(report, protocol)
    report.gaps = sorted(project.gaps)
    return report


def add_tables(report: Report, protocol: Protocol) -> None:
    """Add the tables of a protocol that a report has not from another one."""
    known = {(t.class_name, t.path, t.method) for t in report.tables}
    for table in transition_tables(protocol):
        if (table.class_name, table.path, table.method) not in known:
            report.tables.append(table)


def transition_tables(protocol: Protocol) -> list[TransitionTable]:
    """One table per status-update method that objects of the manager have."""
    found = []
    for name in protocol.updaters:
        for cls in (protocol.manager, *protocol.components):
            method = cls.find(name)
            if method is not None:
                transitions = transitions_of(protocol, cls, name)
                if transitions is not None:
                    found.append(_table(protocol, cls, name, method, transitions))
                break
    return found


def transitions_of(protocol: Protocol, cls: ClassInfo, name: str) -> Transitions | None:
    """(current, written) -> possible results, for every pair; None if there is no such method."""
    key = (cls, name)
    if key not in protocol.transitions:
        protocol.transitions[key] = _compute(protocol, cls, name)
    return protocol.transitions[key]


def _compute(protocol: Protocol, cls: ClassInfo, name: str) -> Transitions | None:
    method = cls.find(name)
    if method is None:
        return None
    parameter = status_parameter(method[1])
    result: Transitions = {}
    for written in protocol.domain.members:
        program = lower_method(protocol, cls, name, {parameter: Const(written)})
        if program is None:
            return None
        machine = Machine(
            program, protocol.domain, protocol.status_table, frozenset({protocol.status_table})
        )
        for current in (None, *protocol.domain.members):
            result[current, written] = outcomes(machine, Shared(status=current))
    return result


def outcomes(machine: Machine, start: Shared) -> frozenset[Member | None]:
    """The statuses that a run to the end may leave; a run that ends in an exception counts."""
    seen: set[tuple[int, Env, Shared]] = set()
    todo = [(0, machine.initial(), start)]
    results: set[Member | None] = set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        pc, env, shared = state
        if machine.code[pc].op in (Op.END, Op.DEAD):
            results.add(shared.status)
            continue
        todo.extend((s.pc, s.env, s.shared) for s in machine.steps(pc, env, shared))
    return frozenset(results)


def status_parameter(function: FunctionNode) -> str:
    """The parameter that carries the status: by its name, else the last one."""
    names = [n for n in parameters(function) if n not in ("self", "cls")]
    for word in STATUS_PARAMETERS:
        for name in names:
            if word in name.lower():
                return name
    return names[-1] if names else ""


def _table(
    protocol: Protocol,
    cls: ClassInfo,
    name: str,
    method: tuple[ClassInfo, FunctionNode],
    transitions: Transitions,
) -> TransitionTable:
    owner, function = method
    domain = protocol.domain
    order = {m.name: m.index for m in domain.members}
    cells: dict[str, dict[str, tuple[str, ...]]] = {}
    for current in (None, *domain.members):
        row = cells.setdefault(state_name(current), {})
        for written in domain.members:
            names = {state_name(m) for m in transitions[current, written]}
            row[written.name] = tuple(sorted(names, key=lambda n: order.get(n, -1)))
    return TransitionTable(
        class_name=cls.name,
        path=owner.module.display,
        line=function.lineno,
        method=name,
        defined_in=owner.name,
        enum={m.name: m.value for m in domain.members},
        failures=tuple(m.name for m in domain.members if m.name in domain.failures),
        successes=tuple(m.name for m in domain.members if m.name in domain.successes),
        transitions=cells,
    )


def state_name(member: Member | None) -> str:
    """How a status is shown."""
    return ABSENT if member is None else member.name
