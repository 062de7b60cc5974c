"""Work in numbered pieces, done by this process and a forked child, whoever is free.

A fork shares the file cache, and all that was made before it, at no cost. What the child finds
comes back through a pipe, so it must be small. On bare pipes, because importing a pool of processes
(`concurrent.futures`) takes a good part of the time that the child saves.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST_PIECES = 256  # a piece that is still to be done is one byte in a pipe
_LENGTH = 4  # bytes that say how long a message is


def may_fork() -> bool:
    """Whether a child can be started here, and would have a CPU of its own."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return False
    # A fork takes only the calling thread along; with others around a lock may stay held.
    threads = sys.modules.get("threading")
    alone = threads is None or threads.active_count() == 1
    return alone and (os.cpu_count() or 1) > 1


def in_turns(
    pieces: int, work: Callable[[int], T], *, fork: bool
) -> Generator[tuple[int, T], None, None]:
    """Each piece, 0 to `pieces` - 1, with what `work` makes of it, in the order they get done.

    At most `MOST_PIECES`; `work` gives plain data that `marshal` knows. With `fork` a child works
    as well, also while the caller looks at what it got; what the child leaves undone, for whatever
    reason, is done here.
    """
    left = dict.fromkeys(range(pieces))
    child = _start(pieces, work) if fork else None
    try:
        while child is not None:
            done = child.sent() or _own(child, work) or child.sent(wait=True)
            if done is None:
                break
            del left[done[0]]
            yield done
    finally:
        if child is not None:
            child.end()
    for piece in left:
        yield piece, work(piece)


def _own(child: _Child[T], work: Callable[[int], T]) -> tuple[int, T] | None:
    piece = _claimed(child.pieces)
    return None if piece is None else (piece, work(piece))


def _claimed(pieces: int) -> int | None:
    """A piece that nobody else gets from this pipe; None if all are taken."""
    taken = os.read(pieces, 1)
    return taken[0] if taken else None


class _Child(Generic[T]):
    """A child that works, seen from its parent."""

    def __init__(self, pid: int, pieces: int, results: int) -> None:
        self.pid, self.pieces, self.results = pid, pieces, results

    def sent(self, *, wait: bool = False) -> tuple[int, T] | None:
        """What the child has done; None if there is nothing yet, or will not be."""
        os.set_blocking(self.results, wait)
        try:
            start = os.read(self.results, _LENGTH)
        except BlockingIOError:
            return None
        os.set_blocking(self.results, True)
        length = self._rest(start, _LENGTH)
        data = self._rest(b"", int.from_bytes(length, "big"))
        if not data:  # it is through, or died
            return None
        done: tuple[int, T] = marshal.loads(data)
        return done

    def _rest(self, data: bytes, length: int) -> bytes:
        """So many bytes of a message, of which these are there; nothing if it breaks off."""
        while len(data) < length:
            more = os.read(self.results, length - len(data))
            if not more:
                return b""
            data += more
        return data

    def end(self) -> None:
        """Wait for the child, which ends when it finds that nobody listens."""
        os.close(self.pieces)
        os.close(self.results)
        with suppress(ChildProcessError):  # where SIGCHLD is ignored, nobody waits
            os.waitpid(self.pid, 0)


def _start(pieces: int, work: Callable[[int], T]) -> _Child[T] | None:
    """A child that takes pieces from a pipe; None if there is no process to be had."""
    ends: list[int] = []
    try:
        ends += os.pipe()
        ends += os.pipe()
        to_do, filling, results, writing = ends
        os.write(filling, bytes(range(pieces)))
        pid = os.fork()
    except OSError:  # too many processes, or too many open files
        for end in ends:
            os.close(end)
        return None
    if pid:
        os.close(filling)
        os.close(writing)
        return _Child(pid, to_do, results)
    # The child ends here whatever happens: nothing of the parent's may run twice.
    try:
        os.close(filling)
        os.close(results)
        while (piece := _claimed(to_do)) is not None:
            done: Any = (piece, work(piece))
            _send(writing, marshal.dumps(done))
    finally:
        os._exit(0)


def _send(writing: int, data: bytes) -> None:
    message = memoryview(len(data).to_bytes(_LENGTH, "big") + data)
    while message:
        message = message[os.write(writing, message) :]
