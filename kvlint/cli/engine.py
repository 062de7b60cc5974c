"""Run the analysis, with as few imports as its result needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvlint.report import summary

if TYPE_CHECKING:
    from kvlint.config import Settings
    from kvlint.discover.project import Project
    from kvlint.findings import Report


def analysed(project: Project, settings: Settings) -> Report:
    """What was found in the code, and what is to be said about its comments for kvlint."""
    if not (project.modules or project.problems or project.gaps or project.marked):
        from kvlint.findings import Report

        return Report()
    from kvlint.analysis import analyse
    from kvlint.suppressions import complaints

    report = analyse(project, settings)
    complete = not summary.gave_up(report.searched, settings)
    report.findings += complaints(report.findings, project, settings, complete=complete)
    return report
