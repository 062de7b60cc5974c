"""Small backends as text, and the command run on them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from ..running import run

ENUM = """\
class KVPoll:
    Failed = 0
    Bootstrapping = 1
    WaitingForInput = 2
    Transferring = 3
    Success = 4
"""
TEMPLATE = """\
import queue
import threading


{enum}

class Manager:
    def __init__(self, agent, socket):
        self.agent = agent
        self.socket = socket
        self.request_status = {{}}
        self.transfer_infos = {{}}
        self.chunks = queue.Queue()
        self.lock = threading.RLock()
        threading.Thread(target=self.bootstrap).start()
        threading.Thread(target=self.transfer_worker).start()

{update}
{rest}
    def check_status(self, room):
        return self.request_status[room]

    def bootstrap(self):
        while True:
            message = self.socket.recv_multipart()
            if message[0] == b"ABORT":
                room = int(message[1].decode())
{abort}
                continue
            room = int(message[0].decode())
            self.transfer_infos[room] = {{message[1]: message[2]}}
            self.update_status(room, KVPoll.WaitingForInput)

    def transfer_worker(self):
        while True:
            chunk = self.chunks.get()
            room = chunk.room
{skip}
            self.update_status(room, KVPoll.Transferring)
            handle = self.agent.transfer(chunk)
            while self.agent.state(handle) == "PROC":
                pass
            if chunk.is_last:
                self.update_status(room, KVPoll.Success)
            else:
                self.update_status(room, KVPoll.Transferring)


class Sender:
    def __init__(self, mgr: Manager, room: int):
        self.mgr = mgr
        self.room = room
        self.mgr.update_status(room, KVPoll.Bootstrapping)

    def send(self, pages, is_last: bool):
        self.mgr.chunks.put(Chunk(self.room, pages, is_last=is_last))

    def poll(self):
        return self.mgr.check_status(self.room)

    def fail(self):
        self.mgr.update_status(self.room, KVPoll.Failed)

    def clear(self):
        self.mgr.request_status.pop(self.room, None)
        self.mgr.transfer_infos.pop(self.room, None)


class Receiver:
    def __init__(self, mgr: Manager, room: int):
        self.room = room

    def init(self):
        self.socket.send_multipart([str(self.room).encode(), b"address", b"pages"])

    def abort(self):
        self.socket.send_multipart([b"ABORT", str(self.room).encode()])


class Chunk:
    def __init__(self, room, pages, is_last):
        self.room = room
        self.pages = pages
        self.is_last = is_last
"""
UNSAFE = """\
def update_status(self, room, status):
    if room not in self.request_status or status == KVPoll.Failed:
        self.request_status[room] = status
    else:
        self.request_status[room] = max(self.request_status[room], status)
"""
STICKY = """\
def update_status(self, room, status):
    if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):
        return
    self.request_status[room] = status
"""
ABORT = """\
if room in self.request_status:
    self.update_status(room, KVPoll.Failed)
self.transfer_infos.pop(room, None)
"""
FORGET = "self.transfer_infos.pop(room, None)\n"  # an abort that writes no status
SKIP = """\
if room not in self.transfer_infos:
    continue
"""


def backend(
    update: str = UNSAFE, skip: str = SKIP, rest: str = "", enum: str = ENUM, abort: str = ABORT
) -> str:
    """A backend with these parts."""
    return TEMPLATE.format(
        enum=enum,
        update=indent(dedent(update), " " * 4),
        skip=indent(dedent(skip), " " * 12),
        rest=indent(dedent(rest), " " * 4),
        abort=indent(dedent(abort), " " * 16),
    )


@dataclass(frozen=True)
class Call:
    """What one call of `kvlint fix` gave, and the files after it."""

    code: int
    out: str
    err: str


def fix(*argv: str) -> Call:
    """Run the command."""
    return Call(*run(["fix", "--isolated", *argv]))


@dataclass(frozen=True)
class Fixed:
    """A file before and after a call."""

    before: str
    after: str
    call: Call

    @property
    def added(self) -> list[str]:
        """The lines of the diff that the call brought, without context."""
        return [line for line in changes(self.before, self.after) if line[0] in "+-"]


def fixed(source: str, folder: Path, *argv: str) -> Fixed:
    """Fix one file in a folder; every option but the path is `argv`."""
    file = folder / "conn.py"
    file.write_bytes(source.encode())
    call = fix(str(file), *argv)
    return Fixed(source, file.read_bytes().decode(), call)


def changes(before: str, after: str) -> list[str]:
    """The changed lines as a diff shows them."""
    from difflib import ndiff

    lines = ndiff(before.splitlines(), after.splitlines())
    return [line[0] + line[2:] for line in lines if line[0] in "+-"]


@contextmanager
def repository(folder: Path) -> Iterator[Path]:
    """A git repository of the folder as it is."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    yield folder
    shutil.rmtree(folder / ".git")


def git(folder: Path, *argv: str, given: bytes = b"") -> bytes:
    """Run git; a failure is a failure of the test."""
    done = subprocess.run(["git", *argv], cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def steps(transitions: Sequence[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """(current, written, result) rows as a set."""
    return set(transitions)
