"""Where a program's locals are kept: two that are never needed at once share a slot.

A thread's place in a search is its instruction and the values in its slots, compared and hashed
again and again; a worker has sixty locals and needs six at a time. Colouring of the interference
graph, in the order of first use (Chaitin et al., Register allocation via coloring, Computer
Languages 6, 1981).
"""

from __future__ import annotations

from kvlint.programs.ir import Instr, Program, Var, predecessors


def slots_of(program: Program) -> tuple[dict[str, int], list[int]]:
    """The slot of each local; per instruction, as bits, the slots that may still be read.

    Worked out once; several threads may run one program.
    """
    if program.slots is None:
        program.slots = allotted(program.code)
    return program.slots


def allotted(code: list[Instr]) -> tuple[dict[str, int], list[int]]:
    """The same for code that is not kept."""
    numbers: dict[str, int] = {}
    for instr in code:
        for arg in instr.args:
            if isinstance(arg, Var):
                numbers.setdefault(arg.name, len(numbers))
        if instr.dst is not None:
            numbers.setdefault(instr.dst, len(numbers))
    live = _live(code, numbers)
    slots = _coloured(_conflicts(code, numbers, live))
    bits = [1 << slot for slot in slots]
    spread = {one: _spread(one, bits) for one in set(live)}  # neighbours mostly have the same
    return {name: slots[n] for name, n in numbers.items()}, [spread[one] for one in live]


def _live(code: list[Instr], numbers: dict[str, int]) -> list[int]:
    """Per instruction, as bits, the locals that it or a later one may read (backward fixpoint).

    A local is written on the way to `next` only: a look-up that fails leaves it as it was.
    """
    size = len(code)
    live = [0] * (size + 1)  # the last one is for -1, no successor
    kept, read = [-1] * size, [0] * size
    before = predecessors(code)
    for pc, instr in enumerate(code):
        if instr.dst is not None:
            kept[pc] = ~(1 << numbers[instr.dst])
        for arg in instr.args:
            if isinstance(arg, Var):
                read[pc] |= 1 << numbers[arg.name]
    todo = list(range(size))
    while todo:
        pc = todo.pop()
        instr = code[pc]
        needed = live[instr.next] & kept[pc] | live[instr.alt] | read[pc]
        for target in instr.targets:
            needed |= live[target]
        if needed != live[pc]:
            live[pc] = needed
            todo += before[pc]
    return live[:size]


def _conflicts(code: list[Instr], numbers: dict[str, int], live: list[int]) -> list[int]:
    """Per local, as bits, those that are needed when it gets a value, or from the start like it."""
    found = [0] * len(numbers)
    for one in _ones(live[0]) if code else ():
        found[one] |= live[0]
    for instr in code:
        if instr.dst is not None and instr.next >= 0:
            found[numbers[instr.dst]] |= live[instr.next]
    for one, others in enumerate(found):
        found[one] &= ~(1 << one)
        for other in _ones(others & ~(1 << one)):
            found[other] |= 1 << one
    return found


def _coloured(conflicts: list[int]) -> list[int]:
    """A slot for each local, the lowest that none of those it conflicts with has got."""
    slots: list[int] = []
    for number, others in enumerate(conflicts):
        taken = {slots[other] for other in _ones(others) if other < number}
        slots.append(next(slot for slot in range(len(taken) + 1) if slot not in taken))
    return slots


def _spread(locals_: int, bits: list[int]) -> int:
    """The slots of some locals."""
    found = 0
    for one in _ones(locals_):
        found |= bits[one]
    return found


def _ones(bits: int) -> list[int]:
    """The places of the ones."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
