"""What a change does to the findings: those that it introduces, fixes and leaves standing.

The revision is analysed like the files on disk, so a finding is new whether its own line changed
or one far away made it possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kvlint.config import Settings
from kvlint.discover.walk import Walk
from kvlint.errors import UsageError
from kvlint.findings import Finding, Report, worse
from kvlint.gittree import Tree, revision
from kvlint.selection import select

Analyse = Callable[[list[str], str, str], Report]


@dataclass
class Difference:
    """The findings of a run beside those of a revision, called `base` by the user."""

    base: str
    commit: str
    introduced: list[Finding] = field(default_factory=list)
    fixed: list[Finding] = field(default_factory=list)
    standing: list[Finding] = field(default_factory=list)
    searched: Report = field(default_factory=Report)

    def counts(self) -> str:
        """The three counts in words."""
        told = f"{len(self.introduced)} introduced, {len(self.fixed)} fixed"
        return f"{told}, {len(self.standing)} standing since {self.base}"


def since(
    base: str, paths: Sequence[str], report: Report, settings: Settings, analyse: Analyse
) -> Difference:
    """Analyse the revision `base` with `analyse` and compare what the settings show.

    `analyse` is given the paths, the working directory and the folder of the revision.
    """
    with revision(base) as tree:
        cwd = tree.at(".")
        there = [p for p in map(tree.at, paths) if _holds_python(p, cwd, settings.exclude)]
        before = analyse(there, cwd, tree.folder) if there else Report()
        old = [_in_checkout(finding, tree) for finding in select(before.findings, settings).shown]
    result = Difference(base, tree.commit, searched=before)
    _sort(result, old, select(report.findings, settings).shown)
    silenced = {f.fingerprint for f in report.findings if f.silenced}
    result.fixed = [f for f in result.fixed if f.fingerprint not in silenced]
    return result


def _sort(result: Difference, old: Sequence[Finding], new: Sequence[Finding]) -> None:
    """A finding that got worse counts as introduced."""
    known = {finding.fingerprint: finding.severity for finding in old}
    for finding in new:
        before = known.get(finding.fingerprint)
        fresh = before is None or worse(finding.severity, before)
        (result.introduced if fresh else result.standing).append(finding)
    now = {finding.fingerprint for finding in new}
    result.fixed = [finding for finding in old if finding.fingerprint not in now]


def _holds_python(full: str, cwd: str, exclude: Sequence[str]) -> bool:
    """Whether a run over this path would find a file; a path may be newer than the revision."""
    try:
        Walk(cwd, exclude).add(full)
    except UsageError:
        return False
    return True


def _in_checkout(finding: Finding, tree: Tree) -> Finding:
    """The finding with a path of the checkout; one outside the working directory is absolute."""
    path = finding.span.path
    if not path.startswith(tree.folder):
        return finding
    return replace(finding, span=replace(finding.span, path=tree.top + path[len(tree.folder) :]))
