"""Locals that share a slot never get into each other's way."""

from __future__ import annotations

from hypothesis import given, note, settings

from kvlint.programs.ir import Const, Instr, Op, Program, Var
from kvlint.programs.machine import Machine, Shared
from kvlint.programs.slots import allotted
from kvlint.protocol.domain import StatusDomain

from .backends import machine, method, protocol
from .random_source import sources
from .test_late import instr

FEW = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def read_from(code: list[Instr], name: str) -> set[int]:
    """The instructions from which some way leads to a read of a local before it is written."""
    found = {pc for pc, one in enumerate(code) if Var(name) in one.args}
    while True:
        more = {
            pc
            for pc, one in enumerate(code)
            for to in one.successors()
            if pc not in found and to in found and not (one.dst == name and to == one.next)
        }
        if not more:
            return found
        found |= more


@given(sources())
@FEW
def test_what_is_needed_at_once_has_slots_of_its_own(source: str) -> None:
    note(source)
    code = method(protocol(source)).code
    slots, live = allotted(code)
    where = {name: read_from(code, name) for name in slots}
    for pc in range(len(code)):
        taken = [slots[name] for name, places in where.items() if pc in places]
        assert len(set(taken)) == len(taken)
        assert live[pc] == sum(1 << slot for slot in taken)


def test_they_are_fewer_than_the_locals() -> None:
    names = [f"x{n}" for n in range(9)]
    code = [
        instr(Op.SET, dst=name, args=(Var(before) if before else Const(1),), next=pc + 1)
        for pc, (before, name) in enumerate(zip(["", *names], names, strict=False))
    ]
    code.append(instr(Op.END, args=(Var(names[-1]),)))
    slots, _ = allotted(code)
    assert set(slots) == set(names)
    assert len(set(slots.values())) == 1


def test_a_look_up_that_fails_leaves_a_local_as_it_was() -> None:
    code = [
        instr(Op.SET, dst="x", args=(Const("old"),), next=1),
        instr(Op.LOAD, name="status", dst="x", next=2, alt=2),
        instr(Op.END, args=(Var("x"),)),
    ]
    domain = StatusDomain("Poll", (), frozenset(), frozenset())
    runner = Machine(Program("f", "f", code), domain, "status", frozenset({"status"}))
    (step,) = runner.steps(0, runner.initial(), Shared())
    (step,) = runner.steps(1, step.env, step.shared)
    assert runner.get(code[2].args[0], step.env) == "old"


def test_a_handler_sees_what_was_there_before() -> None:
    found = protocol(
        """
        import threading
        from enum import IntEnum

        class Poll(IntEnum):
            Failed = 0
            Waiting = 1
            Success = 2

        class Manager:
            def __init__(self):
                self.status = {}
                threading.Thread(target=self.work, args=(0,)).start()

            def work(self, room):
                new = Poll.Failed
                try:
                    new = self.status[room]
                except KeyError:
                    pass
                self.status[room] = new
                self.status[room] = Poll.Success if room else Poll.Failed
        """
    )
    program = method(found)
    runner = machine(found, program)
    ends = set()
    todo = [(0, runner.initial(), Shared())]
    while todo:
        pc, env, shared = todo.pop()
        for step in runner.steps(pc, env, shared):
            if step.shared != shared:
                ends.add(step.shared.status)
            else:
                todo.append((step.pc, step.env, step.shared))
    assert ends == {found.domain.member("Failed")}
