"""What a shell gets when it asks for the words that may come next.

Everything is taken from the parsers of the commands: an option that they have is completed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

from kvlint.cli.main import COMMANDS
from kvlint.cli.options import VERSION, Choice, Parser

Completer = Callable[..., list[str]]
_FILES = ("paths", "exclude", "config", "baseline", "sarif_output")


def answer() -> NoReturn:
    """Print the words that fit for the shell that runs this process, and end it."""
    try:
        from argcomplete import autocomplete
    except ImportError:  # taken away since the shell was told to ask
        os._exit(1)
    autocomplete(every_command(), always_complete_options=False)
    os._exit(1)  # autocomplete has ended the process, unless no shell had asked


def every_command() -> Parser:
    """One parser with all commands, which tells for each argument what it takes."""
    whole = Parser(prog="kvlint")
    whole.add_argument("--version", action="version", version=VERSION, help="show the version")
    commands = whole.add_subparsers(parser_class=Parser)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        import_module(f"kvlint.cli.{name}").add_options(command)
        for action in command._actions:
            if action.dest not in _FILES and action.nargs != 0:
                action.completer = _completer(action)  # type: ignore[attr-defined]
    return whole


def _completer(action: argparse.Action) -> Completer:
    if isinstance(action.type, Choice):
        return _one_of(action.type.choices)
    return {
        "select": _rules,
        "ignore": _rules,
        "letters": _fixes,
        "rule": _pages,
    }.get(action.dest, _nothing)


def _one_of(words: Iterable[str]) -> Completer:
    return lambda **_: list(words)


def _nothing(**_: Any) -> list[str]:
    return []


def _rules(prefix: str, **_: Any) -> list[str]:
    """Ids, or names once a name is begun, after what stands before the last comma."""
    before, comma, begun = prefix.rpartition(",")
    return [before + comma + word for word in _words_of_rules(begun)]


def _words_of_rules(begun: str) -> list[str]:
    from kvlint.catalog import rules

    return [rule.name if begun[:1].islower() else rule.id for rule in rules()]


def _fixes(prefix: str, **_: Any) -> list[str]:
    before, comma, begun = prefix.rpartition(",")
    return [before + comma + word for word in _words_of_fixes(begun)]


def _words_of_fixes(begun: str) -> list[str]:
    from kvlint.fix.kinds import KINDS

    return sorted(kind.name if begun[:1].islower() else kind.letter for kind in KINDS)


def _pages(prefix: str, **_: Any) -> list[str]:
    return [*_words_of_rules(prefix), *_words_of_fixes(prefix)]
