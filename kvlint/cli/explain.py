"""`kvlint explain`: the page of one rule or fix."""

from __future__ import annotations

import argparse

from kvlint import catalog
from kvlint.cli.options import Parser, add_color, add_common, add_verbose
from kvlint.cli.streams import out, style_for
from kvlint.report import page


def add_options(parser: Parser) -> None:
    """The options of `kvlint explain`."""
    parser.add_argument(
        "rule", metavar="RULE", help="an id such as KV103, a fix such as A, or a name"
    )
    add_verbose(parser, "show the traceback of an internal error")
    add_color(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Print the page."""
    from kvlint.fix import kinds

    found = kinds.find(args.rule) or catalog.find(args.rule)
    out(page.render(found.page(), style_for(args.color)))
    return 0
