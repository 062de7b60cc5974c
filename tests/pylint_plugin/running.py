"""Run the real pylint with the plugin, and read what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

KINDS = {"error": "error", "warning": "warning", "refactor": "note"}
JOBS = ("-j1", "-j2")
# Nothing of pylint's own, no score that changes from run to run, no file left behind.
OPTIONS = (
    *("--load-plugins=kvlint.pylint", "--disable=all", "--enable=kvlint,E0001"),
    *("--score=n", "--persistent=n"),
)
_OF_THE_CALLER = ("PYLINT", "PYTHON", "NO_COLOR", "FORCE_COLOR", "GITHUB")


class Done(NamedTuple):
    """What one call gave."""

    code: int
    out: str
    err: str


def pylint(folder: Path, *argv: str, stdin: str = "", options: tuple[str, ...] = OPTIONS) -> Done:
    """Call pylint in a folder."""
    return python(folder, "-m", "pylint", *options, *argv, stdin=stdin)


def python(folder: Path, *argv: str, stdin: str = "", **environment: str) -> Done:
    """Call the interpreter in a folder, without what the caller's environment asks for."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_OF_THE_CALLER)}
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        env={**kept, "PYLINTHOME": str(folder / ".pylint"), **environment},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def lines(done: Done) -> list[str]:
    """The messages of pylint's text format."""
    assert done.err == ""
    return [line for line in done.out.splitlines() if not line.startswith("*****")]


Place = tuple[str, int, int, int, int, str, str]


def said(folder: Path, *argv: str) -> list[Place]:
    """Place, rule and severity of each message about a rule; columns count as kvlint counts."""
    done = pylint(folder, "--output-format=json2", *argv)
    assert done.err == ""
    return sorted(_place(m) for m in json.loads(done.out)["messages"] if m["messageId"][3] != "0")


def _place(message: dict[str, Any]) -> Place:
    rule = message["symbol"].partition("-")[0].upper()
    span = (message["line"], message["column"] + 1, message["endLine"], message["endColumn"] + 1)
    return (message["path"], *span, rule, KINDS[message["type"]])


def found(folder: Path, *argv: str) -> list[Place]:
    """The same of `kvlint check`."""
    done = python(folder, "-m", "kvlint", "check", "--output-format", "json", *argv)
    assert done.code in (0, 1), done.err
    keys = ("path", "line", "column", "end_line", "end_column", "rule", "severity")
    return sorted(tuple(f[key] for key in keys) for f in json.loads(done.out)["findings"])
