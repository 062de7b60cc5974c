"""The findings of `kvlint check` as messages of pylint: `pylint --load-plugins=kvlint.pylint`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylint.lint import PyLinter

OLDEST = (4, 1)  # tells a checker which files the run is about


def register(linter: PyLinter) -> None:
    """Add the checker; pylint calls this when it loads the plugin."""
    from kvlint.pylint.checker import KvlintChecker

    # Before pylint 4.1.4 a process of `-j` loads the plugins again and keeps their checkers.
    if not any(isinstance(checker, KvlintChecker) for checker in linter.get_checkers()):
        linter.register_checker(KvlintChecker(linter))


def _is_usable() -> bool:
    """Whether there is a pylint, and one that is new enough."""
    if find_spec("pylint") is None:
        return False
    from pylint import __version__

    return tuple(map(int, __version__.split(".")[:2])) >= OLDEST


# pylint shows this kind of error as a message.
if not _is_usable():
    oldest = ".".join(map(str, OLDEST))
    raise ModuleNotFoundError(
        f"kvlint.pylint needs pylint {oldest} or newer: pip install 'kvlint[pylint]'"
    )
