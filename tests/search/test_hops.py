"""Local ways between two accesses, and which of them are enough."""

from __future__ import annotations

import pytest

from kvlint.programs.ir import UNKNOWN, Const, Instr, Op, Program, Var
from kvlint.programs.machine import Machine
from kvlint.protocol.domain import StatusDomain
from kvlint.search.macro import Folder

from ..programs.test_late import instr


def hops(*arms: list[Instr], reads: str = "x") -> list[tuple[object, bool]]:
    """Value of the local and "has waited" at the end of each way, one way for each arm."""
    code: list[Instr] = []
    forks = len(arms) - 1
    starts = [forks + sum(len(arm) for arm in arms[:n]) for n in range(len(arms))]
    end = forks + sum(len(arm) for arm in arms)
    for n in range(forks):
        last = n + 1 == forks
        alt = starts[n + 1] if last else n + 1
        code.append(instr(Op.BRANCH, cond="unknown", next=starts[n], alt=alt))
    for n, arm in enumerate(arms):
        for m, one in enumerate(arm):
            one.next = end if m + 1 == len(arm) else starts[n] + m + 1
            code.append(one)
    code.append(instr(Op.STORE, name="status", args=(Var(reads),), next=end + 1))
    code.append(instr(Op.END, args=(Const(None),)))
    domain = StatusDomain("Poll", (), frozenset(), frozenset())
    machine = Machine(Program("f", "f", code), domain, "status", frozenset({"status"}))
    found = Folder(machine, narrow=True).hops(0, machine.initial())
    assert all(hop.pc == end for hop in found)
    return [(machine.get(Var(reads), hop.env), hop.waited) for hop in found]


def given(value: object) -> Instr:
    return instr(Op.SET, dst="x", args=(Const(value),))


def wait() -> Instr:
    return instr(Op.WINDOW)


def test_what_is_unknown_covers_what_is_known() -> None:
    assert hops([given(0)], [given(UNKNOWN)]) == [(UNKNOWN, False)]
    assert hops([given(UNKNOWN)], [given(0)], [given(True)]) == [(UNKNOWN, False)]


def test_values_that_are_known_stay_apart() -> None:
    assert hops([given(0)], [given(1)]) == [(0, False), (1, False)]


def test_for_whom_it_waits_does_not_matter() -> None:
    assert hops([wait(), given(0)], [wait(), given(UNKNOWN)]) == [(UNKNOWN, True)]


@pytest.mark.parametrize("op", [Op.SKIP, Op.RAISE, Op.HANDLER])
def test_what_others_mind_stays_apart(op: Op) -> None:
    assert hops([instr(op), given(0)], [given(UNKNOWN)]) == [(UNKNOWN, False), (0, False)]


def test_whether_it_waited_stays_apart() -> None:
    assert hops([wait(), given(0)], [given(UNKNOWN)]) == [(UNKNOWN, False), (0, True)]
