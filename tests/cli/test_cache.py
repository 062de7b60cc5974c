"""`kvlint cache` and `--no-cache`; `tests/cache` has what the cache promises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.cache.store import Store

from .conftest import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KVLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kvlint-results"


def test_dir(run: Run, folder: Path) -> None:
    assert run("cache", "dir") == (0, f"{folder}\n", "")
    assert not folder.exists()


def test_dir_of_the_platform(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import user_cache_dir

    monkeypatch.delenv("KVLINT_CACHE_DIR")
    usual = os.path.join(user_cache_dir("kvlint", appauthor=False), "kvlint-results")
    assert run("cache", "dir") == (0, f"{usual}\n", "")


def test_a_relative_dir(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVLINT_CACHE_DIR", "here")
    assert run("cache", "dir").out == f"{tmp_path / 'here' / 'kvlint-results'}\n"


def test_clear(run: Run, folder: Path) -> None:
    assert run("cache", "clear") == (0, f"removed 0 entries (0.0 MB) from {folder}\n", "")
    store = Store(str(folder))
    store.write("0" * 64, b"x" * 150_000)
    assert run("cache", "clear") == (0, f"removed 1 entry (0.2 MB) from {folder}\n", "")
    assert not folder.exists()


def test_clear_leaves_what_others_wrote(run: Run, folder: Path) -> None:
    Store(str(folder)).write("0" * 64, b"x")
    (folder / "mine.json").write_text("x")
    (folder.parent / "other.py").write_text("x")
    assert run("cache", "clear").out.startswith("removed 1 entry ")
    assert os.listdir(folder) == ["mine.json"]
    assert sorted(os.listdir(folder.parent)) == ["kvlint-results", "other.py"]


def test_a_folder_that_cannot_be_looked_into(run: Run, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("x")
    result = run("cache", "clear")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"kvlint: error: {folder}: cannot remove: Not a directory\n"


def test_no_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVLINT_CACHE_DIR")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/x")
    line = "kvlint: error: there is no folder for a cache here: set KVLINT_CACHE_DIR\n"
    for action in ("dir", "clear"):
        assert run("cache", action) == (2, "", line)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ((), "no action given: kvlint cache dir, or kvlint cache clear"),
        (
            ("claer",),
            "argument ACTION: 'claer' is not one of dir, clear (did you mean clear?) "
            "(see kvlint cache --help)",
        ),
        (("dir", "x"), "unexpected argument 'x' (see kvlint cache --help)"),
    ],
)
def test_wrong_use(run: Run, argv: tuple[str, ...], line: str) -> None:
    assert run("cache", *argv) == (2, "", f"kvlint: error: {line}\n")


@pytest.mark.parametrize("command", [("check",), ("baseline", "write")])
def test_no_cache(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.delenv("KVLINT_NO_CACHE")
    Path("one.py").write_text("import threading\n\n\nclass Room(Base):\n    state = 'failed'\n")
    assert run(*command, ".", "--no-cache").code == 0
    assert not folder.exists()
    assert run(*command, ".", *(("--force",) if "write" in command else ())).code == 0
    assert len(os.listdir(folder)) == 3


def test_the_settings_say_whether_there_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    off = "\ncache = true\n# KVLINT_NO_CACHE turns it off\n"
    assert off in run("check", "--show-settings").out
    monkeypatch.delenv("KVLINT_NO_CACHE")
    shown = run("check", "--show-settings").out
    assert "\ncache = true\n" in shown
    assert off not in shown
    Path("pyproject.toml").write_text("[tool.kvlint]\ncache = false\n")
    assert "\ncache = false\n" in run("check", "--show-settings").out
    Path("pyproject.toml").write_text("[tool.kvlint]\ncache = 1\n")
    line = "pyproject.toml: tool.kvlint.cache: expected true or false, found an integer"
    assert run("check", "--show-settings") == (2, "", f"kvlint: error: {line}\n")
