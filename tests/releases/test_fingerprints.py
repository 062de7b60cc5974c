"""On a whole release: moved lines and renamed locals leave every fingerprint as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..test_fingerprints import fingerprints, moved, renamed
from .conftest import Release

VERSION = "0.5.15.post1"
FOLDER = Path("sglang") / "srt" / "disaggregation"

pytestmark = pytest.mark.releases


def changed(source: str) -> str:
    """Moved, and renamed where the simple renaming of the tests leaves a program."""
    text = renamed(source)
    try:
        compile(text, "<renamed>", "exec")
    except SyntaxError:
        text = source
    return moved(text)


@pytest.mark.parametrize("version", [VERSION])
def test_every_line_moved_and_every_local_renamed(
    version: str, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(release(version) / FOLDER, FOLDER, ignore=ignored)
    before = fingerprints(str(FOLDER))
    assert len(before) > 50
    for path in FOLDER.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        path.write_text(changed(source), encoding="utf-8")
    assert fingerprints(str(FOLDER)) == before
