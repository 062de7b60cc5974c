"""From the outcome of a check to the text in the format asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kvlint.report import summary
from kvlint.report.style import Style

if TYPE_CHECKING:
    from kvlint.report.outcome import Outcome


def rendered(outcome: Outcome, form: str, style: Style) -> str:
    """The whole output; only the format's own module is imported."""
    if form == "json":
        from kvlint.report import json

        return json.render(
            outcome.report, outcome.shown, stale=outcome.stale, difference=outcome.difference
        )
    if form == "sarif":
        return sarif(outcome)
    if form == "junit":
        from kvlint.report import junit

        return junit.render(outcome)
    return _text(outcome, form, style) + summary.summary(
        outcome.report.searched, outcome.shown, style, outcome.left_out, wrapped=form == "full"
    )


def _text(outcome: Outcome, form: str, style: Style) -> str:
    """The findings for people, with annotations beside them where GitHub reads the output."""
    beside = ""
    if form == "github" or os.environ.get("GITHUB_ACTIONS") == "true":
        from kvlint.report import github

        beside = github.render(outcome)
    if form == "github":
        return beside
    if form == "concise":
        from kvlint.report import concise

        return concise.render(outcome.shown, style) + beside
    from kvlint.report import full
    from kvlint.report.source import Sources

    sources = Sources(outcome.texts)
    return full.render(outcome.shown, sources, style, outcome.report.searched) + beside


def sarif(outcome: Outcome) -> str:
    """The SARIF log."""
    from kvlint.report import sarif as log

    return log.render(outcome)
