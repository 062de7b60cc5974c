"""A lowered program does everything that the real interpreter does with the same source."""

from __future__ import annotations

from enum import IntEnum
from random import Random

import pytest
from hypothesis import given, note, settings

from kvlint.programs.ir import EMPTY, PRESENT, UNKNOWN
from kvlint.programs.slicing import relevant_locks, sliced, tracked_tables
from kvlint.protocol.domain import Member

from .backends import End, ends, machine, method, protocol, returned, start
from .random_source import SIDES, Real, sources

FEW = settings(max_examples=120, deadline=None, derandomize=True, database=None)
STARTS: tuple[tuple[str | None, tuple[str, ...]], ...] = (
    (None, ()),
    ("Waiting", SIDES),
    ("Waiting", ()),
    ("Failed", ("infos",)),
    ("Moving", SIDES),
)


def answers() -> list[list[bool]]:
    """Answers to the unknown questions of a run: few and many, mostly yes."""
    random = Random(7)
    lengths = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 20)
    return [[random.random() < 0.6 for _ in range(n)] for n in lengths]


def stands_for(abstract: object, real: object) -> bool:
    """Whether an abstract value may be this value of the interpreter."""
    if abstract is UNKNOWN:
        return True
    if abstract is PRESENT or abstract is EMPTY:
        return real is not None and not isinstance(real, IntEnum)
    if isinstance(abstract, Member):
        return isinstance(real, IntEnum) and real.name == abstract.name
    return type(abstract) is type(real) and abstract == real


@given(sources())
@FEW
def test_the_model_contains_what_really_happens(source: str) -> None:
    note(source)
    real = Real(source)
    found = protocol(source)
    runner = machine(found, method(found))
    for status, sides in STARTS:
        model = returned(runner, start(found, status, sides))
        for bits in answers():
            end, value = real.run(status, sides, bits)
            assert end in {e for e, _ in model}, (status, sides, bits)
            values = {v for e, v in model if e == end}
            assert not end.alive or any(stands_for(v, value) for v in values), (status, bits)


@given(sources())
@FEW
def test_simplifying_changes_no_end(source: str) -> None:
    note(source)
    found = protocol(source)
    small, raw = method(found), method(found, raw=True)
    assert len(small.code) <= len(raw.code)
    for status, sides in STARTS:
        begin = start(found, status, sides)
        assert returned(machine(found, small), begin) == returned(machine(found, raw), begin)


@pytest.mark.parametrize("gone", [(), ("marks",), ("marks", "infos")], ids=len)
@given(source=sources())
@settings(FEW, max_examples=40)
def test_slicing_loses_no_end(gone: tuple[str, ...], source: str) -> None:
    """What is left out is unknown from then on; with everything kept nothing is added either."""
    note(source)
    found = protocol(source)
    full = method(found)
    tracked = found.tables - frozenset(gone)
    slice_ = sliced(full, tracked, relevant_locks([full], tracked), frozenset(), found.status_table)
    assert len(slice_.code) <= len(full.code)
    for status, sides in STARTS:
        begin = start(found, status, set(sides) & tracked)
        full_ends = ends(machine(found, full, tracked), begin)
        small_ends = ends(machine(found, slice_, tracked), begin)
        assert full_ends <= small_ends
        assert gone or full_ends == small_ends


@given(source=sources())
@settings(FEW, max_examples=40)
def test_a_table_that_decides_is_tracked(source: str) -> None:
    """The tables that slicing chooses are enough: no end of the real run is lost."""
    note(source)
    real = Real(source)
    found = protocol(source)
    names = ("work", "open", "close")
    programs = [method(found, name) for name in names]
    tracked = tracked_tables(programs, found.status_table, found.tables)
    small = sliced(
        programs[0], tracked, relevant_locks(programs, tracked), frozenset(), found.status_table
    )
    for status, sides in STARTS:
        if status is None or not sides:
            continue  # a subscript of a table that nothing removes from cannot fail
        model = ends(machine(found, small, tracked), start(found, status, set(sides) & tracked))
        for bits in answers()[:6]:
            end, _ = real.run(status, sides, bits)
            assert End(end.alive, end.status, end.sides & tracked) in model, (status, bits)
