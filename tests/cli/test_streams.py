"""Colour, width and encoding of stdout; pipes that close."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from kvlint.cli import main
from kvlint.cli.streams import style_for

from .conftest import Engine, Run

ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("color", "environment", "terminal", "coloured"),
    [
        ("auto", {}, False, False),
        ("auto", {}, True, True),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(
    run: Run,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    color: str,
    environment: dict[str, str],
    terminal: bool,
    coloured: bool,
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for command in (["check", "."], ["table", "."], ["explain", "KV101"], ["rules"]):
        assert (ESCAPE in run(*command, "--color", color).out) == coloured


def test_colours_change_nothing_else(run: Run, engine: Engine) -> None:
    import re

    for command in ("check", "table"):
        argv = (command, ".", "--output-format", "full", "--color")
        painted = run(*argv, "always").out
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == run(*argv, "never").out


def test_json_has_no_colours(run: Run, engine: Engine) -> None:
    assert ESCAPE not in run("check", ".", "--output-format", "json", "--color", "always").out


@pytest.mark.parametrize(("columns", "width"), [("72", 72), ("3", 20), ("x", 100), ("", 100)])
def test_columns(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert style_for("auto").width == width


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_any_encoding_of_stdout(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    from dataclasses import replace

    first = replace(engine.report.findings[0], message="a snowman ☃ and a lone surrogate \udcff")
    engine.report.findings = [first]
    for form in ("full", "concise", "json"):
        raw = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding))
        assert main(["check", ".", "--output-format", form]) == 1
        text = raw.getvalue().decode(encoding)
        assert "\\u2603" in text or ("☃" in text and encoding == "utf-8")


def test_a_stdout_without_encoding_or_file(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.StringIO()
    monkeypatch.setattr("sys.stdout", memory)
    assert main(["check", ".", "--output-format", "full"]) == 1
    assert "KV104" in memory.getvalue()
    monkeypatch.setattr("sys.stdout", None)
    assert main(["check", "."]) == 1


def test_a_full_disk_is_one_line(run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    result = run("check", ".")
    assert result.code == 2
    assert result.err == "kvlint: error: cannot write the output: No space left on device\n"


def test_a_reader_that_goes_away_does_not_change_the_status() -> None:
    script = (
        "import os,sys; os.close(0); from kvlint.cli import entry; sys.argv[1:]=['rules']; entry()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()


def test_module_and_script_are_the_same_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "kvlint", "rules"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("KV101")
    wrong = subprocess.run([sys.executable, "-m", "kvlint", "x"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (2, "")
