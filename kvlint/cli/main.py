"""Dispatch to one command, and turn whatever ends a run into an exit status."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from kvlint.cli.options import VERSION, Parser, help_width
from kvlint.cli.streams import close_quietly, warn
from kvlint.errors import UsageError
from kvlint.hints import did_you_mean, one_line
from kvlint.report.style import Style

OK, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130

COMMANDS = {
    "check": "find the unsafe status machines of KV-transfer backends",
    "baseline": "write down the findings that are known, so that only new ones count",
    "fix": "rewrite what can be fixed, once it is proven",
    "cache": "show where the results of earlier runs lie, or remove them",
    "table": "show what each status update does in every state",
    "explain": "show the page of one rule or fix",
    "rules": "list the rules",
    "completion": "print the script that lets a shell complete the command line",
}


def entry() -> NoReturn:
    """The console script."""
    # A run builds trees and tables that it needs to its end; looking for garbage among them is
    # a tenth of its time. Only here: a caller of `main` keeps its own collector.
    gc.disable()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from kvlint.cli.completer import answer

        answer()
    status = main()
    close_quietly()
    # Taking the trees of a large run apart, node by node, would take a fifth of its time.
    atexit._run_exitfuncs()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit status, nothing is raised.

    0: nothing at or above --fail-on, 1: findings, 2: the use or the tool failed.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except UsageError as error:
        return _fail(str(error))
    except SystemExit as stop:  # argparse ends --help and --version with it
        return stop.code if isinstance(stop.code, int) else OK
    except KeyboardInterrupt:
        warn("kvlint: interrupted\n")
        return INTERRUPTED
    except Exception as error:
        return _internal(error, verbose=_is_verbose(arguments))


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        raise UsageError("no command given: try `kvlint check PATH` or `kvlint --help`")
    name, rest = arguments[0], arguments[1:]
    if name in COMMANDS:
        return _run(name, rest)
    if name.startswith("-"):
        _top_level().parse_all(arguments)
    raise UsageError(f"unknown command '{name}'{did_you_mean(name, COMMANDS) or _known()}")


def _run(name: str, rest: list[str]) -> int:
    """Only the module of the command that runs is imported."""
    module = import_module(f"kvlint.cli.{name}")
    parser = Parser(prog=f"kvlint {name}", description=_filled(COMMANDS[name]))
    add_options: Callable[[Parser], None] = module.add_options
    run: Callable[[argparse.Namespace], int] = module.run
    add_options(parser)
    return run(parser.parse_all(rest))


def _top_level() -> Parser:
    commands = "\n".join(
        _filled(text, indent=" " * 14, first=f"  {name:12}") for name, text in COMMANDS.items()
    )
    parser = Parser(
        prog="kvlint",
        usage="kvlint COMMAND [OPTIONS]",
        description=_filled(
            "Find, explain and fix the races that leave a KV-transfer request without a terminal "
            "status."
        ),
        epilog=f"commands:\n{commands}\n\n"
        + _filled("kvlint COMMAND --help shows the options of one command"),
    )
    parser.add_argument("--version", action="version", version=VERSION, help="show the version")
    return parser


def _filled(text: str, indent: str = "", first: str = "") -> str:
    return "\n".join(Style(width=help_width()).wrap(text, indent=indent, first=first))


def _known() -> str:
    return f" (known: {', '.join(COMMANDS)})"


def _is_verbose(arguments: list[str]) -> bool:
    return "-v" in arguments or "--verbose" in arguments


def _fail(text: str) -> int:
    warn(f"kvlint: error: {one_line(text)}\n")
    return FAILED


def _internal(error: Exception, *, verbose: bool) -> int:
    kind = type(error).__name__
    if not verbose:
        return _fail(f"internal error: {kind}: {error} (run again with -v for the traceback)")
    import traceback

    warn("".join(traceback.format_exception(error)))
    return _fail(f"internal error: {kind}: {error}")
