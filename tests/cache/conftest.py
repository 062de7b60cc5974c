"""A working directory with a backend in it, and a cache beside it that is in use."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.locations import ROOT
from tests.running import run

FIXTURES = ROOT / "fixtures"
BAD = (FIXTURES / "kv103_bad_max_over_aborted_sender.py").read_text(encoding="utf-8")
GOOD = (FIXTURES / "kv103_good_sticky_under_aborted_sender.py").read_text(encoding="utf-8")
ENVIRONMENT = ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "COLUMNS", "VIRTUAL_ENV", "KVLINT_NO_CACHE")


class Checked(NamedTuple):
    """What one `kvlint check` gave, and whether its result came from the cache."""

    code: int
    out: str
    err: str
    hit: bool


Check = Callable[..., Checked]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the entries lie."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("KVLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kvlint-results"


@pytest.fixture
def check() -> Check:
    """Run `kvlint check`; the times, which `--statistics` prints, are left out."""

    def call(*argv: str) -> Checked:
        code, out, err = run(["check", "--statistics", *(argv or (".",))])
        hit = "; the result and the times of its searches are from the cache\n" in err
        err = re.sub(r" in \d+\.\d\d s(; the result .* cache)?", "", err)
        return Checked(code, out, err, hit)

    return call


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One item for each analysis that is made."""
    from kvlint import analysis

    made: list[object] = []
    analyse = analysis.analyse

    def count(*given: object) -> object:
        made.append(given)
        return analyse(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(analysis, "analyse", count)
    return made


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its time and content; empty for none."""
    return {
        os.fspath(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))
