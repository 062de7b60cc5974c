"""`kvlint completion`: the script that lets a shell complete kvlint's command line."""

from __future__ import annotations

import argparse

from kvlint.cli.options import Choice, Parser, add_common, add_verbose
from kvlint.cli.streams import out
from kvlint.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def add_options(parser: Parser) -> None:
    """The options of `kvlint completion`."""
    parser.add_argument(
        "shell",
        nargs="?",
        type=Choice(SHELLS),
        metavar="SHELL",
        help='bash, zsh or fish; for bash, put eval "$(kvlint completion bash)" into ~/.bashrc',
    )
    add_verbose(parser, "show the traceback of an internal error")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Print the script; the shell then asks kvlint itself for what fits."""
    if args.shell is None:
        raise UsageError(f"no shell given: {', '.join(f'kvlint completion {s}' for s in SHELLS)}")
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        raise UsageError("completion needs argcomplete: pip install 'kvlint[completion]'") from None
    out(shellcode(["kvlint"], shell=args.shell))
    return 0
