"""Run the command in this process and read what it printed."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERIOUS = ("error", "warning")


@dataclass(frozen=True, order=True)
class Found:
    """The part of a finding that the tests compare."""

    path: Path
    line: int
    rule: str
    verdict: str
    severity: str
    message: str

    @property
    def serious(self) -> bool:
        """Whether a run without flags would show it."""
        return self.severity in SERIOUS


class CommandFailed(Exception):
    """The command ended with a code that is neither clean nor findings."""


def run(argv: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one call."""
    from kvlint.cli import main

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(argv))
        except SystemExit as end:  # how argparse ends `--help` and a usage error
            code = end.code if isinstance(end.code, int) else 2
    return code, out.getvalue(), err.getvalue()


def report(*argv: str) -> dict[str, Any]:
    """The JSON report of a call that must end with 0 or 1."""
    code, out, err = run([*argv, "--isolated", "--output-format", "json"])
    if code not in (0, 1):
        raise CommandFailed(f"kvlint {' '.join(argv)}: exit {code}\n{err}")
    loaded: dict[str, Any] = json.loads(out)
    return loaded


def check(*paths: Path) -> list[Found]:
    """Every finding in `paths`, the latent ones too."""
    loaded = report("check", "--show-latent", *map(str, paths))
    return sorted(as_found(finding) for finding in loaded["findings"])


def as_found(finding: dict[str, Any]) -> Found:
    """One finding of the JSON report."""
    return Found(
        path=Path(finding["path"]).resolve(),
        line=finding["line"],
        rule=finding["rule"],
        verdict=finding["verdict"],
        severity=finding["severity"],
        message=finding["message"],
    )
