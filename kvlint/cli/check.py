"""`kvlint check`: analyse, select, report.

A run over files that are no backend has to be about as quick as starting Python: what only some
runs need is imported where it is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from kvlint.cli.inputs import (
    add_input_options,
    add_search_options,
    add_selection_options,
    load,
    paths_of,
    settings_of,
    texts_of,
)
from kvlint.cli.options import Parser, add_common, add_verbose, choice
from kvlint.cli.quick import all_unrelated
from kvlint.cli.streams import is_terminal, out, style_for, warn
from kvlint.config import OUTPUT_FORMATS, SEVERITIES, Settings
from kvlint.report import summary
from kvlint.report.style import Style

if TYPE_CHECKING:
    from kvlint.discover.project import Project
    from kvlint.findings import Finding, Report, Searched
    from kvlint.selection import Selected


def add_options(parser: Parser) -> None:
    """The options of `kvlint check`."""
    add_input_options(parser)
    add_selection_options(parser)
    add_search_options(parser)
    parser.add_argument(
        "--output-format",
        type=choice(OUTPUT_FORMATS),
        metavar="FORMAT",
        help="full, concise or json (default: full on a terminal, else concise)",
    )
    parser.add_argument(
        "--fail-on",
        type=choice(SEVERITIES),
        metavar="SEVERITY",
        help="exit with 1 from this severity on: error, warning or note; note also shows "
        "latent findings (default: warning)",
    )
    parser.add_argument("--show-latent", action="store_true", help="show latent findings (notes)")
    parser.add_argument(
        "--show-settings", action="store_true", help="print the settings of this run and stop"
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="findings by rule, and what was searched in what time, on stderr",
    )
    add_verbose(
        parser,
        "list what could not be resolved, which patterns were cleared and by which runs of the "
        "search, and show tracebacks",
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Check the paths; 1 if a finding is at or above --fail-on, else 2 if a search gave up."""
    start = perf_counter()
    paths = paths_of(args)
    settings = settings_of(args, paths[0])
    if args.show_settings:
        from kvlint.cli.settings_text import settings_text

        out(settings_text(settings))
        return 0
    form = settings.output_format or ("full" if is_terminal(sys.stdout) else "concise")
    style = style_for(args.color, ascii_only=args.ascii)
    told = any(settings.protocol)  # then other words may tell a backend
    if form != "json" and not told and all_unrelated(paths):
        out(summary.summary((), (), style))
        _statistics(args, (), (), len(paths), start)
        return 0
    return _whole_run(args, paths, settings, form, style, start)


def _whole_run(
    args: argparse.Namespace,
    paths: list[str],
    settings: Settings,
    form: str,
    style: Style,
    start: float,
) -> int:
    from kvlint.selection import cleared, fails, select

    project = load(paths, settings)
    report = _analysed(project, settings)
    gave_up = summary.gave_up(report.searched, settings)
    selected = select(report.findings, settings)
    out(_rendered(report, selected, form, style, texts_of(project)))
    warn(summary.gaps(report.gaps, args.verbose))
    if args.verbose:
        warn(summary.environments(report.searched))
        warn(summary.cleared(cleared(report.findings, settings), report.searched))
    _statistics(args, report.searched, selected.shown, project.files, start)
    warn(gave_up)
    if fails(selected.shown, settings.fail_on):
        return 1
    return 2 if gave_up else 0


def _analysed(project: Project, settings: Settings) -> Report:
    if not (project.modules or project.problems or project.gaps or project.marked):
        from kvlint.findings import Report

        return Report()
    from kvlint.analysis import analyse
    from kvlint.suppressions import complaints

    report = analyse(project, settings)
    complete = not summary.gave_up(report.searched, settings)
    report.findings += complaints(report.findings, project, settings, complete=complete)
    return report


def _rendered(
    report: Report, selected: Selected, form: str, style: Style, texts: dict[str, str]
) -> str:
    """The report in the format asked for; only that format's module is imported."""
    if form == "json":
        from kvlint.report import json

        return json.render(report, selected.shown)
    end = summary.summary(
        report.searched,
        selected.shown,
        style,
        hidden=selected.hidden,
        silenced=selected.silenced,
    )
    if form == "concise":
        from kvlint.report import concise

        return concise.render(selected.shown, style) + end
    from kvlint.report import full
    from kvlint.report.source import Sources

    return full.render(selected.shown, Sources(texts), style, report.searched) + end


def _statistics(
    args: argparse.Namespace,
    searched: Sequence[Searched],
    shown: Sequence[Finding],
    files: int,
    start: float,
) -> None:
    if args.statistics:
        warn(summary.statistics(searched, shown, files, perf_counter() - start))
