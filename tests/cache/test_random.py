"""Random changes of a small tree: a run with the cache prints what one without it prints."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, Check, write
from .test_results import same, split

HEIRS = [split(BAD)[1].replace("from base", f"from {name}") for name in ("base", "pkg.base")]
TEXTS = {
    "pkg/base.py": [split(BAD)[0], split(GOOD)[0], "from other import Base\n", "class Base(:\n"],
    "pkg/heir.py": [*HEIRS, HEIRS[0].replace("from base", "from .base"), "x = 1\n"],
    "pkg/other.py": [split(BAD)[0], split(GOOD)[0]],
    "pkg/deep/heir.py": [*HEIRS, HEIRS[0].replace("from base", "from ..base")],
    "pkg/deep/base.py": [split(GOOD)[0]],
    "pkg/__init__.py": ["", "from .base import Base\n"],
    "pkg/deep/__init__.py": [""],
    "base.py": [split(BAD)[0], split(GOOD)[0]],
    "base/__init__.py": ["", split(BAD)[0]],
    ".gitignore": ["base.py\n", "/pkg/deep/\n", "*.py\n!heir.py\n"],
    "pkg/.gitignore": ["!base.py\n"],
    "pkg/deep/pyvenv.cfg": [""],
    "pyproject.toml": [
        '[tool.kvlint]\nexclude = ["other.py"]\n',
        "[tool.kvlint]\npreemptions = 0\n",
        '[tool.kvlint.per-file-ignores]\n"base.py" = ["KV103"]\n',
    ],
}
PATHS = ((".",), ("pkg",), ("pkg/heir.py",), ("pkg/heir.py", "pkg/base.py"), ("pkg/deep", "pkg"))
STEPS = 40


@pytest.mark.parametrize("seed", range(4))
def test_random_changes(check: Check, seed: int) -> None:
    chance = random.Random(seed)
    write("pkg/heir.py", HEIRS[0])
    hits = misses = 0
    for _ in range(STEPS):
        change(chance)
        given = (*chance.choice(PATHS), "-v", "--show-latent", "--output-format", "full")
        fresh = check(*given, "--no-cache")
        for _ in range(2):
            result = check(*given)
            same(result, fresh)
            hits, misses = hits + result.hit, misses + (not result.hit)
    assert hits
    assert misses


def change(chance: random.Random) -> None:
    """Write or remove one file; the first text of a file comes back often."""
    name = chance.choice(sorted(TEXTS))
    if chance.random() < 0.4:
        Path(name).unlink(missing_ok=True)
    else:
        write(name, chance.choice(TEXTS[name]))
