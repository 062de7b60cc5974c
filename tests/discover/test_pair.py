"""Work shared with a child gets done, each piece once, whatever becomes of the child."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlint.discover import pair

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
PATIENCE = 30  # seconds


def children_left() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def together(folder: Path) -> Callable[[int], int]:
    """Work that tells who did it, and that nobody ends before the other one has begun with it."""
    parent, marks = os.getpid(), (folder / "parent", folder / "child")

    def work(piece: int) -> int:
        marks[os.getpid() != parent].touch()
        end = time.monotonic() + PATIENCE
        while not all(mark.exists() for mark in marks) and time.monotonic() < end:
            time.sleep(0.001)
        return os.getpid()

    return work


@pytest.mark.parametrize("fork", [False, pytest.param(True, marks=needs_fork)])
@pytest.mark.parametrize("pieces", [0, 1, 7, pair.MOST_PIECES])
def test_each_piece_is_done_once(pieces: int, fork: bool) -> None:
    done = list(pair.in_turns(pieces, lambda piece: piece * piece, fork=fork))
    assert sorted(done) == [(piece, piece * piece) for piece in range(pieces)]
    assert not children_left()


@needs_fork
def test_both_take_part(tmp_path: Path) -> None:
    done = dict(pair.in_turns(20, together(tmp_path), fork=True))
    assert len(done) == 20
    assert len(set(done.values())) == 2
    assert os.getpid() in done.values()


@needs_fork
def test_the_child_goes_on_while_the_caller_is_busy(tmp_path: Path) -> None:
    """It fills the pipe and waits there; what is more than the pipe holds gets through."""
    parts: dict[int, bytes] = {}
    for piece, data in pair.in_turns(30, lambda piece: bytes([piece]) * 100_000, fork=True):
        parts[piece] = data
        time.sleep(0.002)
    assert parts == {piece: bytes([piece]) * 100_000 for piece in range(30)}


@needs_fork
@pytest.mark.parametrize("message", [b"", b"\0", b"\0\0\1\0", b"\0\0\1\0part of it"])
def test_what_a_dead_child_leaves_is_done_here(
    message: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(writing: int, data: bytes) -> None:
        os.write(writing, message)
        os._exit(9)

    monkeypatch.setattr(pair, "_send", dying)
    done = list(pair.in_turns(20, together(tmp_path), fork=True))
    assert sorted(done) == [(piece, os.getpid()) for piece in range(20)]
    assert not children_left()


@needs_fork
def test_an_error_in_the_child_is_met_again_here() -> None:
    """Nobody hears the child; its piece is done a second time, where an error can be seen."""

    def work(piece: int) -> int:
        if piece == 3:
            raise ValueError("no")
        return piece

    with pytest.raises(ValueError, match="no"):
        list(pair.in_turns(20, work, fork=True))
    assert not children_left()


@needs_fork
def test_a_caller_that_stops_leaves_no_child(tmp_path: Path) -> None:
    turns = pair.in_turns(pair.MOST_PIECES, together(tmp_path), fork=True)
    next(turns)
    turns.close()
    assert not children_left()


def test_no_process_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refusing, raising=False)
    before = len(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else 0
    assert list(pair.in_turns(3, lambda piece: piece, fork=True)) == [(0, 0), (1, 1), (2, 2)]
    assert before == (len(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else 0)
