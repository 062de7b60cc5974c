"""Choices that can as well be made later: when somebody looks at the answer.

A constructor that notes in a field what something unknown says doubles every state until the field
is read. It is noted as "either" instead, and the first read decides (`Machine` tries both). That
read has to be a step of the search, or the next one would not know what was decided.
"""

from __future__ import annotations

from kvlint.programs.ir import EITHER, Const, Instr, Op, Var, predecessors


def leave_open(code: list[Instr], fields: frozenset[str]) -> bool:
    """Let stores of a free choice between True and False leave it open; says whether any did.

    `fields` are those that may be left open.
    """
    stores = [
        pc
        for pc, instr in enumerate(code)
        if instr.op is Op.FIELD_STORE and instr.name in fields and isinstance(instr.args[0], Var)
    ]
    before = predecessors(code) if stores else []
    free = [pc for pc in stores if _is_free(code, before, pc)]
    for pc in free:
        code[pc].args = (Const(EITHER),)
    return bool(free)


def _is_free(code: list[Instr], before: list[list[int]], store: int) -> bool:
    """Whether an unknown choice gave the value, just before, and decided on nothing else."""
    value = code[store].args[0]
    assert isinstance(value, Var)
    if sum(arg == value for instr in code for arg in instr.args) > 1:
        return False
    arms = before[store]
    if len(arms) != 2 or {_constant(code[pc], value.name) for pc in arms} != {True, False}:
        return False
    forks = [before[pc] for pc in arms]
    if forks[0] != forks[1] or len(forks[0]) != 1:
        return False
    fork = code[forks[0][0]]
    return fork.op is Op.BRANCH and fork.cond == "unknown"


def _constant(instr: Instr, local: str) -> object:
    """The truth value that an instruction gives to a local; None if it does anything else."""
    operand = instr.args[0] if instr.op is Op.SET and instr.dst == local else None
    value = operand.value if isinstance(operand, Const) else None
    return value if isinstance(value, bool) else None
