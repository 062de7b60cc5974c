"""The format for other tools; DESIGN fixes its keys, readers have to accept more of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvlint import __version__
from kvlint.findings import Finding, Gap, Report, Searched, Step, TransitionTable

if TYPE_CHECKING:
    from kvlint.baseline import Entry
    from kvlint.difference import Difference

SCHEMA = 1


def render(
    report: Report,
    findings: Sequence[Finding],
    *,
    stale: Sequence[Entry] = (),
    difference: Difference | None = None,
) -> str:
    """One object: `findings` as selected, the rest as the report has it.

    `stale` entries of a baseline are there if there are any, `difference` with `--diff-base`.
    """
    return dumps(
        {
            "schema": SCHEMA,
            "version": __version__,
            "findings": [_finding(finding) for finding in findings],
            "tables": [_table(table) for table in report.tables],
            "searched": [_searched(searched) for searched in report.searched],
            "gaps": [_gap(gap) for gap in sorted(report.gaps)],
            **({"stale": [entry._asdict() for entry in stale]} if stale else {}),
            **({"difference": _difference(difference)} if difference is not None else {}),
        }
    )


def dumps(value: Any) -> str:
    """JSON in ASCII, which every output encoding can take."""
    return json.dumps(value, indent=2) + "\n"


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "base": difference.base,
        "commit": difference.commit,
        "introduced": len(difference.introduced),
        "fixed": len(difference.fixed),
        "standing": len(difference.standing),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    span = finding.span
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "verdict": finding.verdict,
        "path": span.path,
        "line": span.line,
        "column": span.column,
        # A span without an end is the place alone.
        "end_line": span.end_line or span.line,
        "end_column": span.end_column or span.column,
        "class": finding.class_name,
        "function": finding.function,
        "message": finding.message,
        "fingerprint": finding.fingerprint,
        "group": finding.group,
        "fixes": list(finding.fixes),
        "bad_end": finding.bad_end,
        "related": [
            {"path": r.span.path, "line": r.span.line, "message": r.message}
            for r in finding.related
        ],
        "witness": [_step(step) for step in finding.witness],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.step,
        "thread": step.thread,
        "path": step.path,
        "line": step.line,
        "function": step.function,
        "action": step.action,
        "status": step.status,
        "window": step.window,
    }


def _table(table: TransitionTable) -> dict[str, Any]:
    return {
        "class": table.class_name,
        "path": table.path,
        "line": table.line,
        "method": table.method,
        "enum": table.enum,
        "transitions": {
            current: {written: list(results) for written, results in row.items()}
            for current, row in table.transitions.items()
        },
    }


def _searched(searched: Searched) -> dict[str, Any]:
    return {
        "class": searched.class_name,
        "threads": list(searched.threads),
        "states": searched.states,
        "preemptions": searched.preemptions,
        "complete": searched.complete,
        "environment": {
            "chunks": searched.chunks,
            "messages": list(searched.messages),
            "runs": list(searched.runs),
        },
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {"path": gap.path, "line": gap.line, "message": gap.message}
