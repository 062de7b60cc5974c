"""Options and argument types that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from kvlint import __version__
from kvlint.cli.streams import stdout_width
from kvlint.config import wrong_choice
from kvlint.errors import UsageError
from kvlint.hints import did_you_mean
from kvlint.report.style import DEFAULT_WIDTH

VERSION = f"kvlint {__version__}"
COLOURS = ("auto", "always", "never")


class HelpText(argparse.RawDescriptionHelpFormatter):
    """Help in the width of the other output.

    Left to itself argparse imports shutil for the width, at every option it is given.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=help_width())


def help_width() -> int:
    """The columns that help may take."""
    return min(stdout_width(), DEFAULT_WIDTH) - 2


class Parser(argparse.ArgumentParser):
    """A parser whose every complaint is one line with a suggestion."""

    def __init__(self, **kwargs: Any) -> None:
        self._known_options: list[str] = []
        super().__init__(allow_abbrev=False, formatter_class=HelpText, **kwargs)

    def add_argument(self, *names: str, **kwargs: Any) -> argparse.Action:
        """Remember the option strings for suggestions."""
        self._known_options += [name[2:] for name in names if name.startswith("--")]
        return super().add_argument(*names, **kwargs)

    def parse_all(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse, and refuse what is left over. Options may stand between the other arguments."""
        parsed, extra = self.parse_known_intermixed_args(arguments)
        if extra:
            raise UsageError(self._surplus(extra[0]))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Complain the way every other wrong input is complained about."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _surplus(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument '{word}' (see {self.prog} --help)"
        option = word.partition("=")[0]
        hint = did_you_mean(option.lstrip("-"), self._known_options, prefix="--")
        hint = hint or f" (see {self.prog} --help)"
        return f"unknown option '{option}'{hint}"


def add_color(parser: Parser) -> None:
    """`--color`, for a command that has something to paint."""
    parser.add_argument(
        "--color",
        type=Choice(COLOURS),
        default="auto",
        metavar="WHEN",
        help="auto, always or never; auto heeds NO_COLOR and FORCE_COLOR (default: auto)",
    )


def add_ascii(parser: Parser) -> None:
    """`--ascii`, for a command that draws."""
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")


def add_common(parser: Parser) -> None:
    """Options of every command."""
    parser.add_argument("--version", action="version", version=VERSION, help="show the version")


def add_verbose(parser: Parser, effect: str) -> None:
    """`-v`, whose `effect` each command names."""
    parser.add_argument("-v", "--verbose", action="store_true", help=effect)


class Choice:
    """An argument type: one of `choices`."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices

    def __call__(self, text: str) -> str:
        if text not in self.choices:
            raise argparse.ArgumentTypeError(wrong_choice(text, self.choices))
        return text


def count(lowest: int) -> Callable[[str], int]:
    """An argument type: a whole number, at least `lowest`."""

    def convert(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {lowest} on")
        return int(text)

    return convert


def seconds(text: str) -> float:
    """An argument type: a time above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def words(text: str) -> tuple[str, ...]:
    """An argument type: words with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def flattened(given: Sequence[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    """A repeatable list option as one list; None if the option was not given."""
    return None if given is None else tuple(word for part in given for word in part)
