"""A base class from an installed package: what comes, changes and goes there makes another result.

Each run is a process of its own, as Python remembers what it found on its path.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import BAD, GOOD, write
from .test_results import split

BASE, HEIR = split(BAD)
FROM_CACHE = "from the cache"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder on Python's path."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return str(tmp_path / "site")


def check() -> tuple[int, str, bool]:
    """Exit code, stdout, and whether the result came from the cache."""
    command = [sys.executable, "-m", "kvlint", "check", "--isolated", "--statistics", "heir.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, FROM_CACHE in done.stderr


def test_a_package_that_comes_changes_and_goes(site: str) -> None:
    write("heir.py", HEIR.replace("from base", "from vendor_kv.deep.base"))
    absent = check()
    assert absent[::2] == (0, False)
    assert check()[2]
    write(f"{site}/vendor_kv/__init__.py", "")
    assert not check()[2]
    write(f"{site}/vendor_kv/deep/base.py", BASE)
    there = check()
    assert there[::2] == (1, False)
    assert check() == (*there[:2], True)
    write(f"{site}/vendor_kv/deep/base.py", split(GOOD)[0])
    changed = check()
    assert not changed[2]
    assert changed[1] != there[1]
    os.rename(f"{site}/vendor_kv", f"{site}/vendor_other")
    assert check()[:2] == absent[:2]


def test_another_place_on_the_path(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("heir.py", HEIR.replace("from base", "from vendor_kv.base"))
    write(f"{site}/vendor_kv/base.py", BASE)
    before = check()
    assert before[::2] == (1, False)
    write("other/vendor_kv/__init__.py", "")
    write("other/vendor_kv/base.py", split(GOOD)[0])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("other", site)))
    first = check()
    assert not first[2]
    assert first[1] != before[1]
    monkeypatch.setenv("PYTHONPATH", site)
    assert check()[:2] == before[:2]
