"""What must hold for every file that was fixed, whichever fix it was."""

from __future__ import annotations

import io
import subprocess
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import black
import isort


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
    for name, complains in FORMATTERS.items():
        if not complains(before.read_bytes()):
            assert not complains(after.read_bytes()), name
            silent += 1
    return silent


# In this process, and once for each text: starting them takes longer than what they do.
@cache
def black_complains(data: bytes) -> bool:
    """Whether black would change the file."""
    try:
        black.format_file_contents(data.decode(), fast=True, mode=black.Mode())
    except black.NothingChanged:
        return False
    return True


@cache
def isort_complains(data: bytes) -> bool:
    """Whether isort would change the file, as SGLang calls it."""
    config = isort.Config(profile="black", known_first_party=frozenset({"sglang"}), quiet=True)
    return not isort.check_code(data.decode(), config=config)


@cache
def ruff_complains(data: bytes) -> bool:
    """Whether ruff reports what SGLang lets it look for."""
    argv = ["ruff", "check", "--quiet", "--isolated", "--select", "F401,F821,UP037", "-"]
    done = subprocess.run(
        [sys.executable, "-m", *argv], input=data, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 1


FORMATTERS = {"black": black_complains, "isort": isort_complains, "ruff": ruff_complains}
