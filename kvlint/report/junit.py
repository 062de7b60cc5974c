"""JUnit XML, which most CI services show: a suite for each file, a case for each finding.

Each class that was searched is a case, too, so that a search that gave up is no success.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from kvlint.findings import Finding
from kvlint.hints import one_line
from kvlint.report.outcome import Outcome
from kvlint.report.plain import lines, place, title
from kvlint.report.summary import NO_CLASS
from kvlint.selection import fails

_TOOL = "kvlint"


def render(outcome: Outcome) -> str:
    """The document, in ASCII, which every encoding can take."""
    root = ET.Element("testsuites", name=_TOOL)
    by_path: dict[str, list[Finding]] = {}
    for finding in outcome.shown:
        by_path.setdefault(one_line(finding.span.path), []).append(finding)
    for path, found in by_path.items():
        _suite(root, path, (_finding(finding, outcome) for finding in found))
    _suite(root, _TOOL, [*_searches(outcome), *_stale(outcome)] or [_case(_TOOL, NO_CLASS)])
    _count(root)
    ET.indent(root)
    document: bytes = ET.tostring(root, "us-ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"


def _suite(root: ET.Element, name: str, cases: Iterator[ET.Element] | list[ET.Element]) -> None:
    suite = ET.SubElement(root, "testsuite", name=name)
    suite.extend(cases)
    _count(suite)


def _count(element: ET.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(name, str(sum(1 for _ in element.iter(tag))))


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=group, name=one_line(name))


def _finding(finding: Finding, outcome: Outcome) -> ET.Element:
    """A finding below --fail-on is told by a case that passes."""
    span = finding.span
    scope = ".".join(filter(None, (finding.class_name, finding.function)))
    case = _case(scope or one_line(span.path), f"{title(finding)} at {span.line}:{span.column}")
    case.set("file", one_line(span.path))
    case.set("line", str(span.line))
    more = lines(finding, (), outcome.report.searched, finding.rule)
    text = "\n".join([f"{place(finding)}: {finding.severity}", one_line(finding.message), *more])
    if fails([finding], outcome.settings.fail_on):
        kind, message = finding.rule, one_line(finding.message)
        ET.SubElement(case, "failure", type=kind, message=message).text = text
    else:
        ET.SubElement(case, "system-out").text = text
    return case


def _searches(outcome: Outcome) -> Iterator[ET.Element]:
    for one in outcome.report.searched:
        case = _case(f"{_TOOL}.search", one.class_name)
        if one.states and not one.complete:
            ET.SubElement(case, "error", type="incomplete", message="the search gave up")
        yield case


def _stale(outcome: Outcome) -> Iterator[ET.Element]:
    for entry in outcome.stale:
        name = f"{entry.rule} {entry.name} in {entry.path} {entry.fingerprint}"
        case = _case(f"{_TOOL}.baseline", name)
        message = "stale entry: shrink the baseline"
        ET.SubElement(case, "failure", type="stale", message=message)
        yield case
