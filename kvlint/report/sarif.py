"""SARIF 2.1.0, for code scanning services and editors.

A witness is two code flows: first the schedule as it runs, as most viewers show one thread only,
then the same steps by thread, with `executionOrder` saying how they interleave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kvlint import __version__, catalog
from kvlint.findings import Finding, Gap, Related, Span, Step
from kvlint.report import page
from kvlint.report.json import dumps
from kvlint.report.outcome import Outcome
from kvlint.report.style import Style
from kvlint.report.uris import pages_address, uri

if TYPE_CHECKING:
    from kvlint.fix.offers import Edit, Offer

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
_PAGE = Style(width=80)

Object = dict[str, Any]


def render(outcome: Outcome) -> str:
    """The log of one run; the same bytes for the same findings."""
    used = sorted({finding.rule for finding in outcome.shown})
    run: Object = {
        "tool": {"driver": _driver(used)},
        "invocations": [_invocation(outcome)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, used.index(f.rule), outcome) for f in outcome.shown],
    }
    if outcome.difference is not None:
        for result in run["results"]:
            result["baselineState"] = "new"
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _driver(used: Sequence[str]) -> Object:
    address = pages_address()
    return {
        "name": "kvlint",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(catalog.find(rule), address) for rule in used],
    }


def _rule(rule: catalog.Rule, address: str) -> Object:
    text = rule.page()
    described: Object = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.summary()},
        "help": {"text": page.render(text, _PAGE), "markdown": text},
    }
    if address:
        described["helpUri"] = address + rule.page_name
    return described


def _invocation(outcome: Outcome) -> Object:
    said: Object = {"executionSuccessful": outcome.status != 2, "exitCode": outcome.status}
    notes = [_gap(gap, outcome.root) for gap in sorted(outcome.report.gaps)]
    if outcome.gave_up:
        text = outcome.gave_up.strip().removeprefix("kvlint: ")
        notes.append({"level": "error", "message": {"text": text}})
    if notes:
        said["toolExecutionNotifications"] = notes
    if outcome.stale:
        said["toolConfigurationNotifications"] = [
            {
                "level": "error",
                "message": {"text": f"{e.rule} {e.name} in {e.path} is gone: shrink the baseline"},
            }
            for e in outcome.stale
        ]
    return said


def _gap(gap: Gap, root: str) -> Object:
    place = _location(Span(gap.path, max(gap.line, 1)), root)
    return {"level": "note", "message": {"text": gap.message}, "locations": [place]}


def _result(finding: Finding, index: int, outcome: Outcome) -> Object:
    root = outcome.root
    result: Object = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [_site(finding, root)],
        # The first name is the one that GitHub compares alerts by.
        "partialFingerprints": {
            "primaryLocationLineHash": finding.fingerprint,
            "kvlint/v1": finding.fingerprint,
        },
        "properties": {
            "verdict": finding.verdict,
            "badEnd": finding.bad_end,
            "group": finding.group,
            "fixes": list(finding.fixes),
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            _related(number, related, root) for number, related in enumerate(finding.related, 1)
        ]
    if finding.witness:
        result["codeFlows"] = list(_flows(finding.witness, root))
    fixes = [_fix(o, root) for o in outcome.offers if finding.fingerprint in o.fingerprints]
    if fixes:
        result["fixes"] = fixes
    return result


def _fix(offer: Offer, root: str) -> Object:
    files = dict.fromkeys(edit.span.path for edit in offer.edits)
    return {
        "description": {"text": offer.title},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path, root),
                "replacements": [_replacement(e) for e in offer.edits if e.span.path == path],
            }
            for path in files
        ],
    }


def _replacement(edit: Edit) -> Object:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}


def _site(finding: Finding, root: str) -> Object:
    location = _location(finding.span, root)
    scope = ".".join(filter(None, (finding.class_name, finding.function)))
    if scope:
        kind = "function" if finding.function else "type"
        location["logicalLocations"] = [{"fullyQualifiedName": scope, "kind": kind}]
    return location


def _related(number: int, related: Related, root: str) -> Object:
    return {"id": number, **_location(related.span, root), "message": {"text": related.message}}


def _location(span: Span, root: str) -> Object:
    where = {"artifactLocation": _artifact(span.path, root), "region": _region(span)}
    return {"physicalLocation": where}


def _region(span: Span) -> Object:
    region: Object = {"startLine": span.line, "startColumn": span.column}
    if span.end_line:
        region |= {"endLine": span.end_line, "endColumn": span.end_column}
    return region


def _artifact(path: str, root: str) -> Object:
    address = uri(path, root)
    outside = address.startswith("file:")
    return {"uri": address} if outside else {"uri": address, "uriBaseId": ROOT}


def _flows(steps: Sequence[Step], root: str) -> Iterator[Object]:
    threads = list(dict.fromkeys(step.thread for step in steps))
    yield {
        "message": {"text": "the schedule, in the order in which it runs"},
        "threadFlows": [{"locations": [_step(step, f"{step.thread}: ", root) for step in steps]}],
    }
    yield {
        "message": {"text": "the same schedule by thread"},
        "threadFlows": [
            {
                "id": thread,
                "message": {"text": thread},
                "locations": [_step(step, "", root) for step in steps if step.thread == thread],
            }
            for thread in threads
        ],
    }


def _step(step: Step, who: str, root: str) -> Object:
    state = {"status": {"text": step.status}}
    if step.window:
        state["switch"] = {"text": f"{step.window} window"}
    physical = {
        "artifactLocation": _artifact(step.path, root),
        "region": {"startLine": step.line},
    }
    return {
        "location": {"physicalLocation": physical, "message": {"text": who + step.action}},
        "executionOrder": step.step,
        "state": state,
        "importance": "essential" if step.decisive else "important",
    }
