"""Where the tests find what does not lie in this repository."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path:
    """The folder with the labels and cases: `KVLINT_SHARED`, else `shared` beside the checkout."""
    named = os.environ.get("KVLINT_SHARED")
    return Path(named).resolve() if named else ROOT.parent / "shared"


def missing(path: Path) -> str | None:
    """Why a test that needs `path` cannot run, or None if it can."""
    if path.exists():
        return None
    return (
        f"{path.name} not found under {path.parent} (set KVLINT_SHARED to the folder that has it)"
    )
