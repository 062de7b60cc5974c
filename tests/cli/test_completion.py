"""Completion, as a real bash asks for it; the scripts of the other shells are only printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint import catalog
from kvlint.cli.completer import every_command
from kvlint.cli.main import COMMANDS

from .conftest import Run

SHELLS = ("bash", "zsh", "fish")
BASH = shutil.which("bash")
ASK = """
source ./script
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
complete -p kvlint >/dev/null || exit 9
_python_argcomplete kvlint
printf '%s\\n' "${COMPREPLY[@]}"
"""
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")


@pytest.fixture
def path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in the way of a shell, and its script in the working directory."""
    command = tmp_path / "bin" / "kvlint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kvlint "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    (tmp_path / "script").write_text(run("completion", "bash").out)


def asked(line: str) -> list[str]:
    """What bash offers at the end of a line."""
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", ASK, "ask", line], capture_output=True, text=True, check=True
    )
    assert done.stderr.replace("bash: ", "") == "" or "compopt" in done.stderr
    return done.stdout.split()


@needs_bash
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kvlint ch", ["check"]),
        ("kvlint ", list(COMMANDS)),
        ("kvlint check --outp", ["--output-format"]),
        ("kvlint check --output-format ", ["full", "concise", "github", "json", "sarif", "junit"]),
        ("kvlint rules --output-format ", ["full", "json"]),
        ("kvlint check --fail-on=w", ["warning"]),
        ("kvlint explain KV10", [f"KV10{n}" for n in range(1, 9)]),
        ("kvlint explain tra", ["transient-after-failed"]),
        ("kvlint check --select KV101,KV20", ["KV101,KV201", "KV101,KV202", "KV101,KV203"]),
        ("kvlint check --ignore thread-e", ["thread-exit"]),
        ("kvlint fix --select ", ["A", "B", "C", "D", "E"]),
        ("kvlint fix --select A,l", ["A,lock-update"]),
        ("kvlint baseline w", ["write"]),
        ("kvlint completion ", list(SHELLS)),
        ("kvlint check --color a", ["auto", "always"]),
        ("kvlint fix --no-", ["--no-verify"]),
        ("kvlint check a_ba", ["a_backend.py"]),
        ("kvlint check --config a_ba", ["a_backend.py"]),
        ("kvlint check --max-states ", []),
    ],
)
def test_bash_asks(path: None, tmp_path: Path, line: str, offered: list[str]) -> None:
    (tmp_path / "a_backend.py").touch()
    assert sorted(asked(line)) == sorted(offered)


@needs_bash
def test_a_person_presses_tab(path: None) -> None:
    pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    screen = pressed(("kvlint ch", "check "), ("--outp", "put-format "), ("js", "json "))
    assert "<kvlint check --output-format json >" in screen


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_is_known(path: None, command: str, run: Run) -> None:
    usage = run(command, "--help").out
    options = re.findall(r"--[a-z][a-z-]+", usage)
    offered = asked(f"kvlint {command} --") if BASH is not None else []
    whole = every_command()
    assert BASH is None or sorted(set(options)) == sorted(offered)
    assert command in whole.format_usage()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert "kvlint" in result.out
    # The script of bash is the one of zsh, too.
    assert ("complete --command kvlint" in result.out) == (shell == "fish")
    assert ("compdef _python_argcomplete kvlint" in result.out) == (shell != "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(run: Run, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    script = run("completion", shell).out
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_without_the_library(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    line = "kvlint: error: completion needs argcomplete: pip install 'kvlint[completion]'\n"
    assert run("completion", "bash") == (2, "", line)
    hidden = "import sys; sys.modules['argcomplete'] = None; from kvlint.cli import entry; entry()"
    done = subprocess.run(
        [sys.executable, "-c", hidden],
        env={**os.environ, "_ARGCOMPLETE": "1"},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_run_does_not_import_it(tmp_path: Path) -> None:
    code = (
        "import sys; from kvlint.cli import main; main(['rules']); "
        "sys.exit(any(m.startswith(('argcomplete', 'kvlint.cli.comple')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@needs_bash
def test_rules_are_those_of_the_catalogue(path: None) -> None:
    pages = [rule.id for rule in catalog.rules()]
    assert sorted(asked("kvlint explain KV")) == pages


def pressed(*words: tuple[str, str]) -> str:
    """What an interactive bash makes of these keys, each with a tab and what it then shows."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        try:
            variables = {**os.environ, "PS1": "READY:", "TERM": "dumb"}
            os.execve(str(BASH), ["bash", "--norc", "--noprofile", "-i"], variables)
        finally:
            os._exit(99)
    _until(terminal, "READY:")
    os.write(terminal, b"source ./script\n")
    _until(terminal, "READY:")
    for keys, shown in words:
        os.write(terminal, keys.encode() + b"\t")
        _until(terminal, shown)
    # At the start of the line `echo "<`, and at its end `>"`: bash prints it instead.
    os.write(terminal, b'\x01echo "<\x05>"\n')
    seen = _until(terminal, ">\r\nREADY:")
    os.write(terminal, b"exit\n")
    os.close(terminal)
    os.waitpid(child, 0)
    return seen


def _until(terminal: int, end: str) -> str:
    """What comes to the terminal until it ends like this; nothing for a minute is a failure."""
    import select

    seen = ""
    while not seen.endswith(end):
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"bash waits after {seen!r}"
        seen += os.read(terminal, 1 << 16).decode()
    return seen
