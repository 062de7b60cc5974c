"""The Python files of a revision, read from git's objects; nothing is checked out.

They are laid out in a temporary folder outside the checkout: which files exist decides as much
about an analysis as what is in them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kvlint.discover.ignore import SUFFIXES
from kvlint.errors import UsageError
from kvlint.hints import one_line

_FILE_MODES = (b"100644", b"100755")
_IGNORES = b".gitignore"
_ENDINGS = tuple(suffix.encode() for suffix in SUFFIXES)


@dataclass(frozen=True)
class Tree:
    """A revision's files below `folder`; `top` is the checkout that they stand for."""

    folder: str
    top: str
    commit: str

    def at(self, path: str) -> str:
        """Where a path of the checkout is in the tree."""
        inside = os.path.relpath(os.path.realpath(path), self.top)
        if inside == os.pardir or inside.startswith(os.pardir + os.sep):
            raise UsageError(f"{path} lies outside the repository {self.top}")
        return os.path.normpath(os.path.join(self.folder, inside))


@contextmanager
def revision(name: str) -> Iterator[Tree]:
    """The tree of a revision, for as long as the context lasts.

    Raises `UsageError` outside a repository and for a name that means no commit.
    """
    top = _git(["rev-parse", "--show-toplevel"], ".").decode("utf-8", "surrogateescape").strip()
    commit = _commit(name, top)
    with tempfile.TemporaryDirectory(prefix="kvlint-") as folder:
        # Names of folders count for names of modules: the top one keeps its own.
        folder = os.path.join(os.path.realpath(folder), os.path.basename(top) or "top")
        os.makedirs(os.path.join(folder, ".git"))  # so far up go the .gitignore files
        _lay_out(top, commit, folder)
        yield Tree(folder, os.path.realpath(top), commit)


def _commit(name: str, top: str) -> str:
    if name.startswith("-"):
        raise UsageError(f"'{one_line(name)}' is not a revision")
    wanted = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        return _git(wanted, top).decode("ascii").split()[-1]
    except UsageError:
        shallow = _git(["rev-parse", "--is-shallow-repository"], top).strip() == b"true"
        hint = " (the clone is shallow: fetch more of its history)" if shallow else ""
        raise UsageError(f"git knows no revision '{one_line(name)}'{hint}") from None


def _lay_out(top: str, commit: str, folder: str) -> None:
    wanted = list(_listed(top, commit))
    names = b"".join(blob + b"\n" for blob, _ in wanted)
    data = _git(["cat-file", "--batch"], top, names)
    at = 0
    for _, path in wanted:
        end = data.index(b"\n", at)
        if data.endswith(b" missing", at, end):
            raise UsageError(f"git does not have {os.fsdecode(path)} of {commit}")
        size = int(data[at:end].rpartition(b" ")[2])
        _write(folder, path, data[end + 1 : end + 1 + size])
        at = end + 1 + size + 1  # a line feed follows the content


def _listed(top: str, commit: str) -> Iterator[tuple[bytes, bytes]]:
    """Blob and path of each file that an analysis may read; no links and no submodules."""
    for entry in _git(["ls-tree", "-r", "-z", "--full-tree", commit], top).split(b"\0"):
        head, _, path = entry.partition(b"\t")
        name = path.rpartition(b"/")[2]
        if head[:6] in _FILE_MODES and (name == _IGNORES or path.endswith(_ENDINGS)):
            yield head.split(b" ")[2], path


def _write(folder: str, path: bytes, content: bytes) -> None:
    full = os.path.join(os.fsencode(folder), *path.split(b"/"))
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as file:
        file.write(content)


def _git(argv: Sequence[str], folder: str, given: bytes = b"") -> bytes:
    # No optional lock: a check must not write even to the index.
    command = ["git", "--no-optional-locks", "-C", folder, *argv]
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    except OSError as error:
        raise UsageError(f"cannot run git: {error.strerror or error}") from None
    if done.returncode:
        raise UsageError(f"git: {_complaint(done.stderr.decode('utf-8', 'replace'))}")
    return done.stdout


def _complaint(stderr: str) -> str:
    """The line that says what is wrong; hints may stand before and after it."""
    said = [one_line(line) for line in stderr.splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in said if line.startswith("fatal: ")]
    return (fatal or said or ["failed"])[0]
