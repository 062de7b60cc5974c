"""Paths as the service that shows a report wants them: from the root of the checkout."""

from __future__ import annotations

import os


def from_root(path: str, root: str) -> str:
    """A displayed path relative to `root`; as it is without a root, or outside it."""
    if not root:
        return path
    full, top = os.path.realpath(path), os.path.realpath(root)
    if not full.startswith(os.path.join(top, "")):
        return path
    return os.path.relpath(full, top).replace(os.sep, "/")
