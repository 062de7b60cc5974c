"""Analyse, select, and take out what is known: from the options of `check` to its outcome."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvlint import progress
from kvlint.cli.engine import examined
from kvlint.report.outcome import Outcome
from kvlint.selection import select

if TYPE_CHECKING:
    from kvlint.cache.result import Result
    from kvlint.config import Settings
    from kvlint.findings import Finding, Report


def outcome_of(
    result: Result,
    paths: list[str],
    settings: Settings,
    diff_base: str | None = None,
    *,
    fixes: bool = False,
) -> Outcome:
    """What is found now, without what a revision or a baseline has already.

    With `fixes` it comes with the changes of each fix that is proven.
    """
    selected = select(result.report.findings, settings)
    root = os.environ.get("GITHUB_WORKSPACE", "")
    outcome = Outcome(result.report, selected, settings, result.texts, root)
    found = selected.shown
    if diff_base is not None:
        _take_out_standing(outcome, diff_base, paths)
    if settings.baseline is not None:
        _take_out_known(outcome, settings.baseline, paths, found)
    if fixes and any(f.fixes for f in outcome.shown):
        from kvlint.fix.offers import offers

        outcome.offers = offers(paths, settings)
    return outcome


def _take_out_standing(outcome: Outcome, base: str, paths: list[str]) -> None:
    """Leave what the revision does not have."""
    from kvlint.difference import since

    settings = outcome.settings

    def analyse(there: list[str], cwd: str, top: str) -> Report:
        with progress.part("the revision"):
            return examined(there, settings, cwd=cwd, top=top).report

    difference = since(base, paths, outcome.report, settings, analyse)
    outcome.difference = difference
    outcome.selected.shown = difference.introduced


def _take_out_known(
    outcome: Outcome, path: str, paths: list[str], found: Sequence[Finding]
) -> None:
    """Leave what the baseline does not hold; after a search that gave up no entry is stale."""
    from kvlint import baseline

    scope = None if outcome.gave_up else baseline.Scope(path, paths, outcome.settings)
    compared = baseline.compare(baseline.read(path), found, scope)
    new = {finding.fingerprint for finding in compared.new}
    outcome.selected.shown = [f for f in outcome.shown if f.fingerprint in new]
    outcome.selected.known = len(compared.accepted)
    outcome.stale = compared.stale
