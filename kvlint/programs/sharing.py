"""Simplify a program once where several protocols of a run have it.

Backends inherit most of their code from one base and have a protocol per role: what is lowered for
each of them is often the same, instruction for instruction.
"""

from __future__ import annotations

from dataclasses import replace

from kvlint.programs.ir import Instr, Program, Where
from kvlint.programs.simplify import simplify


def simplified(program: Program, known: dict[object, Program]) -> Program:
    """The program with simplified code, shared with the equal one before it in `known`."""
    key = _text(program)
    first = known.get(key)
    if first is None:
        program.code = simplify(program.code)
        known[key] = replace(program)  # the caller may change its own
    else:
        program.code, program.slices, program.decided = first.code, first.slices, first.decided
    return program


def _text(program: Program) -> object:
    """Equal for programs that cannot be told apart.

    Nodes stand for themselves, so that they stay alive and none takes the place of another.
    """
    stacks: dict[int, object] = {}
    return (
        program.name,
        program.kind,
        tuple(program.cut),
        tuple([_line(instr, stacks) for instr in program.code]),
    )


def _line(instr: Instr, stacks: dict[int, object]) -> object:
    stack = stacks.get(id(instr.stack))
    if stack is None:
        stack = stacks[id(instr.stack)] = tuple([_place(where) for where in instr.stack])
    where = instr.where
    return (
        instr.op,
        where.node,
        where.class_name,
        where.function,
        stack,
        instr.dst,
        instr.name,
        instr.args,
        instr.cond,
        instr.next,
        instr.alt,
        instr.targets,
        instr.note,
        instr.held,
    )


def _place(where: Where) -> object:
    return where.node, where.class_name, where.function
