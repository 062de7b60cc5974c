"""The Python files of the given paths: sorted, each once, without what git ignores."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase

from kvlint.discover.ignore import SUFFIXES, IgnoreRules
from kvlint.errors import UsageError
from kvlint.findings import Gap

SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "__pypackages__", "node_modules", "site-packages", "dist-packages", "venv"}
)


def display_path(full: str, cwd: str) -> str:
    """A path as reports print it: relative to `cwd`, absolute outside it, POSIX slashes."""
    inside = full[len(cwd) + 1 :] if full.startswith(cwd.rstrip(os.sep) + os.sep) else full
    return inside.replace(os.sep, "/") if os.sep != "/" else inside


def excludes(pattern: str, shown: str) -> bool:
    """Whether an `exclude` pattern covers a path.

    A pattern names a file or folder: by its name (`build`, `*_pb2.py`), or by its path from the
    working directory when it holds a slash (`tests/data`, `src/*/gen`).
    """
    pattern = pattern.removeprefix("./").rstrip("/")
    if "/" in pattern:
        return fnmatchcase(shown, pattern)
    return fnmatchcase(shown.rpartition("/")[2], pattern)


class Walk:
    """The files of one run.

    `files` holds absolute paths; `explicit` those of them that the user named one by one, which
    are taken whatever they are called; `problems` the folders that could not be listed.
    """

    def __init__(self, cwd: str, exclude: Sequence[str] = ()) -> None:
        self.cwd = cwd
        self.files: list[str] = []
        self.explicit: set[str] = set()
        self.problems: list[Gap] = []
        self._exclude = tuple(exclude)
        self._seen: set[str] = set()

    def add(self, path: str) -> None:
        """Take a file as it is, or a folder with everything below it."""
        full = os.path.normpath(os.path.join(self.cwd, path))
        try:
            mode = os.stat(full).st_mode
        except (OSError, ValueError) as error:
            raise UsageError(_why_missing(path, error)) from None
        if stat.S_ISDIR(mode):
            self._folder(full, path)
        elif stat.S_ISREG(mode):
            self.explicit.add(full)
            self._take(full)
        else:
            raise UsageError(f"neither a file nor a folder: {path}")

    def _take(self, full: str) -> None:
        if full not in self._seen:
            self._seen.add(full)
            self.files.append(full)

    def _folder(self, top: str, as_given: str) -> None:
        found = False
        unlisted = len(self.problems)
        stack = [(top, IgnoreRules.above(top))]
        while stack:
            folder, ignore = stack.pop()
            entries = self._list(folder)
            if any(entry.name == ".gitignore" for entry in entries):
                ignore = ignore.entering(folder)
            below = []
            for entry in entries:
                # Links to folders are not followed, as in git: a loop of links is no loop here.
                is_folder = entry.is_dir(follow_symlinks=False)
                if not self._wanted(entry, is_folder) or ignore.covers(entry.path, is_folder):
                    continue
                if is_folder:
                    below.append((entry.path, ignore))
                else:
                    found = True
                    self._take(entry.path)
            stack.extend(reversed(below))
        if not found and len(self.problems) == unlisted:
            raise UsageError(f"no Python file in folder: {as_given}")

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=_name)
        except OSError as error:
            message = f"cannot list this folder: {error.strerror or 'unreadable'}"
            self.problems.append(Gap(display_path(folder, self.cwd), 1, message))
            return []

    def _wanted(self, entry: os.DirEntry[str], is_folder: bool) -> bool:
        name = entry.name
        if is_folder:
            if name.startswith(".") or name in SKIPPED_FOLDERS:
                return False
            # Only a folder of its own kind holds this file; its name may be anything.
            if os.path.exists(entry.path + "/pyvenv.cfg"):
                return False
        elif not name.endswith(SUFFIXES) or not _is_file(entry):
            return False
        if not self._exclude:
            return True
        shown = display_path(entry.path, self.cwd)
        return not any(excludes(pattern, shown) for pattern in self._exclude)


def walked(paths: Sequence[str], *, exclude: Sequence[str] = (), cwd: str) -> Walk:
    """The files of a run over these paths.

    Raises `UsageError` for a path that does not exist and for a folder without a Python file.
    """
    walk = Walk(cwd, exclude)
    for path in paths:
        walk.add(path)
    return walk


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that points at itself
        return False


def _why_missing(path: str, error: OSError | ValueError) -> str:
    if isinstance(error, PermissionError):
        return f"no permission to read: {path}"
    return f"no such file or folder: {path}"
