"""A folder of entries: each one file, written whole or not at all, the oldest removed first.

Nothing is locked. A reader sees an entry as it was before or after a write, as the file is put in
place by a rename; two writers of one entry write the same. What a killed run leaves is a file that
no reader looks at, and that a later run removes.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

MAX_BYTES = 64 << 20
_ABANDONED = 3600  # seconds after which no run still writes an unfinished entry
_ENTRY = re.compile(r"[0-9a-f]{64}\.json")
_PARTIAL = re.compile(r"[0-9a-f]{64}\.[0-9a-f]+\.partial")
_HEAD = b"kvlint "

# So that backups pass the folder over, and git, should it lie in a checkout.
_MARKS = {
    "CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n# Results of kvlint.\n",
    ".gitignore": b"*\n",
}


class Damaged(Exception):
    """An entry is there and cannot be used; its text is the path."""


class Removed(NamedTuple):
    """What `clear` took away."""

    entries: int
    size: int


class _File(NamedTuple):
    used: float  # when an entry was last read or written
    size: int
    name: str


class Store:
    """The entries in one folder, which need not exist yet.

    Only `read` of a damaged entry raises, and `write` and `clear` pass on an `OSError` of a folder
    that cannot be used.
    """

    def __init__(self, folder: str, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def read(self, key: str) -> bytes | None:
        """What was written under the key (64 hexadecimal digits), or nothing."""
        path = self.path(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError:  # not ours to read: as good as not there
            return None
        head, _, body = data.partition(b"\n")
        if head != _head(key, body):
            raise Damaged(path)
        with suppress(OSError):  # a folder that can only be read still serves
            os.utime(path)
        return body

    def write(self, key: str, body: bytes) -> None:
        """Put an entry in place, and remove others if they are too large together."""
        if len(body) > self.max_bytes // 2:
            return
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for name, content in _MARKS.items():
            if not os.path.exists(os.path.join(self.folder, name)):
                self._put(f"{key}.{_unique()}.partial", name, content)
        self._put(f"{key}.{_unique()}.partial", f"{key}.json", _head(key, body) + b"\n" + body)
        self._shrink()

    def _put(self, partial: str, name: str, content: bytes) -> None:
        partial = os.path.join(self.folder, partial)
        try:
            with open(partial, "xb") as file:
                file.write(content)
            os.replace(partial, os.path.join(self.folder, name))
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise

    def _shrink(self) -> None:
        """Other runs may do the same at this moment; what is gone already is gone."""
        now = time.time()
        kept = 0
        for file in sorted(self._files(), reverse=True):  # the last used first
            abandoned = file.name.endswith(".partial") and now - file.used > _ABANDONED
            if abandoned or kept + file.size > self.max_bytes:
                self._remove(file.name)
            else:
                kept += file.size

    def clear(self) -> Removed:
        """Remove every entry and the folder, but nothing in it that kvlint did not write."""
        entries = size = 0
        for file in list(self._files()):
            if self._remove(file.name):
                entries += file.name.endswith(".json")
                size += file.size
        for name, content in _MARKS.items():
            if _holds(os.path.join(self.folder, name), content):
                self._remove(name)
        with suppress(OSError):  # not there, or not empty
            os.rmdir(self.folder)
        return Removed(entries, size)

    def _files(self) -> Iterator[_File]:
        try:
            with os.scandir(self.folder) as found:
                for entry in found:
                    if _ENTRY.fullmatch(entry.name) or _PARTIAL.fullmatch(entry.name):
                        with suppress(FileNotFoundError):
                            state = entry.stat(follow_symlinks=False)
                            yield _File(state.st_mtime, state.st_size, entry.name)
        except FileNotFoundError:
            return

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(os.path.join(self.folder, name))
        except FileNotFoundError:
            return False
        return True

    def path(self, key: str) -> str:
        """The file of an entry."""
        return os.path.join(self.folder, f"{key}.json")


def _head(key: str, body: bytes) -> bytes:
    """The first line of an entry: it fits this key and this body only."""
    digest = hashlib.sha256(key.encode("ascii") + body)
    return _HEAD + digest.hexdigest().encode("ascii")


def _unique() -> str:
    return os.urandom(8).hex()


def _holds(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except OSError:
        return False
