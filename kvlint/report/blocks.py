"""Findings of one root cause belong together: the blocks of the human formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvlint.findings import SEVERITIES, Finding
from kvlint.selection import position


@dataclass(frozen=True)
class Block:
    """The finding that leads, and the other sites of its group by place."""

    primary: Finding
    others: tuple[Finding, ...] = ()

    @property
    def told(self) -> Finding | None:
        """The finding whose witness stands for the block: the first in rank that has one."""
        members = sorted((self.primary, *self.others), key=_order)
        return next((finding for finding in members if finding.witness), None)


def blocks(findings: Sequence[Finding]) -> list[Block]:
    """One block for each group, the worst first, then by place."""
    groups: dict[str, list[Finding]] = {}
    for index, finding in enumerate(findings):
        # A finding without a group stands alone.
        groups.setdefault(finding.group or f"\0{index}", []).append(finding)
    return sorted(map(_block, groups.values()), key=lambda block: _rank(block.primary))


def _block(members: list[Finding]) -> Block:
    ordered = sorted(members, key=_order)
    return Block(ordered[0], tuple(sorted(ordered[1:], key=position)))


def _order(finding: Finding) -> tuple[int, bool, str, tuple[str, int, int, str, str, str]]:
    """Within a block: the worst first, and of those one that pins a room."""
    return _severity(finding), finding.bad_end != "pinned", finding.rule, position(finding)


def _rank(finding: Finding) -> tuple[int, tuple[str, int, int, str, str, str]]:
    return _severity(finding), position(finding)


def _severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
