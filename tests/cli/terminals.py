"""Run the command on a terminal of its own, and read what a person would have seen."""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Mapping
from typing import NamedTuple

TAKEN = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "CI")
SCRIPT = "import sys; {before}\nfrom kvlint.cli import entry; sys.argv[1:] = {argv!r}; entry()"


class Seen(NamedTuple):
    """The exit status, what came to the terminal, and what came to stdout if that is a file."""

    code: int
    terminal: str
    stdout: str = ""


def on_terminal(
    *argv: str,
    columns: int = 80,
    environment: Mapping[str, str] | None = None,
    before: str = "",
    stdout: str | None = None,
) -> Seen:
    """Call kvlint with a terminal as stdin, stderr and, unless `stdout` names a file, stdout.

    `before` is Python that runs first.
    """
    import pty

    kept = {name: value for name, value in os.environ.items() if name not in TAKEN}
    variables = {**kept, "TERM": "xterm", **(environment or {})}
    command = [sys.executable, "-c", SCRIPT.format(before=before, argv=list(argv))]
    child, terminal = pty.fork()
    if child == 0:
        _become(command, variables, columns, stdout)
    seen = _read(terminal)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    written = ""
    if stdout is not None:
        with open(stdout, encoding="utf-8") as file:
            written = file.read()
    return Seen(os.waitstatus_to_exitcode(status), seen, written)


def without_colours(text: str) -> str:
    """The text that a terminal shows."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def _become(
    command: list[str], variables: dict[str, str], columns: int, stdout: str | None
) -> None:
    """In the child: the command, or an end that no test takes for one of its."""
    try:
        import fcntl
        import termios

        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        if stdout is not None:
            os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execve(command[0], command, variables)
    finally:
        os._exit(99)


def _read(terminal: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # how Linux tells that the other end is closed
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode().replace("\r\n", "\n")
