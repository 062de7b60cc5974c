"""`kvlint fix` as a user sees it: what it prints where, what it exits with, what it touches."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ..conftest import Snapshot
from ..running import report, run
from .backends import STICKY, Call, backend, changes, fix, git, repository

RECORDS = """
def record_failure(self, room, reason):
    self.failures[room] = reason

"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with one backend in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "conn.py").write_text(backend(rest=RECORDS))
    return tmp_path


def test_a_run_that_writes(folder: Path, snapshot: Snapshot) -> None:
    call = fix("conn.py")
    snapshot("written.txt", shown(call))
    assert "KVPoll.Success" in "".join(changes(backend(rest=RECORDS), text()))


def test_a_second_run_writes_nothing(folder: Path, snapshot: Snapshot) -> None:
    fix("conn.py")
    after = text()
    snapshot("again.txt", shown(fix("conn.py")))
    assert text() == after


def test_unsafe_fixes_as_well(folder: Path, snapshot: Snapshot) -> None:
    snapshot("unsafe.txt", shown(fix("conn.py", "--unsafe-fixes")))
    assert (
        run(["check", "conn.py", "--isolated", "--select", "KV101,KV102,KV103,KV104,KV201"])[0] == 0
    )
    snapshot("unsafe.again.txt", shown(fix("conn.py", "--unsafe-fixes")))


def test_the_diff_alone_is_on_stdout(folder: Path, snapshot: Snapshot) -> None:
    call = fix("conn.py", "--diff")
    snapshot("diff.txt", shown(call))
    assert text() == backend(rest=RECORDS)


def test_git_applies_the_diff(folder: Path) -> None:
    call = fix("conn.py", "--diff")
    fix("conn.py")
    wanted = text()
    (folder / "conn.py").write_text(backend(rest=RECORDS))
    with repository(folder):
        git(folder, "apply", "--whitespace=error", given=call.out.encode())
        assert text() == wanted


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("with space.py", backend().encode()),
        ("r\u00e4ume.py", backend().encode()),
        ("crlf.py", backend().replace("\n", "\r\n").encode()),
        ("mark.py", b"\xef\xbb\xbf" + backend().encode()),
        ("latin.py", ("# coding: latin-1\n# \u00e9\n" + backend()).encode("latin-1")),
        ("end.py", backend().rstrip("\n").encode()),
        ("mixed.py", backend().replace("\n\n", "\r\n\n").encode()),
    ],
)
def test_git_applies_the_diff_of_any_file(name: str, data: bytes, folder: Path) -> None:
    file = folder / name
    file.write_bytes(data)
    diff = capture("fix", "--isolated", "--diff", "--no-verify", name)
    fix(name, "--no-verify")  # how a file is written has nothing to do with the proof
    wanted = file.read_bytes()
    assert wanted != data
    file.write_bytes(data)
    with repository(folder):
        git(folder, "config", "core.autocrlf", "false")
        git(folder, "apply", given=diff)
        assert file.read_bytes() == wanted


def capture(*argv: str) -> bytes:
    """The bytes that the command, as a process of its own, prints on stdout."""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "kvlint", *argv], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr.decode()
    return done.stdout


def test_check_writes_nothing_and_fails_if_something_would_change(folder: Path) -> None:
    before = text()
    call = fix("conn.py", "--check")
    assert call.code == 1
    assert call.out.startswith("Keep terminal states, conclude the rooms of skipped chunks\n")
    assert call.err.endswith("kvlint: would fix 8 findings with 2 changes in 1 file\n")
    assert text() == before
    fix("conn.py")
    assert fix("conn.py", "--check").code == fix("conn.py", "--diff").code == 0


def test_the_proof_says_what_a_check_says(folder: Path) -> None:
    proof = " ".join(fix("conn.py").out.split("Proof:")[1].split())
    (searched,) = report("check", "conn.py")["searched"]
    assert searched["complete"]
    assert (
        f"- {searched['class']}: 2 threads ({', '.join(searched['threads'])}) and the scheduler, "
        f"1 room, 2 chunks, at most {searched['preemptions']} narrow switches (those with 1 "
        f"chunk): {searched['states']} states, complete"
    ) in proof


def test_no_verify_says_so(folder: Path) -> None:
    fix("conn.py")
    proven = text()
    (folder / "conn.py").write_text(backend(rest=RECORDS))
    call = fix("conn.py", "--no-verify")
    assert text() == proven
    assert "\nNot verified: the rewritten sources were not analysed again.\n" in call.out
    assert "Proof" not in call.out
    (folder / "conn.py").write_text(backend(rest=RECORDS))
    assert "Proof" in fix("conn.py", "--no-verify", "--verify").out


def test_select(folder: Path) -> None:
    options = ("conn.py", "--check", "--no-verify")
    assert "B (safe)" not in fix(*options, "--select", "a").out
    named = fix(*options, "--select", "sticky-terminal,conclude-skip").out
    assert named == fix(*options).out
    assert "B (safe)" in named


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--select", "Z"], "--select: unknown fix 'Z' (known: A, B, C, D, E)"),
        (
            ["--select", "sticky-terminl"],
            "--select: unknown fix 'sticky-terminl' (did you mean sticky-terminal?)",
        ),
        (["--select", ""], "--select: no fix is named (an unset variable?)"),
        (["--unsafe"], "unknown option '--unsafe' (did you mean --unsafe-fixes?)"),
        (["missing.py"], "no such file or folder: missing.py"),
    ],
)
def test_wrong_use(argv: list[str], line: str) -> None:
    assert fix(*argv) == Call(2, "", f"kvlint: error: {line}\n")


def test_files_that_were_not_named_are_not_touched(folder: Path) -> None:
    (folder / "conn.py").rename(folder / "base.py")
    heir = "from base import KVPoll, Manager\n\n\nclass Backend(Manager):\n    pass\n"
    (folder / "heir.py").write_text(heir)
    call = fix("heir.py")
    assert call.code == 1
    assert "(fix A): base.py is not among the paths to fix\n" in call.err
    assert (folder / "base.py").read_text() == backend(rest=RECORDS)
    assert sorted(os.listdir(folder)) == ["base.py", "heir.py"]


def test_the_configuration_selects_what_is_fixed(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.kvlint]\nselect = ["KV102"]\n')
    code, out, _ = run(["fix", "conn.py", "--check"])
    assert (code, "sticky" in out) == (1, False)


def test_nothing_to_fix_where_there_is_no_backend(folder: Path) -> None:
    (folder / "other.py").write_text("x = 1\n")
    assert fix("other.py") == Call(0, "", "kvlint: nothing to fix\n")


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    call = fix("broken.py")
    assert (call.code, call.out) == (1, "")
    assert re.fullmatch(r"kvlint: broken.py:1: .*\nkvlint: nothing to fix\n", call.err)


def test_a_search_that_gave_up_does_not_look_as_if_there_were_nothing(folder: Path) -> None:
    (folder / "conn.py").write_text(backend(STICKY, skip="pass\n"))
    assert fix("conn.py").code == 0
    call = fix("conn.py", "--max-states", "5")
    assert (call.code, call.out) == (2, "")
    assert "kvlint: the search gave up in Manager: raise --max-states (5)\n" in call.err


def test_the_code_is_never_run(folder: Path) -> None:
    trap = backend(rest=RECORDS) + "\nopen('ran', 'w').close()\n"
    (folder / "conn.py").write_text(trap)
    assert fix("conn.py").code == 0
    assert not (folder / "ran").exists()


def test_the_check_does_not_import_the_rewriter() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from kvlint.cli import main; main(['check', 'conn.py', '--isolated']); "
        "sys.exit(any(m.startswith(('libcst', 'kvlint.fix')) for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def text() -> str:
    """The backend as it is now."""
    return Path("conn.py").read_text()


def shown(call: Call) -> str:
    """All that a call prints, for a snapshot; how many states a search has is no promise."""
    printed = f"exit {call.code}\n--- stdout\n{call.out}--- stderr\n{call.err}"
    return re.sub(r"(1 chunk\):\s)[0-9]+(\s+states)", r"\1N\2", printed)
