"""The pipeline: project in, report out."""

from __future__ import annotations

from kvlint.config import Settings
from kvlint.discover.project import Project
from kvlint.findings import Report
from kvlint.protocol.detect import find_protocols
from kvlint.tables import transition_tables


def tables(project: Project, settings: Settings) -> Report:
    """The transition table of every status-update method in the linted files."""
    report = Report()
    seen: set[tuple[str, str, str]] = set()
    for protocol in find_protocols(project, settings.protocol):
        for table in transition_tables(protocol):
            key = (table.class_name, table.path, table.method)
            if key not in seen:
                seen.add(key)
                report.tables.append(table)
    return report
