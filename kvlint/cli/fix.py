"""`kvlint fix`: rewrite what can be fixed, prove it, write it or print the diff."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kvlint.cli.inputs import add_input_options, add_search_options, paths_of, settings_of
from kvlint.cli.options import Parser, add_color, add_common, add_verbose, flattened, words
from kvlint.cli.streams import out, style_for, warn
from kvlint.errors import UsageError

if TYPE_CHECKING:
    from kvlint.fix.loop import Result
    from kvlint.report.style import Style


def add_options(parser: Parser) -> None:
    """The options of `kvlint fix`."""
    add_input_options(parser)
    parser.add_argument(
        "--select",
        dest="letters",
        type=words,
        action="append",
        metavar="FIXES",
        help="apply only these fixes: A to E or their names, comma-separated, repeatable",
    )
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="apply the fixes that may change what the program does beyond its defect, too",
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help="write nothing and print the diff alone on stdout; exit with 1 if there is one",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if something would change"
    )
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="analyse the rewritten sources and drop every change that this does not prove",
    )
    add_search_options(parser)
    add_verbose(parser, "show tracebacks")
    add_color(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Fix the paths.

    1 if a fix would be made (--diff, --check) or is refused, or a file cannot be read; 2 if a
    search gave up and nothing was found.
    """
    paths = paths_of(args)
    settings = settings_of(args, paths[0])
    from kvlint.cli.status_line import status_line
    from kvlint.fix import kinds, loop, summary
    from kvlint.report import summary as searches

    letters = flattened(args.letters)
    chosen = kinds.selected(letters, args.unsafe_fixes)
    withheld = [kind for kind in kinds.selected(letters, True) if kind not in chosen]
    with status_line():
        result = loop.fix(paths, settings, chosen, withheld=withheld, verify=args.verify)
    written = not (args.diff or args.check)
    if written:
        _write(result)
    if args.diff:
        _print_diff(result, style_for(args.color))
    (warn if args.diff else out)(summary.message(result))
    warn(summary.left(result))
    warn(summary.counts(result, written))
    if result.refused or result.unreadable or (result.plan.units and not written):
        return 1
    gave_up = "" if result.plan.units else searches.gave_up(result.report.searched, settings)
    warn(gave_up)
    return 2 if gave_up else 0


def _write(result: Result) -> None:
    from kvlint.fix.write import write_all

    plan = result.plan
    write_all(plan.contents, {path: file.data for path, file in plan.before.items()})


def _print_diff(result: Result, style: Style) -> None:
    from kvlint.fix.diff import painted, unified

    plan = result.plan
    shown: Mapping[str, str] = plan.shown
    for path in sorted(shown):
        full = shown[path]
        _out_bytes(painted(unified(path, plan.before[full].data, plan.contents[full]), style))


def _out_bytes(data: bytes) -> None:
    """The bytes as they are: a diff of a file in another encoding must still apply."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        out(data.decode("utf-8", "surrogateescape"))
        return
    try:
        sys.stdout.flush()
        buffer.write(data)
        buffer.flush()
    except BrokenPipeError:
        out("")
    except OSError as error:
        raise UsageError(f"cannot write the output: {error.strerror or error}") from None
