"""`kvlint rules`: which rules there are."""

from __future__ import annotations

import argparse

from kvlint import catalog
from kvlint.cli.options import Choice, Parser, add_color, add_common, add_verbose
from kvlint.cli.streams import out, style_for
from kvlint.report.style import Style

_ENOUGH = 30  # cells in which a summary can be read


def add_options(parser: Parser) -> None:
    """The options of `kvlint rules`."""
    parser.add_argument(
        "--output-format",
        type=Choice(("full", "json")),
        default="full",
        metavar="FORMAT",
        help="full or json (default: full)",
    )
    add_verbose(parser, "show the traceback of an internal error")
    add_color(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Print id, name and summary of every rule."""
    if args.output_format == "json":
        from kvlint.report.json import SCHEMA, dumps

        listed = [{"id": r.id, "name": r.name, "summary": r.summary()} for r in catalog.rules()]
        out(dumps({"schema": SCHEMA, "rules": listed}))
    else:
        out(_listing(style_for(args.color)))
    return 0


def _listing(style: Style) -> str:
    rules = catalog.rules()
    wide = max((len(rule.name) for rule in rules), default=0)
    indent = len("KV101") + 2 + wide + 2
    lines: list[str] = []
    for rule in rules:
        head = f"{rule.id}  {rule.name:{wide}}  "
        if style.width - indent < _ENOUGH:
            first, rest = head, style.wrap(rule.summary(), indent=" " * (len("KV101") + 2))
        else:
            first, *rest = style.wrap(rule.summary(), indent=" " * indent, first=head)
        lines += [style.paint(first[:5], "bold") + first[5:], *rest]
    return "".join(line.rstrip() + "\n" for line in lines)
