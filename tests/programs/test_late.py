"""A choice that is noted in a field is made when somebody looks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kvlint.discover.project import Module
from kvlint.programs.ir import ANY, EITHER, Const, Instr, Op, Program, Var, Where
from kvlint.programs.late import leave_open
from kvlint.programs.machine import Machine, Shared
from kvlint.protocol.domain import StatusDomain

NODE = ast.parse("pass").body[0]
WHERE = Where(Module("m", Path("m.py"), "m.py", "", ast.Module([], []), True), NODE, "C", "f")
MINE = frozenset({"mine"})


def instr(op: Op, **parts: object) -> Instr:
    return Instr(op, WHERE, (), **parts)  # type: ignore[arg-type]


def chosen(**changes: Instr) -> list[Instr]:
    """`mine = bool(something unknown)`, an end, and what the changes put in place of parts."""
    code = {
        "fork": instr(Op.BRANCH, cond="unknown", next=1, alt=2),
        "yes": instr(Op.SET, dst="x", args=(Const(True),), next=3),
        "no": instr(Op.SET, dst="x", args=(Const(False),), next=3),
        "store": instr(Op.FIELD_STORE, name="mine", args=(Var("x"),), next=4),
        "end": instr(Op.END, args=(ANY,)),
    }
    return list((code | changes).values())


def machine(code: list[Instr]) -> Machine:
    domain = StatusDomain("Poll", (), frozenset(), frozenset())
    return Machine(Program("f", "f", code), domain, "status", frozenset({"status"}))


def test_it_is_left_open() -> None:
    code = chosen()
    assert leave_open(code, MINE)
    assert code[3].args == (Const(EITHER),)
    assert not leave_open(code, MINE)


@pytest.mark.parametrize(
    "changes",
    [
        {"fork": instr(Op.BRANCH, cond="true", args=(Var("y"),), next=1, alt=2)},
        {"no": instr(Op.SET, dst="x", args=(Const(True),), next=3)},
        {"no": instr(Op.SET, dst="x", args=(Const(None),), next=3)},
        {"no": instr(Op.WINDOW, next=3)},
        {"end": instr(Op.END, args=(Var("x"),))},
        {"store": instr(Op.STORE, name="status", args=(Var("x"),), next=4)},
    ],
    ids=["known", "always", "none", "wait", "read again", "no field"],
)
def test_it_is_not_left_open(changes: dict[str, Instr]) -> None:
    code = chosen(**changes)
    assert not leave_open(code, MINE)
    assert all(Const(EITHER) not in i.args for i in code)


def test_only_where_it_may_be() -> None:
    assert not leave_open(chosen(), frozenset({"other"}))


def test_the_first_look_decides() -> None:
    look = instr(Op.FIELD_LOAD, name="mine", dst="x", next=1)
    again = instr(Op.FIELD_LOAD, name="mine", dst="y", next=2)
    end = instr(Op.END, args=(Var("x"), Var("y")))
    runner = machine([look, again, end])
    first = runner.steps(0, runner.initial(), Shared(fields=(("mine", EITHER),)))
    assert [step.shared.fields for step in first] == [(("mine", True),), (("mine", False),)]
    for step in first:
        (second,) = runner.steps(1, step.env, step.shared)
        x, y = (runner.get(arg, second.env) for arg in end.args)
        assert x is y
        assert second.shared == step.shared
