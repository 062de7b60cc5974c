"""What git ignores, from the `.gitignore` files of a repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pathspec import PathSpec

    # Generic in new releases of pathspec only.
    Spec = PathSpec[Any]

SUFFIXES = (".py", ".pyi", ".pyw")


class IgnoreRules:
    """The `.gitignore` files in force in one folder, outermost first.

    Made for a walk from the top: the folders above a path have been judged before it.
    """

    __slots__ = ("_levels",)

    def __init__(self, levels: tuple[tuple[str, Spec, Spec], ...] = ()) -> None:
        self._levels = levels  # (folder, rules for folders, rules for files)

    @classmethod
    def above(cls, top: str) -> IgnoreRules:
        """The rules from the repository root down to, and without, the folder `top`.

        Outside a repository only the files below `top` count: nothing else says where to stop. A
        folder that is ignored as a whole but named by the user starts without rules.
        """
        folders = []
        folder = top
        while not os.path.exists(os.path.join(folder, ".git")):
            parent = os.path.dirname(folder)
            if parent == folder:
                return cls()
            folders.append(parent)
            folder = parent
        rules = cls()
        for folder in reversed(folders):
            rules = rules.entering(folder)
        return cls() if rules.covers(top, True) else rules

    def entering(self, folder: str) -> IgnoreRules:
        """These rules and those of the `.gitignore` in `folder`, if there is one."""
        lines = _lines(os.path.join(folder, ".gitignore"))
        if not lines:
            return self
        # A folder is matched by every pattern; a Python file only by the few whose last letters
        # fit its name. Most lines of a usual .gitignore drop out, and with them most of the cost.
        for_files = [line for line in lines if _fits_python_file(line)]
        return IgnoreRules((*self._levels, (folder, _spec(lines), _spec(for_files))))

    def covers(self, path: str, is_folder: bool) -> bool:
        """Whether git ignores this path; the innermost file with an opinion decides."""
        for folder, folders, files in reversed(self._levels):
            shown = path[len(folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
            spec = folders if is_folder else files
            verdict: bool | None = spec.check_file(shown + "/" if is_folder else shown).include
            if verdict is not None:
                return verdict
        return False


def _fits_python_file(line: str) -> bool:
    if line.endswith("/"):
        return False
    start = max(line.rfind(char) for char in "*?]/\\!") + 1
    tail = line[start:].strip()
    return any(tail.endswith(suffix) or suffix.endswith(tail) for suffix in SUFFIXES)


def _spec(lines: list[str]) -> Spec:
    # Only a tree that has such a file pays for the import.
    from pathspec import PathSpec

    style = _style()
    try:
        return PathSpec.from_lines(style, lines)
    except ValueError:
        # git passes over a pattern that makes no sense; one line must not switch off the rest.
        return PathSpec.from_lines(style, [line for line in lines if _is_valid(style, line)])


def _is_valid(style: str, line: str) -> bool:
    from pathspec import PathSpec

    try:
        PathSpec.from_lines(style, [line])
    except ValueError:
        return False
    return True


def _style() -> str:
    # The old name warns in new releases, the new name is unknown to old ones.
    from pathspec.util import lookup_pattern

    try:
        lookup_pattern("gitignore")
    except KeyError:
        return "gitwildmatch"
    return "gitignore"


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return [line for line in lines if line.strip() and not line.startswith("#")]
