"""A package with a backend, and an heir of it in a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..locations import ROOT

BAD = ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py"
GOOD = ROOT / "fixtures" / "kv103_good_sticky_under_aborted_sender.py"
HEIR = '''\
"""Pages that go out in shards."""

from pages.base import PageManager


class ShardManager(PageManager):
    """Serves the shards of one page."""
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The folder that holds the package `pages`."""
    package = tmp_path / "pages"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "base.py").write_text(BAD.read_text(encoding="utf-8"), encoding="utf-8")
    (package / "shards.py").write_text(HEIR)
    return tmp_path


def configure(tree: Path, text: str) -> None:
    """Write `[tool.kvlint]` with these lines."""
    (tree / "pyproject.toml").write_text(f"[tool.kvlint]\n{text}\n")


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that occurs once."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
