"""Runs beside each other, a run that is killed, and what git sees of all that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Check, entries, state, write

KVLINT = [sys.executable, "-m", "kvlint", "check", "--isolated", "."]

# The entry is written, and not yet put in place.
STOPS = """
import os, sys, time
from kvlint.cli import main

def wait(*_):
    print("writing", flush=True)
    time.sleep(600)

os.replace = wait
main(["check", "--isolated", "."])
"""


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def partials(folder: Path) -> list[Path]:
    return list(folder.glob("*.partial"))


def test_two_runs_at_a_time(check: Check, folder: Path) -> None:
    write("one.py", BAD)
    alone = check(".", "--isolated", "--no-cache")
    assert not folder.exists()
    both = [start(KVLINT) for _ in range(2)]
    for process in both:
        out, err = process.communicate()
        assert (process.returncode, out.decode(), err) == (1, alone.out, b"")
    assert len(entries(folder)) == 1
    assert partials(folder) == []
    found = check(".", "--isolated")
    assert found.hit
    assert found[:3] == alone[:3]


def test_a_run_beside_a_writer_and_one_that_clears(check: Check, folder: Path) -> None:
    write("one.py", BAD)
    alone = check(".", "--isolated", "--no-cache")
    clear = [sys.executable, "-m", "kvlint", "cache", "clear"]
    for _ in range(3):
        runs = [start(KVLINT), start(clear), start(KVLINT), start(clear)]
        for process in runs:
            out, err = process.communicate()
            if process.args == KVLINT:
                assert (process.returncode, out.decode(), err) == (1, alone.out, b"")
            else:
                assert (process.returncode, err) == (0, b"")


def test_a_run_that_is_killed_while_it_writes(check: Check, folder: Path) -> None:
    write("one.py", BAD)
    alone = check(".", "--isolated", "--no-cache")
    process = start([sys.executable, "-c", STOPS])
    assert process.stdout is not None
    assert process.stdout.readline().rstrip() == b"writing"
    process.kill()
    process.communicate()
    [left] = partials(folder)
    assert entries(folder) == []

    made, found = check(".", "--isolated"), check(".", "--isolated")
    assert (made.hit, found.hit) == (False, True)
    assert made[:3] == found[:3] == alone[:3]
    assert left.exists()  # another run may still be at it

    os.utime(left, (0, 0))
    write("one.py", GOOD)
    check(".", "--isolated")
    assert not left.exists()
    assert len(entries(folder)) == 2


@pytest.mark.parametrize("place", ["../cache", ".cache", "."])
def test_git_sees_nothing_of_it(check: Check, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    for name in [name for name in os.environ if name.startswith("GIT")]:
        monkeypatch.delenv(name)
    write("pkg/one.py", BAD)
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], check=True)
    before = git_status()
    monkeypatch.setenv("KVLINT_CACHE_DIR", place)
    tree = state(Path("pkg"))
    for hit in (False, True):
        assert check().hit is hit
        assert git_status() == before
        assert state(Path("pkg")) == tree


def git_status() -> str:
    command = ["git", "--no-optional-locks", "status", "--porcelain"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
