"""Work shared with a child gets done, each piece once, whatever becomes of the child."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from kvlint.discover import pair
from tests.discover.trees import needs_fork, together


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process ids of the children that are started."""
    started: list[int] = []
    whole = os.fork

    def noting() -> int:
        pid = whole()
        started.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noting, raising=False)
    return started


def left(children: list[int]) -> bool:
    """Whether the only child is still there, or was never waited for."""
    (pid,) = children
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


@pytest.mark.parametrize("fork", [False, pytest.param(True, marks=needs_fork)])
@pytest.mark.parametrize("pieces", [0, 1, 7, pair.MOST_PIECES])
def test_each_piece_is_done_once(pieces: int, fork: bool) -> None:
    done = list(pair.in_turns(pieces, lambda piece: piece * piece, fork=fork))
    assert sorted(done) == [(piece, piece * piece) for piece in range(pieces)]


@needs_fork
def test_both_take_part(tmp_path: Path, children: list[int]) -> None:
    done = dict(pair.in_turns(20, together(tmp_path), fork=True))
    assert len(done) == 20
    assert set(done.values()) == {os.getpid(), *children}
    assert not left(children)


@needs_fork
def test_where_nobody_waits_for_children() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        done = list(pair.in_turns(5, lambda piece: piece, fork=True))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert sorted(done) == [(piece, piece) for piece in range(5)]


@needs_fork
def test_the_child_goes_on_while_the_caller_is_busy(tmp_path: Path) -> None:
    """It fills the pipe and waits there; what is more than the pipe holds gets through."""
    parts: dict[int, bytes] = {}
    who = together(tmp_path)
    for piece, (pid, data) in pair.in_turns(
        30, lambda n: (who(n), bytes([n]) * 100_000), fork=True
    ):
        parts[piece] = data
        if pid == os.getpid():
            time.sleep(0.01)
    assert parts == {piece: bytes([piece]) * 100_000 for piece in range(30)}


@needs_fork
@pytest.mark.parametrize("message", [b"", b"\0", b"\0\0\1\0", b"\0\0\1\0part of it"])
def test_what_a_dead_child_leaves_is_done_here(
    message: bytes, tmp_path: Path, children: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(writing: int, data: bytes) -> None:
        os.write(writing, message)
        os._exit(9)

    monkeypatch.setattr(pair, "_send", dying)
    done = list(pair.in_turns(20, together(tmp_path), fork=True))
    assert sorted(done) == [(piece, os.getpid()) for piece in range(20)]
    assert not left(children)


@needs_fork
def test_an_error_in_the_child_is_met_again_here(tmp_path: Path, children: list[int]) -> None:
    """Nobody hears the child; its piece is done a second time, where an error can be seen."""
    parent, who = os.getpid(), together(tmp_path)
    pieces = tmp_path / "pieces"

    def work(piece: int) -> int:
        if who(piece) != parent:
            pieces.write_text(str(piece))
            raise ValueError("in the child")
        if pieces.exists() and pieces.read_text() == str(piece):
            raise ValueError("here")
        return piece

    with pytest.raises(ValueError, match="here"):
        list(pair.in_turns(20, work, fork=True))
    assert not left(children)


@needs_fork
def test_a_caller_that_stops_leaves_no_child(tmp_path: Path, children: list[int]) -> None:
    turns = pair.in_turns(pair.MOST_PIECES, together(tmp_path), fork=True)
    next(turns)
    turns.close()
    assert not left(children)


@pytest.mark.parametrize("name", ["fork", "pipe"])
def test_nothing_to_be_had_from_the_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process, or no second pipe: nothing stays open."""
    whole, pipes = os.pipe, []

    def refusing() -> tuple[int, int]:
        if name == "fork" or pipes:
            raise OSError(11, "Resource temporarily unavailable")
        pipes.append(whole())
        return pipes[0]

    closed: list[int] = []
    really = os.close

    def noting(end: int) -> None:
        closed.append(end)
        really(end)

    monkeypatch.setattr(os, name, refusing, raising=False)
    monkeypatch.setattr(os, "close", noting)
    assert list(pair.in_turns(3, lambda piece: piece, fork=True)) == [(0, 0), (1, 1), (2, 2)]
    assert len(closed) == (4 if name == "fork" else 2)
