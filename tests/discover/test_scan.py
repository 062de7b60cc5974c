"""A second process changes the time of a run and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.discover import scan
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


@needs_fork
def test_two_processes_find_the_same(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = outcome(tree)
    forks: list[int] = []
    whole = os.fork

    def counting() -> int:
        forks.append(1)
        return whole()

    monkeypatch.setattr(scan, "_may_fork", lambda count: True)
    monkeypatch.setattr(os, "fork", counting)
    assert outcome(tree) == alone
    assert forks


@needs_fork
def test_a_child_that_dies_is_no_loss(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = outcome(tree)
    monkeypatch.setattr(scan, "_may_fork", lambda count: True)
    parent = os.getpid()
    whole = read_bytes

    def dying(path: str) -> bytes:
        if os.getpid() != parent:
            os._exit(3)
        return whole(path)

    monkeypatch.setattr(scan, "read_bytes", dying)
    assert outcome(tree) == alone


def test_no_process_to_be_had(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = outcome(tree)

    def refusing() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(scan, "_may_fork", lambda count: True)
    monkeypatch.setattr(os, "fork", refusing, raising=False)
    assert outcome(tree) == alone


def test_small_runs_do_not_fork() -> None:
    assert not scan._may_fork(100)
