"""One line for each finding, for logs, editors and grep."""

from __future__ import annotations

from collections.abc import Sequence

from kvlint.findings import Finding
from kvlint.hints import one_line
from kvlint.report.style import Style


def render(findings: Sequence[Finding], style: Style) -> str:
    """`path:line:column: severity RULE name message`, by place."""
    return "".join(_line(finding, style) + "\n" for finding in findings)


def _line(finding: Finding, style: Style) -> str:
    span = finding.span
    place = style.paint(f"{one_line(span.path)}:{span.line}:{span.column}", "bold")
    rule = style.paint(finding.rule, "bold")
    severity = style.severity(finding.severity)
    return f"{place}: {severity} {rule} {finding.name} {one_line(finding.message)}"
