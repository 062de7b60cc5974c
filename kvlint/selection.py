"""Which findings a run reports, as the settings ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from kvlint.catalog import ALL, UNREADABLE_FILE
from kvlint.config import Settings
from kvlint.findings import SEVERITIES, Finding
from kvlint.report.style import plural


@dataclass
class Selected:
    """The findings to show, and how many are not: latent notes, silenced or known ones."""

    shown: list[Finding] = field(default_factory=list)
    hidden: int = 0
    silenced: int = 0
    known: int = 0

    def counts(self) -> list[str]:
        """What was left out, for the last line of a report."""
        notes = plural(self.hidden, "latent note")
        said = (
            (self.hidden, f"{notes} hidden (--show-latent)"),
            (self.silenced, f"{self.silenced} silenced in the source"),
            (self.known, f"{self.known} in the baseline"),
        )
        return [text for count, text in said if count]


def select(findings: list[Finding], settings: Settings) -> Selected:
    """Drop what is not selected or silenced, hide what is latent unless the settings show it."""
    result = Selected()
    for finding in sorted(findings, key=position):
        if not is_selected(finding, settings):
            continue
        latent = finding.verdict == "latent" and not settings.show_latent
        if finding.silenced:
            result.silenced += not latent
        elif latent:
            result.hidden += 1
        else:
            result.shown.append(finding)
    return result


def cleared(findings: list[Finding], settings: Settings) -> list[Finding]:
    """The selected patterns for which the search found no bad end, by place."""
    latent = [f for f in findings if f.verdict == "latent" and is_selected(f, settings)]
    return sorted(latent, key=position)


def position(finding: Finding) -> tuple[str, int, int, str, str, str]:
    """The order of every list of findings: by place, then rule."""
    span = finding.span
    place = (span.path, span.line, span.column)
    return (*place, finding.rule, finding.message, finding.fingerprint)


def fails(findings: list[Finding], fail_on: str) -> bool:
    """Whether one of `findings` is at least as bad as `fail_on`."""
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in failing for finding in findings)


def is_selected(finding: Finding, settings: Settings) -> bool:
    """Whether select, ignore and per-file-ignores leave this finding in."""
    if ignored_in_file(finding, settings):
        return False
    wanted = max((_weight(s, finding) for s in settings.select or (ALL,)), default=-1)
    if finding.rule == UNREADABLE_FILE:
        # A file that nothing could be said about must not vanish because of `--select KV1`.
        wanted = max(wanted, 0)
    return wanted > max((_weight(s, finding) for s in settings.ignore), default=-1)


def ignored_in_file(finding: Finding, settings: Settings) -> bool:
    """Whether a per-file-ignores entry names this finding's file and rule."""
    return any(
        any(_weight(selector, finding) >= 0 for selector in selectors)
        and path_matches(finding.span.path, pattern, settings.root)
        for pattern, selectors in settings.per_file_ignores
    )


def path_matches(path: str, pattern: str, root: str | None) -> bool:
    """Whether a glob means `path`, a folder above it or the file's name.

    The pattern is relative to the working directory or to `root`, the configuration's folder;
    `*` also crosses slashes.
    """
    from fnmatch import fnmatchcase  # needed only where a pattern is set

    pattern = pattern.removeprefix("./").rstrip("/")
    names = [path]
    if root is not None:
        names.append(os.path.relpath(path, root).replace(os.sep, "/"))
    if "/" not in pattern:
        names.append(path.rpartition("/")[2])
    return any(fnmatchcase(n, pattern) or fnmatchcase(n, pattern + "/*") for n in names)


def _weight(selector: str, finding: Finding) -> int:
    """How specific a selector that means the finding's rule is; -1 if it means another one.

    The more specific of select and ignore wins, so `--select KV103` beats `ignore = ["KV1"]`.
    """
    wanted = selector.upper()
    if wanted == ALL:
        return 0
    if wanted == finding.name.upper():
        return len(finding.rule)
    return len(wanted) if wanted.startswith("KV") and finding.rule.startswith(wanted) else -1
