"""`kvlint check`: analyse, select, report.

A run over files that are no backend has to be about as quick as starting Python: what only some
runs need is imported where it is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING

from kvlint.cli.inputs import (
    add_baseline_option,
    add_cache_option,
    add_input_options,
    add_search_options,
    add_selection_options,
    add_show_latent,
    paths_of,
    settings_of,
)
from kvlint.cli.options import Choice, Parser, add_ascii, add_color, add_common, add_verbose
from kvlint.cli.quick import all_unrelated
from kvlint.cli.streams import is_terminal, out, style_for, warn
from kvlint.config import OUTPUT_FORMATS, SEVERITIES, TEXT_FORMATS, Settings
from kvlint.errors import UsageError
from kvlint.report import summary
from kvlint.report.style import Style

if TYPE_CHECKING:
    from kvlint.findings import Finding, Searched
    from kvlint.report.outcome import Outcome


def add_options(parser: Parser) -> None:
    """The options of `kvlint check`."""
    add_input_options(parser)
    add_selection_options(parser)
    add_search_options(parser)
    add_cache_option(parser)
    parser.add_argument(
        "--output-format",
        type=Choice(OUTPUT_FORMATS),
        metavar="FORMAT",
        help="full, concise, github (annotations), json, sarif or junit (default: full on a "
        "terminal, else concise; GITHUB_ACTIONS=true adds annotations to these two)",
    )
    parser.add_argument(
        "--sarif-output", metavar="FILE", help="write SARIF to FILE beside the output"
    )
    parser.add_argument(
        "--sarif-fixes",
        action="store_true",
        help="put the safe fixes into the SARIF; each one is proven first, which takes as long as "
        "`kvlint fix`",
    )
    parser.add_argument(
        "--diff-base",
        metavar="REV",
        help="report only what the files of that git revision do not have; they are read from "
        "git, and nothing is checked out",
    )
    parser.add_argument(
        "--fail-on",
        type=Choice(SEVERITIES),
        metavar="SEVERITY",
        help="exit with 1 from this severity on: error, warning or note; note also shows "
        "latent findings (default: warning)",
    )
    add_show_latent(parser, "show latent findings (notes)")
    add_baseline_option(
        parser, "report only what is not in FILE, and fail if FILE holds what is gone"
    )
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
        "search, what is fixed since --diff-base, and show tracebacks",
    )
    add_color(parser)
    add_ascii(parser)
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
    if args.sarif_fixes and form != "sarif" and args.sarif_output is None:
        raise UsageError("--sarif-fixes needs --output-format sarif or --sarif-output")
    style = style_for(args.color, ascii_only=args.ascii)
    told = any(settings.protocol)  # then other words may tell a backend
    beside = (settings.baseline, args.sarif_output, args.diff_base)
    plain = form in TEXT_FORMATS and beside == (None, None, None)
    if plain and not told and all_unrelated(paths):
        out(summary.summary((), (), style, wrapped=form == "full"))
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
    from kvlint.cli.engine import examined
    from kvlint.cli.formats import rendered, sarif
    from kvlint.cli.outcome import outcome_of
    from kvlint.cli.status_line import status_line

    with status_line(), _held_still(args):
        result = examined(paths, settings, verbose=args.verbose)
        outcome = outcome_of(result, paths, settings, args.diff_base, fixes=args.sarif_fixes)
    if args.sarif_output is not None:
        _write(args.sarif_output, sarif(outcome))
    out(rendered(outcome, form, style))
    warn(summary.gaps(outcome.report.gaps, args.verbose))
    if args.verbose:
        warn(_details(outcome))
    searched = outcome.report.searched
    _statistics(args, searched, outcome.shown, result.files, start, cached=result.from_cache)
    warn(summary.reservations(outcome))
    return outcome.status


def _held_still(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Where the files are read again for the fixes, they have to be those of the findings."""
    if not args.sarif_fixes:
        return nullcontext()
    from kvlint.discover import source

    return source.frozen({})


def _details(outcome: Outcome) -> str:
    """What only `-v` tells."""
    from kvlint.selection import cleared

    report, difference = outcome.report, outcome.difference
    return (
        summary.environments(report.searched)
        + summary.cleared(cleared(report.findings, outcome.settings), report.searched)
        + ("" if difference is None else summary.fixed(difference))
    )


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None


def _statistics(
    args: argparse.Namespace,
    searched: Sequence[Searched],
    shown: Sequence[Finding],
    files: int,
    start: float,
    *,
    cached: bool = False,
) -> None:
    if args.statistics:
        seconds = perf_counter() - start
        warn(summary.statistics(searched, shown, files, seconds, cached=cached))
