"""`kvlint cache`: where the results of earlier runs lie, and how to be rid of them."""

from __future__ import annotations

import argparse

from kvlint.cache import place
from kvlint.cli.options import Choice, Parser, add_common, add_verbose
from kvlint.cli.streams import out
from kvlint.errors import UsageError
from kvlint.report.style import plural

ACTIONS = ("dir", "clear")


def add_options(parser: Parser) -> None:
    """The options of `kvlint cache`."""
    parser.add_argument(
        "action",
        nargs="?",
        type=Choice(ACTIONS),
        metavar="ACTION",
        help="dir: print the folder; clear: remove what kvlint has written there",
    )
    add_verbose(parser, "show tracebacks")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Print the folder, or what was removed from it."""
    if args.action is None:
        raise UsageError("no action given: kvlint cache dir, or kvlint cache clear")
    folder = place.folder()
    if folder is None:
        raise UsageError(f"there is no folder for a cache here: set {place.FOLDER}")
    if args.action == "dir":
        out(f"{folder}\n")
        return 0
    from kvlint.cache.store import Store

    try:
        removed = Store(folder).clear()
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot remove: {error.strerror}") from None
    size = f"{removed.size / 1e6:.1f} MB"
    out(f"removed {plural(removed.entries, 'entry')} ({size}) from {folder}\n")
    return 0
