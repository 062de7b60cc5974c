"""`kvlint table`: what each status-update method does in every state."""

from __future__ import annotations

import argparse

from kvlint.cli.inputs import add_input_options, load, paths_of, settings_of
from kvlint.cli.options import Choice, Parser, add_ascii, add_color, add_common, add_verbose
from kvlint.cli.streams import out, style_for, warn
from kvlint.report import summary


def add_options(parser: Parser) -> None:
    """The options of `kvlint table`."""
    add_input_options(parser)
    parser.add_argument(
        "--output-format",
        type=Choice(("full", "json")),
        default="full",
        metavar="FORMAT",
        help="full or json (default: full)",
    )
    add_verbose(parser, "list what could not be resolved, and show tracebacks")
    add_color(parser)
    add_ascii(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Print the tables. What a table says is no finding, but a file without any is one."""
    paths = paths_of(args)
    settings = settings_of(args, paths[0])
    from kvlint.cli.status_line import status_line

    with status_line():
        project = load(paths, settings, needed="kvlint.tables")
        from kvlint.tables import tables_of

        report = tables_of(project, settings)
    if args.output_format == "json":
        from kvlint.report import json

        out(json.render(report, report.findings))
    else:
        from kvlint.report import table

        out(table.render(report.tables, style_for(args.color, ascii_only=args.ascii)))
    warn(summary.gaps(report.gaps, args.verbose))
    warn(summary.problems(project.problems))
    return 1 if project.problems else 0
