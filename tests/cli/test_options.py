"""Every option that --help names does something: the same call without it ends otherwise.

A new option fails here until it has a case. Each case also shows that it would notice: with the
option's value thrown away, the call ends like the one without it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from kvlint import analysis
from kvlint.cli.main import COMMANDS
from kvlint.cli.options import Parser
from kvlint.search.evidence import Bounds, Evidence
from kvlint.search.system import System
from tests.fix.backends import backend, git

from .conftest import Run

CONFIGURED = '[tool.kvlint]\nignore = ["KV104"]\nexclude = ["gap.py"]\n'
OTHER = '[tool.kvlint]\nignore = ["KV102"]\n'
# What a run of each command needs, for an internal error in it.
NEEDS = {
    "baseline": "kvlint.discover.project.load_project",
    "cache": "kvlint.cache.place.folder",
    "completion": "argcomplete.shell_integration.shellcode",
    "explain": "kvlint.catalog.folder",
    "fix": "kvlint.fix.overlay.load_project",
    "rules": "kvlint.catalog.folder",
}


class Case(NamedTuple):
    """A call that ends otherwise with `words`, which begin with the option.

    `broken` says that something in it raises an error that no one expects, `cached` that there is
    a cache, in the folder `cache`.
    """

    call: str
    words: str
    broken: bool = False
    cached: bool = False


def _inputs(call: str, here: str) -> dict[str, Case]:
    return {
        "--exclude": Case(here, "--exclude conn.py"),
        "--config": Case(call, "--config other.toml"),
        "--isolated": Case(call, "--isolated"),
    }


def _selection(call: str) -> dict[str, Case]:
    return {
        "--select": Case(call, "--select KV102"),
        "--ignore": Case(call, "--ignore KV102"),
        "--per-file-ignores": Case(call, "--per-file-ignores conn.py:KV102"),
        "--show-latent": Case(call, "--show-latent"),
    }


def _search(call: str) -> dict[str, Case]:
    return {
        "--preemptions": Case(call, "--preemptions 0"),
        "--max-states": Case(call, "--max-states 5"),
        "--max-seconds": Case(call, "--max-seconds 1e-9"),
        "--jobs": Case(call, "--jobs 1"),
    }


def _common(call: str) -> dict[str, Case]:
    return {"--help": Case(call, "--help"), "--version": Case(call, "--version")}


CHECK, FIX, WRITE = "check conn.py", "fix conn.py --check", "baseline write conn.py"
CASES = {
    "check": {
        **_inputs(CHECK, "check ."),
        **_selection(CHECK),
        **_search(CHECK),
        **_common(CHECK),
        "--no-cache": Case(CHECK, "--no-cache", cached=True),
        "--output-format": Case(CHECK, "--output-format json"),
        "--sarif-output": Case(CHECK, "--sarif-output out.sarif"),
        "--sarif-fixes": Case(f"{CHECK} --output-format sarif", "--sarif-fixes"),
        "--diff-base": Case(CHECK, "--diff-base HEAD"),
        "--fail-on": Case(f"{CHECK} --select KV201", "--fail-on error"),
        "--baseline": Case(CHECK, "--baseline known.json"),
        "--show-settings": Case(CHECK, "--show-settings"),
        "--statistics": Case(CHECK, "--statistics"),
        "--verbose": Case(CHECK, "--verbose"),
        "--color": Case(CHECK, "--color always"),
        "--ascii": Case(f"{CHECK} --output-format full", "--ascii"),
    },
    "baseline": {
        **_inputs(WRITE, "baseline write ."),
        **_selection(WRITE),
        **_search(WRITE),
        **_common(WRITE),
        "--no-cache": Case(WRITE, "--no-cache", cached=True),
        "--baseline": Case(WRITE, "--baseline other.json"),
        "--force": Case(f"{WRITE} --baseline known.json", "--force"),
        "--verbose": Case(WRITE, "--verbose", broken=True),
    },
    "fix": {
        **_inputs(FIX, "fix . --check"),
        **_search(FIX),
        **_common(FIX),
        "--select": Case(FIX, "--select B"),
        "--unsafe-fixes": Case(FIX, "--unsafe-fixes"),
        "--diff": Case("fix conn.py", "--diff"),
        "--check": Case("fix conn.py", "--check"),
        "--verify": Case(f"{FIX} --no-verify", "--verify"),
        "--no-verify": Case(FIX, "--no-verify"),
        "--color": Case("fix conn.py --diff", "--color always"),
        "--verbose": Case(FIX, "--verbose", broken=True),
    },
    "cache": {
        **_common("cache dir"),
        "--verbose": Case("cache dir", "--verbose", broken=True),
    },
    "table": {
        **_inputs("table .", "table ."),
        **_common("table conn.py"),
        "--output-format": Case("table conn.py", "--output-format json"),
        "--color": Case("table conn.py", "--color always"),
        "--ascii": Case("table conn.py", "--ascii"),
        "--verbose": Case("table gap.py", "--verbose"),
    },
    "explain": {
        **_common("explain KV103"),
        "--color": Case("explain KV103", "--color always"),
        "--verbose": Case("explain KV103", "--verbose", broken=True),
    },
    "rules": {
        **_common("rules"),
        "--output-format": Case("rules", "--output-format json"),
        "--color": Case("rules", "--color always"),
        "--verbose": Case("rules", "--verbose", broken=True),
    },
    "completion": {
        **_common("completion bash"),
        "--verbose": Case("completion bash", "--verbose", broken=True),
    },
}


def parser_of(command: str) -> Parser:
    parser = Parser(prog=command)
    import_module(f"kvlint.cli.{command}").add_options(parser)
    return parser


def options() -> Iterator[tuple[str, str]]:
    """Each option string of each command."""
    for command in COMMANDS:
        for action in parser_of(command)._actions:
            yield from ((command, option) for option in action.option_strings)


def spelling(command: str, option: str) -> str:
    """The spelling of an option under which it has its case."""
    if option in CASES[command]:
        return option
    action = parser_of(command)._option_string_actions[option]
    return next(other for other in action.option_strings if other in CASES[command])


class Outcome(NamedTuple):
    """All that a call leaves: its end, its output, the files, and how many processes it wanted.

    Of files in folders only the names are kept: an entry of the cache holds times.
    """

    code: int
    out: str
    err: str
    files: dict[str, bytes]
    jobs: list[int | None]


@pytest.fixture
def outcome(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Outcome]:
    """Run a call in a folder that is always the same."""
    jobs: list[int | None] = []
    honest = analysis.gather_all

    def gather_all(
        systems: Sequence[System], bounds: Bounds, asked: int | None = None
    ) -> Iterator[Evidence]:
        jobs.append(asked)
        return honest(systems, bounds, 1)

    monkeypatch.setattr(analysis, "gather_all", gather_all)

    def call(*argv: str) -> Outcome:
        folder = tmp_path / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        monkeypatch.chdir(folder)
        _fill(folder, known)
        jobs.clear()
        code, out, err = run(*argv)
        files = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
        files |= {str(p.relative_to(folder)): b"" for p in folder.glob("cache/**/*")}
        return Outcome(code, out, err, files, list(jobs))

    known = "{}"
    call("rules")
    assert run("baseline", "write", "conn.py").code == 0
    known = (tmp_path / "folder" / "kvlint-baseline.json").read_text()
    return call


def _fill(folder: Path, known: str) -> None:
    (folder / "conn.py").write_text(backend())
    (folder / "gap.py").write_text(backend() + "\n\nclass Heir(Heir, Manager):\n    pass\n")
    (folder / "pyproject.toml").write_text(CONFIGURED)
    (folder / "other.toml").write_text(OTHER)
    (folder / "known.json").write_text(known)
    git(folder, "init", "--quiet")
    git(folder, "add", "conn.py")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")


@pytest.mark.parametrize(("command", "option"), list(options()))
def test_every_option_does_something(
    outcome: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    name = spelling(command, option)
    case = CASES[command][name]
    words = [option, *case.words.split()[1:]]
    if case.cached:
        monkeypatch.delenv("KVLINT_NO_CACHE")
        monkeypatch.setenv("KVLINT_CACHE_DIR", "cache")
    if case.broken:
        monkeypatch.setattr(NEEDS[command], _raise)
    without = outcome(*case.call.split())
    with_it = outcome(*case.call.split(), *words)
    assert with_it != without
    assert with_it.code == 0 or not with_it.err.startswith("kvlint: error: unknown")
    if name not in ("--help", "--version"):  # the parser itself ends with these
        _ignore(monkeypatch, command, option, case)
        assert outcome(*case.call.split(), *words) == without


def _raise(*_: object, **__: object) -> None:
    raise RuntimeError("nobody expects this")


def _ignore(monkeypatch: pytest.MonkeyPatch, command: str, option: str, case: Case) -> None:
    """From here on, what the option gives is replaced by what its absence gives."""
    action = parser_of(command)._option_string_actions[option]
    absent = getattr(parser_of(command).parse_all(case.call.split()[1:]), action.dest)
    honest = Parser.parse_all

    def parse_all(self: Parser, arguments: Sequence[str]) -> argparse.Namespace:
        parsed = honest(self, arguments)
        setattr(parsed, action.dest, absent)
        return parsed

    monkeypatch.setattr(Parser, "parse_all", parse_all)
    # Tracebacks do not wait for the parser, which may be what fails.
    monkeypatch.setattr(sys.modules["kvlint.cli.main"], "_is_verbose", lambda _: False)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_case_is_one_of_an_option(command: str) -> None:
    known = {option for name, option in options() if name == command}
    assert CASES[command].keys() <= known


def test_options_are_not_abbreviated() -> None:
    parser = Parser(prog="x")
    parser.add_argument("--output-format")
    assert parser.parse_known_args(["--output", "json"])[1] == ["--output", "json"]
