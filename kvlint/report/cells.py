"""What the cells of a transition table say, and which of them are unsafe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvlint.findings import TransitionTable

ABSENT = "absent"
UNSAFE, DROPPED = "!", "~"
UNKNOWN = "?"


def columns(table: TransitionTable) -> list[str]:
    """The written states, in enum order."""
    seen = {written: None for row in table.transitions.values() for written in row}
    return _in_order(seen, table)


def rows(table: TransitionTable) -> list[str]:
    """The current states: absent, then enum order."""
    return _in_order(table.transitions, table)


def results(table: TransitionTable, current: str, written: str) -> tuple[str, ...]:
    """Every possible resulting state; where the table has none it is unknown."""
    return table.transitions[current].get(written) or (UNKNOWN,)


def mark(table: TransitionTable, current: str, written: str) -> str:
    """`!` where a terminal state can be left, `~` where a failure is lost, else nothing."""
    after = set(results(table, current, written)) - {UNKNOWN}
    terminal = {*table.failures, *table.successes}
    if current in table.failures and after - set(table.failures):
        return UNSAFE
    if current in table.successes and after - terminal:
        return UNSAFE
    if current == ABSENT and written in table.failures and ABSENT in after:
        return DROPPED
    return ""


def marks(table: TransitionTable) -> Iterator[str]:
    """The marks of all cells."""
    for current in table.transitions:
        for written in columns(table):
            yield mark(table, current, written)


def _in_order(names: Iterable[str], table: TransitionTable) -> list[str]:
    order = {ABSENT: -1, **{name: index for index, name in enumerate(table.enum)}}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))
