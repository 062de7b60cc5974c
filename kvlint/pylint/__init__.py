"""The findings of `kvlint check` as messages of pylint: `pylint --load-plugins=kvlint.pylint`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylint.lint import PyLinter

if find_spec("pylint") is None:
    raise ImportError("kvlint.pylint needs pylint: pip install 'kvlint[pylint]'")


def register(linter: PyLinter) -> None:
    """Add the checker; pylint calls this when it loads the plugin."""
    from kvlint.pylint.checker import KvlintChecker

    linter.register_checker(KvlintChecker(linter))
