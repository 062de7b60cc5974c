"""A finding in plain text, for places that show no colours and know no columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlint.findings import Finding, Searched
from kvlint.hints import one_line
from kvlint.report.style import Style
from kvlint.report.witness import schedule

_STYLE = Style(width=80)  # narrow enough for the list form, which needs no fixed columns


def title(finding: Finding) -> str:
    """The rule's id and name."""
    return f"{finding.rule} {finding.name}"


def lines(
    told: Finding | None, others: Sequence[Finding], searched: Sequence[Searched], rule: str
) -> Iterator[str]:
    """What goes with a finding: other sites of its cause, the schedule, where to read more."""
    for other in others:
        yield f"also {place(other)}: {other.severity} {title(other)}: {one_line(other.message)}"
    if told is not None and told.witness:
        yield from schedule(told, searched, _STYLE, "")
    yield f"help: kvlint explain {rule}"


def place(finding: Finding) -> str:
    """`path:line:column`."""
    return f"{one_line(finding.span.path)}:{finding.span.line}:{finding.span.column}"
