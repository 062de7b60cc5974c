"""What must hold for every file that was fixed, whichever fix it was."""

from __future__ import annotations

import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

FORMATTERS = (
    ("black", "--quiet", "--check"),
    ("isort", "--quiet", "--profile", "black", "--project", "sglang", "--check"),
    ("ruff", "check", "--quiet", "--isolated", "--select", "F401,F821,UP037"),
)


def comments(data: bytes) -> Counter[str]:
    """Every comment of a file."""
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def check_comments_kept(before: bytes, after: bytes) -> None:
    """No comment of the old file is missing."""
    assert not comments(before) - comments(after)


def check_formatters_agree(before: Path, after: Path) -> int:
    """Every formatter that had nothing to do before has nothing to do now; how many those are."""
    silent = 0
    for command in FORMATTERS:
        if not complains(command, [before]):
            assert not complains(command, [after]), command[0]
            silent += 1
    return silent


def complains(command: Sequence[str], files: Iterable[Path]) -> bool:
    """Whether a formatter would change one of these files."""
    argv = [sys.executable, "-m", *command, *map(str, files)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 1
