"""The linearised ancestors of a class (C3), for hierarchies that Python itself would refuse too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def merge(sequences: Sequence[Sequence[T]]) -> tuple[list[T], bool]:
    """C3's merge, and whether the order is consistent.

    Where no consistent order exists the first class still waiting is taken, so that every
    ancestor appears once.
    """
    waiting = [list(sequence) for sequence in sequences if sequence]
    order: list[T] = []
    consistent = True
    while waiting:
        head = next((s[0] for s in waiting if not _in_a_tail(s[0], waiting)), None)
        if head is None:
            head = waiting[0][0]
            consistent = False
        order.append(head)
        waiting = [[item for item in s if item is not head] for s in waiting]
        waiting = [s for s in waiting if s]
    return order, consistent


def _in_a_tail(item: T, sequences: list[list[T]]) -> bool:
    return any(item is other for s in sequences for other in s[1:])
