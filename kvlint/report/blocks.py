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


def blocks(findings: Sequence[Finding]) -> list[Block]:
    """One block for each group, the worst first, then by place."""
    groups: dict[str, list[Finding]] = {}
    for index, finding in enumerate(findings):
        # A finding without a group stands alone.
        groups.setdefault(finding.group or f"\0{index}", []).append(finding)
    return sorted(map(_block, groups.values()), key=lambda block: _rank(block.primary))


def _block(members: list[Finding]) -> Block:
    ordered = sorted(members, key=lambda f: (_severity(f), f.rule, position(f)))
    return Block(ordered[0], tuple(sorted(ordered[1:], key=position)))


def _rank(finding: Finding) -> tuple[int, tuple[str, int, int, str, str, str]]:
    return _severity(finding), position(finding)


def _severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
