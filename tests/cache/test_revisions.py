"""The analysis of a revision is stored like that of the files on disk."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Check, entries, write
from .test_results import same


@pytest.fixture(autouse=True)
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory is a repository with a backend, and a package itself."""
    for name in [name for name in os.environ if name.startswith("GIT")]:
        monkeypatch.delenv(name)
    write("__init__.py", "")
    write("pkg/old.py", BAD)
    write("pkg/deep/other.py", "x = 1\n")
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "x"]):
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *who, *command], check=True)


GIVEN = (".", "--isolated", "--diff-base", "HEAD")


def test_both_are_taken_from_the_cache(check: Check, folder: Path, analyses: list[object]) -> None:
    write("pkg/old.py", GOOD)
    fresh = check(*GIVEN, "-v", "--no-cache")
    assert "0 introduced, 3 fixed, 0 standing" in fresh.out
    del analyses[:]
    same(check(*GIVEN, "-v"), fresh)
    assert (len(analyses), len(entries(folder))) == (2, 2)
    same(check(*GIVEN, "-v"), fresh)
    assert (len(analyses), len(entries(folder))) == (2, 2)
    write("pkg/old.py", f"{GOOD}\n")
    check(*GIVEN)
    assert len(analyses) == 3


def test_a_result_with_paths_of_the_temporary_folder_is_not_stored(
    check: Check, folder: Path, analyses: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("pkg/old.py", GOOD)
    monkeypatch.chdir("pkg/deep")
    given = ("..", "--isolated", "--diff-base", "HEAD", "-v")
    fresh = check(*given, "--no-cache")
    assert "0 introduced, 3 fixed, 0 standing" in fresh.out
    del analyses[:]
    for count in (2, 3):  # that of the files on disk is found
        same(check(*given), fresh)
        assert (len(analyses), len(entries(folder))) == (count, 1)


def test_a_path_beside_a_subfolder_is_found_again(
    check: Check, folder: Path, analyses: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its files lie under another name each time."""
    write("pkg/old.py", GOOD)
    monkeypatch.chdir("pkg/deep")
    given = (".", "../deep/other.py", "../../__init__.py", "--isolated", "--diff-base", "HEAD")
    first = check(*given)
    stored = entries(folder)
    del analyses[:]
    same(check(*given), first)
    assert (len(analyses), entries(folder)) == (0, stored)


def test_a_tree_as_it_was_has_nothing_new(check: Check) -> None:
    assert "0 introduced, 0 fixed, 3 standing" in check(*GIVEN).out
