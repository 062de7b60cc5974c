"""What a long run is at, on a line of the terminal that is gone when the run is done.

A timer's signal draws it, not a thread: the search forks, and a fork copies no other thread, only
the locks that it holds. The progress libraries draw from a thread, or only when something is done,
and would have to be told all that is decided here: when, where, and where not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from kvlint.cli.streams import above, is_terminal, width_of
from kvlint.progress import told_to
from kvlint.report.style import DEFAULT_WIDTH

DELAY = 2.0  # seconds that nobody minds to wait
INTERVAL = 1.0  # seconds between two drawings in which only the time changes
_ERASE = b"\r\x1b[K"


@contextmanager
def status_line() -> Iterator[None]:
    """While the block runs, stderr shows how far it is, if a person sits there and it takes long.

    A log, a pipe and a CI service get nothing.
    """
    line = StatusLine()
    if not _wanted() or not line.is_foreground():
        yield
        return
    import signal

    before = signal.signal(signal.SIGALRM, line.draw)
    signal.setitimer(signal.ITIMER_REAL, DELAY, INTERVAL)
    try:
        with told_to(line.tell), above(line.erase):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        line.erase()


class StatusLine:
    """The last line of the terminal that stderr is."""

    def __init__(self) -> None:
        self._stage = ""
        self._start = monotonic()
        self._drawn = False

    def tell(self, stage: str) -> None:
        """Take note of a new stage; a line that is there changes at once."""
        self._stage = stage
        if self._drawn:
            self.draw()

    def draw(self, *_: object) -> None:
        """Show the stage and the time since the start."""
        if not self._stage or not self.is_foreground():
            return
        text = f"kvlint: {self._stage} ({monotonic() - self._start:.0f} s)"
        self._drawn = True
        # One cell stays free: a full line would go on in the next one.
        self._write(_ERASE + text[: self._width() - 1].encode("ascii", "replace"))

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self._drawn:
            self._write(_ERASE)

    def is_foreground(self) -> bool:
        """Whether this run has the terminal: not `kvlint check &`, nor one that a hook records."""
        with suppress(OSError, ValueError):
            return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
        return False

    def _width(self) -> int:
        with suppress(OSError):
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
            return min(width_of(sys.stderr), columns or DEFAULT_WIDTH)  # 0: it does not tell
        return 1

    def _write(self, data: bytes) -> None:
        # Past the stream, which may be in the middle of a line when the signal comes.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), data)


def _wanted() -> bool:
    """Whether stderr is a terminal that can take a line back, and the timer is free."""
    if os.environ.get("CI") or os.environ.get("TERM") == "dumb" or not is_terminal(sys.stderr):
        return False
    import signal
    import threading

    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()  # others get no signals
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )
