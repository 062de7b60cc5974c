"""Every option that --help names is exercised by a test of this folder, or of the fixes'."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kvlint.cli.main import COMMANDS
from kvlint.cli.options import Parser

HERE = Path(__file__).parent
TESTS = "\n".join(
    path.read_text()
    for folder in (HERE, HERE.parent / "fix")
    for path in sorted(folder.glob("test_*.py"))
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_test(command: str) -> None:
    parser = Parser(prog=command)
    import_module(f"kvlint.cli.{command}").add_options(parser)
    options = [o for action in parser._actions for o in action.option_strings]
    missing = [o for o in options if f'"{o}"' not in TESTS and o != "-h"]
    assert options
    assert not missing


def test_options_are_not_abbreviated() -> None:
    parser = Parser(prog="x")
    parser.add_argument("--output-format")
    assert parser.parse_known_args(["--output", "json"])[1] == ["--output", "json"]
