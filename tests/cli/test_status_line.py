"""How far a long run is, on a real terminal; nothing of it anywhere else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint import progress
from tests.fix.backends import backend, fix, git
from tests.locations import ROOT

from .conftest import Run
from .terminals import on_terminal

pytest.importorskip("pty", reason="this system has no pseudo-terminals")

AT_ONCE = "import kvlint.cli.status_line as s; s.DELAY = s.INTERVAL = 1e-3"
NEVER = "import kvlint.cli.status_line as s; s.DELAY = s.INTERVAL = 1e6"
FORKS = "; import kvlint.search.parallel as p; p.WORTH_A_FORK = 1"
ERASE = "\r\x1b[K"
FIXTURES = ("kv103_bad_max_over_aborted_sender.py", "kv101_bad_node_watch_forgets_route.py")


@pytest.fixture(autouse=True)
def backends(tmp_path: Path) -> None:
    for name in FIXTURES:
        shutil.copy(ROOT / "fixtures" / name, tmp_path)
    (tmp_path / "conn.py").write_text(backend())


def stages(terminal: str) -> list[str]:
    """The stages in the order in which they were shown, each once."""
    shown = re.findall(r"\r\x1b\[Kkvlint: ([^\r\n]*) \(\d+ s\)", terminal)
    return list(dict.fromkeys(shown))


def left(terminal: str) -> str:
    """What stands on the terminal in the end."""
    return re.sub(r"[^\n]*\r\x1b\[K", "", terminal)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_check(jobs: str) -> None:
    argv = ("check", *FIXTURES, "--isolated", "--jobs", jobs)
    plain = on_terminal(*argv, before=NEVER)
    seen = on_terminal(*argv, before=AT_ONCE + FORKS)
    assert stages(seen.terminal)[-3:] == [
        "searching, 0 of 2 classes",
        "searching, 1 of 2 classes",
        "searching, 2 of 2 classes",
    ]
    assert left(seen.terminal) == plain.terminal
    assert ERASE not in plain.terminal
    assert seen.code == plain.code == 1


def test_stdout_has_no_trace_of_it() -> None:
    argv = ("check", *FIXTURES, "--isolated")
    seen = on_terminal(*argv, before=AT_ONCE, stdout="out.txt")
    assert "searching, 1 of 2 classes" in stages(seen.terminal)
    assert left(seen.terminal) == ""
    assert seen.stdout == on_terminal(*argv, before=NEVER, stdout="out.txt").stdout


def test_fix() -> None:
    argv = ("fix", "conn.py", "--isolated", "--check")
    seen = on_terminal(*argv, before=AT_ONCE)
    shown = stages(seen.terminal)
    assert "making the changes" in shown
    assert shown[-1] == "proof: searching, 1 of 1 classes"
    assert left(seen.terminal) == on_terminal(*argv, before=NEVER).terminal


def test_every_proof_of_a_fix_that_is_refused_as_a_whole() -> None:
    heard: list[str] = []
    with progress.told_to(heard.append):
        assert fix("conn.py", "--check", "--max-states", "60").code == 1
    assert list(dict.fromkeys(stage.partition(":")[0] for stage in heard if ":" in stage)) == [
        "proof",
        "proof of change 1 of 2",
        "proof of change 2 of 2",
    ]


def test_baseline() -> None:
    seen = on_terminal("baseline", "write", *FIXTURES, "--isolated", before=AT_ONCE)
    assert "searching, 1 of 2 classes" in stages(seen.terminal)
    assert re.fullmatch(r"wrote \d+ findings to kvlint-baseline.json\n", left(seen.terminal))


def test_table() -> None:
    seen = on_terminal("table", *FIXTURES, "--isolated", before=AT_ONCE)
    assert left(seen.terminal) == on_terminal("table", *FIXTURES, "--isolated").terminal


def test_diff_base(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    argv = ("check", *FIXTURES, "--isolated", "--diff-base", "HEAD")
    seen = on_terminal(*argv, before=AT_ONCE)
    assert "the revision: searching, 1 of 2 classes" in stages(seen.terminal)
    assert "standing since HEAD" in left(seen.terminal)
    assert seen.code == 0


def test_a_note_stands_on_a_clean_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    seen = on_terminal(
        *("check", *FIXTURES, "--isolated", "-v"),
        before=AT_ONCE,
        environment={"KVLINT_CACHE_DIR": "file", "KVLINT_NO_CACHE": ""},
        stdout="out.txt",
    )
    notes = [line for line in left(seen.terminal).splitlines() if "note:" in line]
    assert notes == [f"kvlint: note: no cache: {tmp_path}/file/kvlint-results: Not a directory"]


def test_a_terminal_that_does_not_tell_its_size() -> None:
    seen = on_terminal(
        "check", *FIXTURES, "--isolated", before=AT_ONCE, columns=0, stdout="out.txt"
    )
    assert "searching, 1 of 2 classes" in stages(seen.terminal)


def test_an_error_stands_on_a_clean_line() -> None:
    broken = "; import kvlint.discover.project as d; d.load_project = None"
    seen = on_terminal("check", *FIXTURES, before=AT_ONCE + broken)
    assert left(seen.terminal).startswith("kvlint: error: internal error: TypeError: ")
    assert seen.code == 2


@pytest.mark.parametrize("columns", [30, 24])
def test_it_stays_on_its_line(columns: int) -> None:
    seen = on_terminal(
        "check", *FIXTURES, "--isolated", before=AT_ONCE, columns=columns, stdout="out.txt"
    )
    drawn = [part for part in seen.terminal.split(ERASE) if part]
    assert drawn
    assert max(map(len, drawn)) == columns - 1


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"CI": "true"}])
def test_not_where_a_line_cannot_be_taken_back(environment: dict[str, str]) -> None:
    seen = on_terminal("check", *FIXTURES, before=AT_ONCE, environment=environment)
    assert "KV103" in seen.terminal
    assert ERASE not in seen.terminal


def test_not_on_a_terminal_that_another_program_records() -> None:
    """As pre-commit does: the terminal is not the one that this session sits at."""
    import pty

    ours, theirs = pty.openpty()
    code = f"{AT_ONCE}\nfrom kvlint.cli import main; main(['check', {FIXTURES[0]!r}])"
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "KV103" in seen
    assert ERASE not in seen


def test_not_in_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvlint.cli import status_line

    monkeypatch.setattr(status_line, "DELAY", 1e-3)
    assert run("check", *FIXTURES, "--isolated").err == ""


def test_the_timer_of_a_caller_is_left_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("kvlint.cli.status_line.StatusLine.is_foreground", lambda _: True)
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 1e6)
    try:
        assert run("check", *FIXTURES, "--isolated").code == 1
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
