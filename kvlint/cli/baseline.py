"""`kvlint baseline`: write down the findings that are known, or take out those that are gone."""

from __future__ import annotations

import argparse
import os

from kvlint.cli.engine import examined
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
from kvlint.cli.options import Choice, Parser, add_common, add_verbose
from kvlint.cli.streams import out, warn
from kvlint.errors import UsageError
from kvlint.report import summary
from kvlint.report.style import plural

DEFAULT = "kvlint-baseline.json"
ACTIONS = ("write", "update")


def add_options(parser: Parser) -> None:
    """The options of `kvlint baseline`."""
    parser.add_argument(
        "action",
        nargs="?",
        type=Choice(ACTIONS),
        metavar="ACTION",
        help="write: a new baseline with all findings; update: take out the stale entries",
    )
    add_input_options(parser)
    add_baseline_option(parser, f"the file to write (default: the configured one, else {DEFAULT})")
    parser.add_argument(
        "--force", action="store_true", help="let `write` replace a baseline that exists"
    )
    add_selection_options(parser)
    add_show_latent(parser, "write latent findings (notes) down, too")
    add_search_options(parser)
    add_cache_option(parser)
    add_verbose(parser, "show tracebacks")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file; 2 if a search gave up, as what it would have found is not known."""
    if args.action is None:
        raise UsageError("no action given: kvlint baseline write, or kvlint baseline update")
    paths = paths_of(args)
    settings = settings_of(args, paths[0])
    from kvlint import baseline
    from kvlint.cli.status_line import status_line
    from kvlint.selection import select

    path = settings.baseline or DEFAULT
    known = baseline.read(path) if args.action == "update" else []
    if args.action == "write" and os.path.exists(path) and not args.force:
        raise UsageError(f"{path} exists: `update` shrinks it, `write --force` replaces it")
    with status_line():
        report = examined(paths, settings, verbose=args.verbose).report
    gave_up = summary.gave_up(report.searched, settings)
    if gave_up:
        warn(gave_up)
        raise UsageError(f"{path} is left as it is: not everything was searched")
    shown = select(report.findings, settings).shown
    if args.action == "write":
        baseline.write(path, baseline.entries(shown, path))
        out(f"wrote {plural(len(shown), 'finding')} to {path}\n")
        return 0
    compared = baseline.compare(known, shown, baseline.Scope(path, paths, settings))
    if compared.stale:
        baseline.write(path, set(known) - set(compared.stale))
    kept = len(known) - len(compared.stale)
    out(f"{path}: {len(compared.stale)} taken out, {kept} kept; {_left(len(compared.new))}\n")
    return 0


def _left(new: int) -> str:
    if not new:
        return "nothing else was found"
    return f"{plural(new, 'finding')} not in it: kvlint check lists them"
