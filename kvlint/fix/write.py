"""Put new contents into files: all or nothing, and each file old or new, never half."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kvlint.errors import UsageError


def write_all(contents: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    """Replace the files at these full paths, whose contents are still `expected`.

    Every new content is on disk, beside its file, before the first file is replaced. Raises
    `UsageError` that says which files are changed if one cannot be written.
    """
    ready: dict[str, str] = {}
    done: list[str] = []
    at = ""
    try:
        for at in sorted(contents):
            ready[at] = _prepared(at, contents[at], expected[at])
        for at in sorted(contents):
            os.replace(ready[at], os.path.realpath(at))
            del ready[at]
            done.append(at)
            _sync_folder(os.path.dirname(os.path.realpath(at)))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot write {_shown(at)}: {reason}; {_state(done)}") from None
    finally:
        for left in ready.values():
            with suppress(OSError):
                os.unlink(left)


def _prepared(path: str, data: bytes, expected: bytes) -> str:
    """A finished temporary file beside the file, which is looked at once more."""
    real = os.path.realpath(path)
    state = os.stat(real)
    if not state.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(13, "the file is read-only")
    if not os.access(real, os.W_OK):
        raise PermissionError(13, "no permission to write it")
    if Path(real).read_bytes() != expected:
        raise OSError(11, "it was changed while it was analysed")
    folder, name = os.path.split(real)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".kvlint", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _keep(file.fileno(), state)
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _keep(handle: int, state: os.stat_result) -> None:
    """The new file belongs to whom the old one did, with the same mode."""
    if hasattr(os, "fchown"):
        with suppress(OSError):  # not ours to give away
            os.fchown(handle, state.st_uid, state.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(state.st_mode))


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _state(done: list[str]) -> str:
    if not done:
        return "no file was changed"
    return f"changed before that: {', '.join(map(_shown, done))}; the others are as they were"


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")
