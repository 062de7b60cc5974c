"""Comments that silence findings: `# kvlint: ignore[KV103] -- why this is no defect here`.

A comment counts for the statement that it stands in, and one on a line of its own for the next
statement. It needs a reason. One that cannot be read, names no rule or silences nothing is
reported, so that none outlives what it was written for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kvlint import catalog
from kvlint.config import Settings
from kvlint.discover.project import Module, Project
from kvlint.findings import Finding, Span
from kvlint.fingerprints import Fingerprints, module_key
from kvlint.selection import is_selected
from kvlint.tokens import Comment, comments

MARK = "kvlint:"
HOW = "write `# kvlint: ignore[KV103] -- why`"
UNUSABLE = ("KV902", "unusable-suppression")
UNUSED = ("KV903", "unused-suppression")
_PIECE = re.compile(r"#\s*kvlint:\s*(?P<rest>.*)")
_IGNORE = re.compile(r"ignore\s*\[(?P<rules>[^\]]*)\]\s*(?P<after>.*)")
_REASON = re.compile(r"--\s*(?P<reason>\S.*)")


@dataclass
class Suppression:
    """One comment: the rules that it names, why, and what is wrong with it."""

    module: Module
    comment: Comment
    selectors: tuple[str, ...] = ()
    reason: str = ""
    wrong: str = ""
    used: set[str] = field(default_factory=set)

    def silences(self, finding: Finding) -> str:
        """The selector by which the comment means this finding, or nothing."""
        covered = self.comment.first <= finding.span.line <= self.comment.last
        if not covered or self.wrong or finding.span.path != self.module.display:
            return ""
        return next((s for s in self.selectors if _means(s, finding)), "")


def _means(selector: str, finding: Finding) -> bool:
    return any(rule.id == finding.rule for rule in catalog.matching(selector))


def suppressions(modules: Iterable[Module]) -> list[Suppression]:
    """The comments of these modules that are for kvlint, by file and place."""
    marked = [module for module in modules if MARK in module.source]
    return [
        found
        for module in sorted(marked, key=lambda module: module.display)
        for comment in comments(module.source)
        if (found := _read(module, comment)) is not None
    ]


def silence(findings: Sequence[Finding], known: Sequence[Suppression]) -> list[Finding]:
    """The findings, those with the reason in them for which there is a comment."""
    return [_silenced(finding, known) for finding in findings] if known else list(findings)


def _silenced(finding: Finding, known: Sequence[Suppression]) -> Finding:
    for one in known:
        selector = one.silences(finding)
        if selector:
            one.used.add(selector)
            finding = replace(finding, silenced=finding.silenced or one.reason)
    return finding


def complaints(
    findings: Sequence[Finding], project: Project, settings: Settings, *, complete: bool
) -> list[Finding]:
    """What is to be said about the comments themselves.

    Whether one is used shows only in a `complete` search, in a file that the run is about, and
    for rules that the settings have not switched off.
    """
    known = suppressions(_linted(project))
    silence(findings, known)
    fingerprints = Fingerprints()
    said: list[Finding] = []
    for one in known:
        if one.wrong:
            said.append(_complaint(one, UNUSABLE, one.wrong, fingerprints))
        for selector in one.selectors if complete and not one.wrong else ():
            if selector not in one.used and _is_on(selector, one, settings):
                message = f"`{selector}` silences nothing here; remove it"
                said.append(_complaint(one, UNUSED, message, fingerprints))
    return said


def _linted(project: Project) -> Iterator[Module]:
    """The modules that the run is about, and the files that have a comment and no other part."""
    yield from project.linted()
    if project.loader is not None:
        for path in project.marked:
            module = project.loader.aside(path)
            if module is not None and not module.linted:
                yield module


def _is_on(selector: str, one: Suppression, settings: Settings) -> bool:
    """Whether the run would report a finding here that the selector means."""
    place = Span(one.module.display, one.comment.line)
    return any(
        is_selected(_finding(place, (rule.id, rule.name), "", ""), settings)
        for rule in catalog.matching(selector)
        if not rule.id.startswith(catalog.ABOUT_FILES)
    )


def _read(module: Module, comment: Comment) -> Suppression | None:
    piece = _PIECE.search(comment.text)
    if piece is None:
        return None
    found = Suppression(module, comment)
    ignore = _IGNORE.match(piece["rest"])
    if ignore is None:
        found.wrong = f"the comment cannot be read; {HOW}"
        return found
    found.selectors = tuple(word.strip() for word in ignore["rules"].split(",") if word.strip())
    reason = _REASON.match(ignore["after"])
    found.reason = reason["reason"].strip() if reason else ""
    found.wrong = _wrong(found)
    return found


def _wrong(one: Suppression) -> str:
    if not one.selectors:
        return f"the comment names no rule; {HOW}"
    for selector in one.selectors:
        meant = catalog.matching(selector)
        if not meant:
            return catalog.unknown(selector)
        if all(rule.id.startswith(catalog.ABOUT_FILES) for rule in meant):
            return f"`{selector}` cannot be silenced by a comment; use per-file-ignores"
    return "" if one.reason else f"the comment gives no reason; {HOW}"


def _complaint(
    one: Suppression, rule: tuple[str, str], message: str, fingerprints: Fingerprints
) -> Finding:
    comment = one.comment
    end = comment.column + len(comment.text)
    span = Span(one.module.display, comment.line, comment.column, comment.line, end)
    parts = (rule[0], module_key(one.module), *one.selectors, message)
    return _finding(span, rule, message, fingerprints.of(*parts))


def _finding(span: Span, rule: tuple[str, str], message: str, fingerprint: str) -> Finding:
    return Finding(
        rule=rule[0],
        name=rule[1],
        verdict="confirmed",
        severity="warning",
        span=span,
        class_name="",
        function="",
        message=message,
        fingerprint=fingerprint,
        group=fingerprint,
    )
