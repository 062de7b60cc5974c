"""`kvlint check`: analyse, select, report."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from kvlint.cli.inputs import (
    add_input_options,
    add_selection_options,
    load,
    paths_of,
    settings_of,
    texts_of,
)
from kvlint.cli.options import Parser, add_common, add_verbose, choice
from kvlint.cli.settings_text import settings_text
from kvlint.cli.streams import is_terminal, out, style_for, warn
from kvlint.config import OUTPUT_FORMATS, Settings
from kvlint.findings import SEVERITIES, Report
from kvlint.report import summary
from kvlint.report.style import Style
from kvlint.selection import Selected, fails, select

if TYPE_CHECKING:
    from kvlint.discover.project import Project


def add_options(parser: Parser) -> None:
    """The options of `kvlint check`."""
    add_input_options(parser)
    add_selection_options(parser)
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
        "--statistics", action="store_true", help="count findings by rule on stderr, with the time"
    )
    add_verbose(parser, "list what could not be resolved, and show tracebacks")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Check the paths; 1 if a finding is at or above --fail-on."""
    start = perf_counter()
    paths = paths_of(args)
    settings = settings_of(args, paths[0])
    if args.show_settings:
        out(settings_text(settings))
        return 0
    project = load(paths, settings)
    report = _analysed(project, settings)
    selected = select(report.findings, settings)
    style = style_for(args.color, ascii_only=args.ascii)
    out(_rendered(report, selected, settings, style, texts_of(project)))
    warn(summary.gaps(report.gaps, args.verbose))
    if args.statistics:
        seconds = perf_counter() - start
        warn(summary.statistics(report, selected.shown, project.files, seconds))
    return 1 if fails(selected.shown, settings.fail_on) else 0


def _analysed(project: Project, settings: Settings) -> Report:
    if not (project.modules or project.problems or project.gaps):
        return Report()  # the usual run of a hook: no backend, and no need to import the engine
    from kvlint.analysis import analyse

    return analyse(project, settings)


def _rendered(
    report: Report, selected: Selected, settings: Settings, style: Style, texts: dict[str, str]
) -> str:
    """The report in the format asked for; only that format's module is imported."""
    chosen = settings.output_format or ("full" if is_terminal(sys.stdout) else "concise")
    if chosen == "json":
        from kvlint.report import json

        return json.render(report, selected.shown)
    end = summary.summary(report, selected.shown, selected.hidden, style)
    if chosen == "concise":
        from kvlint.report import concise

        return concise.render(selected.shown, style) + end
    from kvlint.report import full
    from kvlint.report.source import Sources

    return full.render(selected.shown, Sources(texts), style) + end
