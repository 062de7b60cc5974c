"""Where the cache lies, and whether a run may use it."""

from __future__ import annotations

import os
from collections.abc import Mapping

FOLDER = "KVLINT_CACHE_DIR"
OFF = "KVLINT_NO_CACHE"
RESULTS = "kvlint-results"  # a folder of kvlint's own, wherever the cache is told to lie


def is_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment switches the cache off."""
    return bool(environment.get(OFF))


def folder(environment: Mapping[str, str] = os.environ) -> str | None:
    """The absolute path of kvlint's own folder; None where there is no place for one.

    `KVLINT_CACHE_DIR`, else the platform's folder for caches.
    """
    given = environment.get(FOLDER)
    if given:
        return os.path.join(os.path.abspath(given), RESULTS)
    from platformdirs import user_cache_dir  # a hundredth of a second

    usual = user_cache_dir("kvlint", appauthor=False)
    # Without a home `~` stays as it is, and would become a folder of that name in the tree.
    return os.path.join(usual, RESULTS) if os.path.isabs(usual) else None
