"""The README says what is so. `python -m tests.test_readme` renews its table and its example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kvlint.config import Settings
from kvlint.findings import Finding, Gap, Related, Report, Searched, Span, Step, TransitionTable
from kvlint.report.json import render

from .locations import ROOT
from .running import run

README = ROOT / "README.md"
START = "<!-- rules: written by `python -m tests.test_readme` -->\n"
END = "<!-- end of rules -->"
EXAMPLE_START = "<!-- example: written by `python -m tests.test_readme` -->\n"
EXAMPLE_END = "<!-- end of example -->"
EXAMPLE = ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py"
FOR_THE_TESTS = re.compile(r"  # (?:expect|may): .*")
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)


def test_the_rule_table_is_current() -> None:
    assert _renewed(_text()) == _text(), "run python -m tests.test_readme"


def test_the_example_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    assert _with_example(_text()) == _text(), "run python -m tests.test_readme"


def test_every_rule_is_in_the_changelog_or_a_range_of_it() -> None:
    from kvlint.catalog import rules

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    ranges = re.findall(r"KV(\d{3})(?: to KV(\d{3}))?", changelog)
    named = {n for first, last in ranges for n in range(int(first), int(last or first) + 1)}
    assert [rule.id for rule in rules() if int(rule.id[2:]) not in named] == []


def test_every_option_exists() -> None:
    prose = BLOCK.sub("", _text())
    usage = "".join(run([name, "--help"])[1] for name in ("check", "baseline", "fix"))
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


def test_links_lead_somewhere() -> None:
    for target, heading in re.findall(r"\]\((?!https:)([^)#]+)#?([^)]*)\)", _text()):
        page = (ROOT / target).read_text(encoding="utf-8")
        assert f"## {heading}".strip("# ").lower() in page.lower()


def test_the_defaults_of_the_search_are_current() -> None:
    settings = Settings()
    assert f"| `--preemptions` | {settings.preemptions} |" in _text()
    assert f"| `--max-states` | {settings.max_states} |" in _text()
    assert settings.max_seconds is None
    assert "| `--max-seconds` | no limit |" in _text()


def test_ci_runs_the_blocks_as_they_are() -> None:
    script = _ci_script()
    steps = [line.split()[1] for line in script if line.startswith("readme_block ")]
    assert steps == list(_blocks())
    # Nothing is installed before the second block: it starts with what a new user has.
    installs = [i for i, line in enumerate(script) if line.startswith("pip install")]
    assert min(installs) > script.index("readme_block tests")


def test_ci_prints_the_blocks_word_for_word() -> None:
    for name, block in _blocks().items():
        script = ROOT / ".ci" / "blocks.py"
        done = subprocess.run([sys.executable, script, name], capture_output=True, check=True)
        assert done.stdout.decode() == block


def test_the_steps_of_ci_leave_no_test_out() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (default,) = re.findall(r"^addopts = .* -m '([^']+)'", settings, re.MULTILINE)
    (second,) = [line for line in _ci_script() if " pytest " in line]
    assert default == "not slow"
    assert second.endswith('-m "slow or transfers"')


def test_the_first_block_sets_up_and_checks_a_release() -> None:
    # That it works is a step of CI; what it prints is what other tests of a release are about.
    first = _blocks()["main-job"]
    assert re.search(r'kvlint" check .*"\$work/release/sglang"', first)


def _text() -> str:
    return README.read_text(encoding="utf-8")


def _blocks() -> dict[str, str]:
    main_job, tests = BLOCK.findall(_text())
    return {"main-job": main_job, "tests": tests}


def _ci_script() -> list[str]:
    return (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def _renewed(text: str) -> str:
    before, rest = text.split(START)
    _, after = rest.split(END)
    return before + START + _rule_table() + END + after


def _with_example(text: str) -> str:
    before, rest = text.split(EXAMPLE_START)
    _, after = rest.split(EXAMPLE_END)
    return before + EXAMPLE_START + _example() + EXAMPLE_END + after


def _example() -> str:
    """What kvlint prints for the fixture, under a short name and without the tests' comments."""
    argv = "check pages.py --select KV103 --output-format full --color never --isolated".split()
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        source = FOR_THE_TESTS.sub("", EXAMPLE.read_text(encoding="utf-8"))
        (Path(folder) / "pages.py").write_text(source, encoding="utf-8")
        os.chdir(folder)
        try:
            code, shown, _ = run(argv)
        finally:
            os.chdir(here)
    assert code == 1
    lines = "".join(f"{line.rstrip()}\n" for line in shown.splitlines())
    return f"```\n$ kvlint check pages.py --select KV103\n{lines}```\n"


def _rule_table() -> str:
    from kvlint.catalog import rules

    rows = [f"| {rule.id} | {rule.name} | {rule.summary()} |\n" for rule in rules()]
    return "".join(["| id | name | finds |\n", "|---|---|---|\n", *rows])


if __name__ == "__main__":
    README.write_text(_with_example(_renewed(_text())), encoding="utf-8")
