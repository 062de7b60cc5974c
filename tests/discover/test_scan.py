"""A second process changes the time of a run and nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from kvlint.discover import pair, scan
from kvlint.discover.project import load_project
from kvlint.discover.source import read_bytes
from tests.discover.trees import backend, linted, write


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    backend(tmp_path)
    backend(tmp_path, "zoo")
    write(tmp_path, {f"m{i}.py": "class C(Base):\n    pass\n" for i in range(20)})
    (tmp_path / "zoo" / "big.py").write_bytes(b"x" * 6_000_000)
    return tmp_path


def outcome(tree: Path) -> object:
    project = load_project(["."], cwd=str(tree))
    return linted(project), project.problems, list(project.modules)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@pytest.fixture
def in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a small run uses a second process, and there are several pieces."""
    monkeypatch.setattr(scan, "_WORTH_A_FORK", 0)
    monkeypatch.setattr(scan, "_PIECE", 3)
    monkeypatch.setattr(pair, "may_fork", lambda: True)


@needs_fork
def test_two_processes_find_the_same(
    tree: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = outcome(tree)
    forks: list[int] = []
    whole = os.fork

    def counting() -> int:
        forks.append(1)
        return whole()

    request.getfixturevalue("in_two")
    monkeypatch.setattr(os, "fork", counting)
    assert outcome(tree) == alone
    assert forks


@needs_fork
def test_a_child_that_dies_is_no_loss(
    tree: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = outcome(tree)
    request.getfixturevalue("in_two")
    parent = os.getpid()
    whole = read_bytes

    def dying(path: str) -> bytes:
        if os.getpid() != parent:
            os._exit(3)
        return whole(path)

    monkeypatch.setattr(scan, "read_bytes", dying)
    assert outcome(tree) == alone


@needs_fork
@pytest.mark.usefixtures("in_two")
def test_what_is_needed_next_is_prepared_once(tree: Path) -> None:
    calls: list[int] = []
    load_project(["."], cwd=str(tree), meanwhile=lambda: calls.append(os.getpid()))
    assert calls == [os.getpid()]


def test_a_small_run_prepares_nothing(tree: Path) -> None:
    calls: list[int] = []
    load_project(["."], cwd=str(tree), meanwhile=lambda: calls.append(1))
    assert not calls


@pytest.mark.usefixtures("in_two")
def test_pieces_are_as_large_as_they_must_be(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "MOST_PIECES", 2)
    counts: list[int] = []
    whole = pair.in_turns

    def counting(pieces: int, work: Any, *, fork: bool) -> Any:
        counts.append(pieces)
        return whole(pieces, work, fork=fork)

    monkeypatch.setattr(pair, "in_turns", counting)
    load_project(["."], cwd=str(tree))
    assert counts == [2]


def test_small_runs_do_not_fork(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forks: list[int] = []
    monkeypatch.setattr(pair, "may_fork", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: forks.append(1), raising=False)
    load_project(["."], cwd=str(tree))
    assert not forks


def test_with_other_threads_around_there_is_no_fork() -> None:
    through = threading.Event()
    other = threading.Thread(target=through.wait)
    other.start()
    try:
        assert not pair.may_fork()
    finally:
        through.set()
        other.join()
