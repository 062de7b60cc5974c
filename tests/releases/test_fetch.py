"""The cache of releases, without a network."""

from __future__ import annotations

import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from . import fetch


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, filled from a wheel made here."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KVLINT_RELEASES", str(folder))
    monkeypatch.setattr(fetch, "_download", lambda version, folder: _wheel(folder))
    return folder


def kept(folder: Path) -> list[str]:
    """What is in the cache, beside its locks."""
    return [path.name for path in folder.iterdir() if path.suffix != ".lock"]


def _wheel(folder: Path) -> Path:
    folder.mkdir()
    wheel = folder / "sglang.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("sglang/a.py", "sglang/b.so", "sglang/srt/c.py", "other/d.py"):
            archive.writestr(name, "x = 1\n")
    return wheel


def test_only_the_sources_are_unpacked(cache: Path) -> None:
    folder = fetch.release("1.0")
    assert folder == cache / "1.0"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"sglang/a.py", "sglang/srt/c.py"}


def test_parallel_runs_leave_one_whole_copy(cache: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(fetch.release, ["1.0"] * 8))
    assert folders == {cache / "1.0"}
    assert kept(cache) == ["1.0"]


def test_parallel_runs_download_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def download(version: str, folder: Path) -> Path:
        calls.append(version)
        return _wheel(folder)

    monkeypatch.setattr(fetch, "_download", download)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fetch.release, ["1.0"] * 8))
    assert calls == ["1.0"]


def test_a_release_is_downloaded_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.release("1.0")
    monkeypatch.setattr(fetch, "_download", pytest.fail)
    assert fetch.releases(["1.0", "1.0"]) == {"1.0": cache / "1.0"}


def test_a_failed_download_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVLINT_RELEASES", str(tmp_path))
    failed = subprocess.CompletedProcess([], 1, "", "noise\nno such version\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: failed)
    with pytest.raises(fetch.FetchError, match=r"^sglang 1\.0 .*: no such version$"):
        fetch.release("1.0")
    assert kept(tmp_path) == []


@pytest.mark.parametrize(("value", "required"), [("true", True), ("1", True), ("", False)])
def test_ci_may_not_skip(value: str, required: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", value)
    assert fetch.required() is required
