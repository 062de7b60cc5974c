"""All text output on real terminals: colours, width and characters, for every command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint.cli.main import COMMANDS
from tests.fix.backends import backend
from tests.locations import ROOT

from .terminals import on_terminal, without_colours

pytest.importorskip("pty", reason="this system has no pseudo-terminals")

ESCAPE = "\x1b["
WITNESS = "kv103_bad_max_over_aborted_sender.py"
LONG = "kv101_bad_a_file_whose_name_is_as_long_as_a_path.py"
PATHS = (WITNESS, LONG, "--isolated")
FULL = ("check", *PATHS, "--output-format", "full")
PAINTED = {
    "full": FULL,
    "concise": ("check", *PATHS, "--output-format", "concise"),
    "table": ("table", *PATHS),
    "explain": ("explain", "KV103"),
    "explain a fix": ("explain", "D"),
    "rules": ("rules",),
    "nothing found": ("check", "plain.py"),
    "diff": ("fix", "conn.py", "--isolated", "--diff"),
}
PLAIN = {
    "fix": ("fix", "conn.py", "--isolated", "--check"),
    "baseline": ("baseline", "write", *PATHS, "--force"),
    "help": ("--help",),
    **{f"{name} --help": (name, "--help") for name in COMMANDS},
}
TEXTS = {**PAINTED, **PLAIN}
# One line for each finding or change of the code, whatever the width.
UNWRAPPED = ("concise", "diff")


@pytest.fixture(autouse=True)
def sources(tmp_path: Path) -> None:
    shutil.copy(ROOT / "fixtures" / WITNESS, tmp_path)
    shutil.copy(ROOT / "fixtures" / "kv101_bad_node_watch_forgets_route.py", tmp_path / LONG)
    (tmp_path / "conn.py").write_text(backend())
    (tmp_path / "plain.py").write_text("x = 1\n")


@pytest.mark.parametrize("name", TEXTS)
def test_colours_on_a_terminal(name: str) -> None:
    seen = on_terminal(*TEXTS[name], columns=200).terminal
    assert seen
    assert (ESCAPE in without_status(seen)) == (name in PAINTED)


@pytest.mark.parametrize(
    ("name", "environment", "option"),
    [
        *((name, {"NO_COLOR": "1"}, ()) for name in PAINTED),
        ("rules", {"TERM": "dumb"}, ()),
        ("rules", {}, ("--color", "never")),
    ],
)
def test_no_colours_on_a_terminal(
    name: str, environment: dict[str, str], option: tuple[str, ...]
) -> None:
    seen = on_terminal(*PAINTED[name], *option, environment=environment).terminal
    assert ESCAPE not in without_status(seen)
    coloured = on_terminal(*PAINTED[name]).terminal
    assert without_status(seen) == without_colours(without_status(coloured))


@pytest.mark.parametrize("name", PAINTED)
def test_colours_in_a_pipe(name: str) -> None:
    plain = piped(*PAINTED[name])
    assert ESCAPE.encode() not in plain
    painted = piped(*PAINTED[name], environment={"FORCE_COLOR": "1"})
    assert ESCAPE.encode() in painted
    assert painted == piped(*PAINTED[name], "--color", "always")
    assert without_colours(painted.decode()) == plain.decode()


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in UNWRAPPED])
def test_nothing_is_wider_than_the_terminal(name: str, columns: int) -> None:
    seen = without_colours(without_status(on_terminal(*TEXTS[name], columns=columns).terminal))
    for line in seen.splitlines():
        if not (name.startswith("explain") and line.startswith("    ")):  # code is never broken
            assert len(line) <= columns


def test_a_title_that_does_not_fit_has_its_own_line() -> None:
    narrow = without_colours(on_terminal(*FULL, columns=80).terminal).splitlines()
    place = next(line for line in narrow if line.startswith(LONG))
    assert place == f"{LONG}:63:17:"
    title = narrow[narrow.index(place) + 1]
    assert title == "  error KV101 pop-without-terminal [fix C]"
    wide = without_colours(on_terminal(*FULL, columns=200).terminal)
    assert f"{place} {title.strip()}\n" in wide


@pytest.mark.parametrize(("columns", "lanes"), [(80, False), (99, False), (100, True), (200, True)])
def test_lanes_from_100_columns_on(columns: int, lanes: bool) -> None:
    seen = on_terminal(*FULL, columns=columns).terminal
    assert ("┌ " in seen) == lanes
    assert ("● " in seen) == lanes


@pytest.mark.parametrize("name", ["full", "rules", "explain", "table", "help"])
def test_columns_beats_the_terminal(name: str) -> None:
    told = on_terminal(*TEXTS[name], columns=200, environment={"COLUMNS": "60"}).terminal
    assert without_status(told) == without_status(on_terminal(*TEXTS[name], columns=60).terminal)


def test_rules_on_a_narrow_terminal() -> None:
    lines = without_colours(on_terminal("rules", columns=50).terminal).splitlines()
    assert lines[:3] == [
        "KV101  pop-without-terminal",
        "       A per-room entry is removed on a path that",
        "       may leave the room's status non-terminal.",
    ]


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", ["full", "table"])
def test_ascii_on_a_terminal(name: str, columns: int) -> None:
    pretty = on_terminal(*TEXTS[name], columns=columns).terminal
    plain = on_terminal(*TEXTS[name], "--ascii", columns=columns).terminal
    assert not pretty.isascii()
    assert plain.isascii()


@pytest.mark.parametrize("name", TEXTS)
def test_a_stdout_that_lacks_the_characters(name: str, tmp_path: Path) -> None:
    odd = "räume_☃.py"
    (tmp_path / odd).write_text((tmp_path / LONG).read_text())
    argv = tuple(odd if word == LONG else word for word in TEXTS[name])
    text = piped(*argv, environment={"PYTHONIOENCODING": "ascii"}).decode("ascii")
    assert (odd in argv and name != "baseline") == ("r\\xe4ume_\\u2603.py" in text)


def without_status(terminal: str) -> str:
    """Without the line that only a run longer than usual shows."""
    import re

    return re.sub(r"\r\x1b\[K(?:kvlint: [^\r\n]*(?=\r))?", "", terminal)


def piped(*argv: str, environment: dict[str, str] | None = None) -> bytes:
    """The bytes on stdout of a process of its own, without the caller's settings."""
    kept = {n: v for n, v in os.environ.items() if n not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-m", "kvlint", *argv],
        capture_output=True,
        env={**kept, **(environment or {})},
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
