"""A shortcut for the run that a hook makes most often: files that are no backend.

Importing the discovery and the engine takes longer than such a run may last, so this module
imports next to nothing.
"""

from __future__ import annotations

import os
import stat

from kvlint.discover.prefilter import is_unrelated

_MAX_BYTES = 1 << 20


def all_unrelated(paths: list[str]) -> bool:
    """Whether every path is a readable file that the discovery would have nothing to say about.

    In doubt the answer is no, and the discovery decides.
    """
    return all(_unrelated(path) for path in paths)


def _unrelated(path: str) -> bool:
    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_BYTES:
            return False
        with open(path, "rb", buffering=0) as file:
            return is_unrelated(file.read())
    except (OSError, ValueError):
        return False
