"""What `kvlint check` looks at when the user names no path."""

from __future__ import annotations

import os

from kvlint.discover.walk import SKIPPED_FOLDERS

_USUAL = ("python/sglang/srt/disaggregation", "sglang/srt/disaggregation", "srt/disaggregation")
_MAX_DEPTH = 6


def find(cwd: str | None = None) -> list[str]:
    """The disaggregation folders of the checkout around or below `cwd`, or `cwd` itself."""
    start = os.path.abspath(cwd or os.getcwd())
    if _is_backend_folder(start):
        return ["."]
    for usual in _USUAL:
        if _is_backend_folder(os.path.join(start, usual)):
            return [usual]
    return _search(start) or ["."]


def _is_backend_folder(folder: str) -> bool:
    """Whether this is a folder named disaggregation that holds at least one `*/conn.py`."""
    if os.path.basename(folder) != "disaggregation":
        return False
    try:
        below = os.listdir(folder)
    except OSError:
        return False
    return any(os.path.isfile(os.path.join(folder, name, "conn.py")) for name in below)


def _search(start: str) -> list[str]:
    found = []
    level = [""]
    for _ in range(_MAX_DEPTH):
        below = []
        for folder in level:
            for name in _folders(os.path.join(start, folder)):
                inner = f"{folder}/{name}" if folder else name
                if _is_backend_folder(os.path.join(start, inner)):
                    found.append(inner)
                else:
                    below.append(inner)
        level = below
    return sorted(found)


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
                and entry.name not in SKIPPED_FOLDERS
            ]
    except OSError:
        return []
