"""The README says what is so. `python -m tests.test_readme` renews its table of rules."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from kvlint.findings import Finding, Gap, Related, Report, Searched, Span, Step, TransitionTable
from kvlint.report.json import render

from .locations import ROOT
from .releases.fetch import required
from .running import run

README = ROOT / "README.md"
START = "<!-- rules: written by `python -m tests.test_readme` -->\n"
END = "<!-- end of rules -->"
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)


def test_the_rule_table_is_current() -> None:
    assert _renewed(_text()) == _text(), "run python -m tests.test_readme"


def test_every_rule_is_in_the_changelog_or_a_range_of_it() -> None:
    from kvlint.catalog import rules

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    ranges = re.findall(r"KV(\d{3})(?: to KV(\d{3}))?", changelog)
    named = {n for first, last in ranges for n in range(int(first), int(last or first) + 1)}
    assert [rule.id for rule in rules() if int(rule.id[2:]) not in named] == []


def test_every_option_exists() -> None:
    prose = BLOCK.sub("", _text())
    _, usage, _ = run(["check", "--help"])
    named = set(re.findall(r"`(--[a-z][a-z-]+)", prose))
    assert named - {"--help"} <= set(re.findall(r"--[a-z][a-z-]+", usage))


def test_every_command_exists() -> None:
    for command in set(re.findall(r"`kvlint ([a-z]+)", _text())):
        code, usage, _ = run([command, "--help"])
        assert code == 0
        assert command in usage


def test_every_json_key_is_named() -> None:
    span = Span("a.py", 1)
    finding = Finding(
        *("KV103", "", "", "", span, "", "", "", "", ""),
        related=(Related(span, ""),),
        witness=(Step(1, "", "", 1, "", "", ""),),
    )
    table = TransitionTable("", "", 1, "", "", {"A": 0}, (), (), {})
    whole = Report([finding], [table], [Searched("", (), 0, 0, False)], [Gap("", 1, "")])
    printed = re.findall(r'"([a-z_]+)":', render(whole, whole.findings))
    assert [key for key in printed if f'"{key}"' not in _text()] == []


def test_ci_runs_the_test_command() -> None:
    _, tests = _blocks()
    setup, command = tests.splitlines()[-2:]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert setup in script
    assert command in script


@pytest.mark.releases
def test_the_first_block_prints_the_findings_of_a_release(tmp_path: Path) -> None:
    first, _ = _blocks()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", first],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not required() and "onnection" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    assert re.search(r"nixl/conn\.py:\d+:\d+: .*KV107", done.stdout)


def _text() -> str:
    return README.read_text(encoding="utf-8")


def _blocks() -> tuple[str, str]:
    first, second = BLOCK.findall(_text())
    return first, second


def _renewed(text: str) -> str:
    before, rest = text.split(START)
    _, after = rest.split(END)
    return before + START + _rule_table() + END + after


def _rule_table() -> str:
    from kvlint.catalog import rules

    rows = [f"| {rule.id} | {rule.name} | {rule.summary()} |\n" for rule in rules()]
    return "".join(["| id | name | finds |\n", "|---|---|---|\n", *rows])


if __name__ == "__main__":
    README.write_text(_renewed(_text()), encoding="utf-8")
