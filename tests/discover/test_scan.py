"""A second process changes the time of a run and nothing else."""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kvlint.discover import load, pair, scan
from kvlint.discover.project import load_project
from tests.discover.trees import MANAGER, backend, linted, needs_fork, together, write


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


@pytest.fixture
def in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a small run uses a second process, and there are several pieces."""
    monkeypatch.setattr(scan, "_WORTH_A_FORK", 0)
    monkeypatch.setattr(scan, "_PIECE", 3)
    monkeypatch.setattr(pair, "may_fork", lambda: True)


@needs_fork
def test_two_processes_find_the_same(
    tree: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = outcome(tree)
    request.getfixturevalue("in_two")
    who, whole = together(tmp_path_factory.mktemp("marks")), scan._looked_at

    def with_the_other(paths: Sequence[str]) -> list[list[object]]:
        who(paths)
        return whole(paths)

    monkeypatch.setattr(scan, "_looked_at", with_the_other)
    assert outcome(tree) == alone


@needs_fork
def test_a_child_that_dies_is_no_loss(
    tree: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = outcome(tree)
    request.getfixturevalue("in_two")
    who, whole = together(tmp_path_factory.mktemp("marks")), scan._looked_at
    parent = os.getpid()

    def dying(paths: Sequence[str]) -> list[list[object]]:
        if who(paths) != parent:
            os._exit(3)
        return whole(paths)

    monkeypatch.setattr(scan, "_looked_at", dying)
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


@needs_fork
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

    def refusing() -> int:
        forks.append(1)
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pair, "may_fork", lambda: True)
    monkeypatch.setattr(os, "fork", refusing, raising=False)
    load_project(["."], cwd=str(tree))
    assert not forks


def test_with_other_threads_around_there_is_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: 1, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert pair.may_fork()
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not pair.may_fork()


@pytest.mark.parametrize("change", ["", "def (\n", "# more\n" * 9 + MANAGER, None])
def test_a_file_that_changes_while_others_are_read(
    tree: Path, change: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text and its tree are of one moment, and an error in it is reported."""
    changed = tree / "pkg" / "base.py"
    whole = load.scan

    def slow(*args: Any) -> scan.Scan:
        found = whole(*args)
        if change is None:
            changed.unlink()
        else:
            changed.write_text(change)
        return found

    monkeypatch.setattr(load, "scan", slow)
    project = load_project(["."], cwd=str(tree))
    known = [m for m in project.modules.values() if m.display == "pkg/base.py"]
    reported = [gap.message for gap in project.problems if gap.path == "pkg/base.py"]
    if change is None or change.startswith("def"):
        assert not known
        assert len(reported) == 1
    else:
        assert not reported
        assert [m.source for m in known] == [change]
        assert ast.dump(known[0].tree, include_attributes=True) == ast.dump(
            ast.parse(change), include_attributes=True
        )
