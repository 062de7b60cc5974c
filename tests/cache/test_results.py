"""A result is used again as long as nothing that it depends on has changed, and no longer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlint.cli import engine
from kvlint.cli.check import _details
from kvlint.cli.formats import rendered
from kvlint.cli.outcome import outcome_of
from kvlint.config import OUTPUT_FORMATS, Settings
from kvlint.report.style import Style
from tests.running import run

from .conftest import BAD, FIXTURES, GOOD, Check, entries, write

PAGES = sorted(FIXTURES.rglob("*.py"))


def same(first: object, second: object) -> None:
    """All but whether it came from the cache."""
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    assert first[:3] == second[:3]


# The same output ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_format_says_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    settings = Settings(show_latent=True)
    paths = [path.name]
    made = engine.examined(paths, settings)
    found = engine.examined(paths, settings)
    assert (made.from_cache, found.from_cache) == (False, True)
    assert found.files == made.files
    for form in OUTPUT_FORMATS:
        for style in (Style(unicode=True, width=140), Style(width=60)):
            first, second = (outcome_of(r, paths, settings) for r in (made, found))
            assert rendered(second, form, style) == rendered(first, form, style)
            assert _details(second) == _details(first)
            assert second.status == first.status


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_the_command_prints_the_same(check: Check, form: str) -> None:
    write("pkg/one.py", BAD)
    write("pkg/broken.py", "class Broken(:\n")
    given = (".", "-v", "--show-latent", "--output-format", form)
    fresh = check(*given, "--no-cache")
    made, found = check(*given), check(*given)
    assert (fresh.hit, made.hit, found.hit) == (False, False, True)
    same(fresh, made)
    same(fresh, found)
    assert fresh.code == 1


def test_excerpts_of_a_file_in_another_encoding(check: Check) -> None:
    text = f"# -*- coding: latin-1 -*-\n{BAD}"
    line = "self.set_status(room, status)"
    Path("page.py").write_bytes(text.replace(line, f"{line}  # ü").encode("latin-1"))
    given = (".", "--output-format", "full")
    made, found = check(*given), check(*given)
    assert found.hit
    same(made, found)
    assert "# ü" in found.out


# Hits -----------------------------------------------------------------------------------------


def test_a_tree_without_a_backend(check: Check) -> None:
    write("pkg/one.py", "x = 1\n")
    made, found = check(), check()
    assert (made.hit, found.hit) == (False, True)
    same(made, found)


def test_a_file_that_was_only_touched(check: Check) -> None:
    write("one.py", BAD)
    check()
    os.utime("one.py", (1, 1))
    assert check().hit


@pytest.mark.parametrize(
    "option",
    [
        ("--output-format", "json"),
        ("--fail-on", "error"),
        ("--show-latent",),
        ("--jobs", "1"),
        ("--max-seconds", "1e-9"),
        ("--color", "always"),
    ],
    ids=" ".join,
)
def test_what_only_comes_after_the_analysis(check: Check, option: tuple[str, ...]) -> None:
    write("one.py", BAD)
    check()
    assert check(".", *option).hit


def test_two_states_of_a_tree(check: Check) -> None:
    for text in (BAD, GOOD):
        write("one.py", text)
        assert not check().hit
    for text, code in ((BAD, 1), (GOOD, 0)):
        write("one.py", text)
        result = check()
        assert (result.hit, result.code) == (True, code)


# Misses ---------------------------------------------------------------------------------------


def test_an_edit_of_the_file(check: Check) -> None:
    write("one.py", BAD)
    check()
    write("one.py", GOOD)
    result = check()
    assert (result.hit, result.code) == (False, 0)


def test_an_edit_that_keeps_size_and_time(check: Check) -> None:
    write("one.py", BAD)
    before = check()
    state = os.stat("one.py")
    write("one.py", BAD.replace("Aborting", "Abortion").replace("max(present", "min(present"))
    os.utime("one.py", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert os.stat("one.py").st_size == state.st_size
    after = check()
    assert not after.hit
    assert after.out != before.out


def split(text: str) -> tuple[str, str]:
    """The backend of a fixture as a base class, and a file that inherits from it."""
    head, tail = text.split("class PageManager")
    return f"{head}class Base{tail}", (
        "import threading\n\nfrom base import Base\n\n\nclass PageManager(Base):\n"
        "    def fail(self, room):\n        self.set_status(room, Stage.Failed)\n"
    )


def test_a_base_class_in_a_file_beside(check: Check) -> None:
    base, heir = split(BAD)
    write("pkg/base.py", base)
    write("pkg/heir.py", heir)
    before = check("pkg/heir.py")
    assert before.code == 1
    assert check("pkg/heir.py").hit
    write("pkg/base.py", split(GOOD)[0])
    after = check("pkg/heir.py")
    assert not after.hit
    assert after.out != before.out
    write("pkg/base.py", base)
    same(check("pkg/heir.py"), before)


def test_a_base_class_that_comes_into_being(check: Check) -> None:
    base, heir = split(BAD)
    write("pkg/heir.py", heir)
    before = check("pkg/heir.py")
    assert check("pkg/heir.py").hit
    write("pkg/base.py", base)
    after = check("pkg/heir.py")
    assert not after.hit
    assert (before.code, after.code) == (0, 1)
    Path("pkg/base.py").unlink()
    again = check("pkg/heir.py")
    assert not again.hit
    same(again, before)


def test_a_file_that_comes_before_the_one_that_was_found(check: Check) -> None:
    base, heir = split(BAD)
    write("pkg/base.py", base)
    write("pkg/heir.py", heir)
    assert check("pkg/heir.py").code == 1
    # The folder is a package now, and `base` means another file.
    write("pkg/__init__.py", "")
    assert not check("pkg/heir.py").hit


def test_a_package_above_that_is_none_any_more(check: Check) -> None:
    write("pkg/__init__.py", "")
    write("pkg/sub/__init__.py", "")
    write("pkg/sub/one.py", BAD)
    given = ("pkg/sub", "--output-format", "json")
    before = check(*given)
    assert check(*given).hit
    Path("pkg/__init__.py").unlink()
    after = check(*given)
    assert not after.hit
    same(after, check(*given, "--no-cache"))
    write("pkg/__init__.py", "")
    same(check(*given), before)


def test_a_folder_that_cannot_be_listed_any_more(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("one.py", BAD)
    Path("locked").mkdir()
    assert "KV901" not in check().out
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if folder.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    made, found = check(), check()
    assert (made.hit, found.hit) == (False, True)
    same(made, found)
    assert "locked:1:1: error KV901" in found.out


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda: write("two.py", GOOD), "a new file"),
        (lambda: write(".gitignore", "one.py\n"), "what git ignores"),
        (lambda: write("deep/pyvenv.cfg", ""), "an environment"),
        (lambda: os.rename("deep/other.py", "deep/renamed.py"), "a name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_files_in_the_run(check: Check, change: Callable[[], None], what: str) -> None:
    write("one.py", BAD)
    write("deep/other.py", "x = 1\n")
    check()
    change()
    assert not check().hit, what


@pytest.mark.parametrize(
    "option",
    [
        ("--preemptions", "0"),
        ("--max-states", "50000"),
        ("--select", "KV104"),
        ("--ignore", "KV104"),
        ("--per-file-ignores", "one.py:KV104"),
        ("--exclude", "two.py"),
    ],
    ids=" ".join,
)
def test_a_setting(check: Check, option: tuple[str, ...]) -> None:
    write("one.py", BAD)
    check()
    assert not check(".", *option).hit


@pytest.mark.parametrize(
    "section", ["environment]\nchunks = 1", 'protocol]\nstatus-enum = "Stage"']
)
def test_a_setting_of_the_configuration(check: Check, section: str) -> None:
    write("one.py", BAD)
    check()
    write("pyproject.toml", f"[tool.kvlint.{section}\n")
    assert not check().hit
    assert check().hit


@pytest.mark.parametrize("name", ["__version__", "_own_source", "sys.version", "sys.prefix"])
def test_another_kvlint_or_python(
    check: Check, monkeypatch: pytest.MonkeyPatch, folder: Path, name: str
) -> None:
    write("one.py", BAD)
    before = check()
    other = (lambda: "other") if name == "_own_source" else "other"
    monkeypatch.setattr(f"kvlint.cache.key.{name}", other)
    after = check()
    assert not after.hit
    same(after, before)
    assert len(entries(folder)) == 2


def test_a_change_of_kvlint_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvlint.cache import key

    monkeypatch.setattr(key, "__file__", str(tmp_path / "kvlint" / "cache" / "key.py"))
    write(str(tmp_path / "kvlint" / "search" / "x.py"), "x = 1\n")
    seen = set()
    for text in ("x = 1\n", "x = 2\n"):
        write(str(tmp_path / "kvlint" / "search" / "x.py"), text)
        key._own_source.cache_clear()
        seen.add(key._own_source())
    key._own_source.cache_clear()
    assert len(seen) == 2


def test_another_working_directory(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    write("pkg/one.py", BAD)
    assert check("pkg").out.startswith("pkg/one.py:")
    monkeypatch.chdir("pkg")
    result = check(".")
    assert not result.hit
    assert result.out.startswith("one.py:")


def test_a_file_that_is_named_one_by_one(check: Check) -> None:
    write("pkg/one.py", BAD)
    check("pkg")
    assert not check("pkg/one.py").hit


# Results that are not stored, and files that change while they are read -------------------------


def test_a_search_that_ran_out_of_time(check: Check, folder: Path) -> None:
    write("one.py", BAD)
    for _ in range(2):
        result = check(".", "--max-seconds", "1e-9")
        assert not result.hit
        assert "gave up" in result.out
    assert entries(folder) == []
    assert not check().hit


def test_a_search_that_reached_its_states(check: Check) -> None:
    write("one.py", BAD)
    given = (".", "--max-states", "9")
    made, found = check(*given), check(*given)
    assert found.hit
    same(made, found)
    assert "gave up" in found.out


def test_a_file_that_changes_during_the_analysis(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvlint import analysis

    write("one.py", BAD)
    bad = check(".", "--no-cache")
    analyse = analysis.analyse

    def slow(*given: object) -> object:
        write("one.py", GOOD)
        return analyse(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(analysis, "analyse", slow)
    load = engine.load

    def early(*given: object) -> object:
        write("one.py", GOOD)
        return load(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "load", early)
    same(check(), bad)  # of one state of the file, not of half of each
    monkeypatch.setattr(analysis, "analyse", analyse)
    monkeypatch.setattr(engine, "load", load)
    result = check()
    assert (result.hit, result.code) == (False, 0)
    write("one.py", BAD)
    result = check()
    assert result.hit
    same(result, bad)


def test_a_file_too_large_to_be_read(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvlint.discover.source.MAX_BYTES", 1000)
    monkeypatch.setattr("kvlint.discover.source._FIRST_READ", 500)
    write("one.py", BAD)
    made, found = check(), check()
    assert found.hit
    same(made, found)
    assert "KV901" in found.out


def test_too_much_to_be_held_in_memory(
    check: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvlint.cache.results.MAX_BYTES", 1000)
    write("one.py", BAD)
    first, second = check(".", "-v"), check(".", "-v")
    assert not second.hit
    assert first == second
    assert "kvlint: note: no cache: the files have more than " in first.err
    assert "note" not in check().err
    assert not folder.exists()


# Damage ---------------------------------------------------------------------------------------


def rewritten(path: Path, body: bytes) -> bytes:
    """An entry whose checksum is right, whatever is in it."""
    from kvlint.cache.store import _head

    return _head(path.stem, body) + b"\n" + body


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.read_bytes()[:-20],
        lambda path: b"",
        lambda path: b"\x80\x04\x95garbage\n",
        lambda path: rewritten(path, b"\xff\xfe"),
        lambda path: rewritten(path, b"[[[], [], [], []"),
        lambda path: rewritten(path, b"{}"),
        lambda path: rewritten(path, b"[[[], [], [], []], [{}, [], [], {}], [], null]"),
        lambda path: rewritten(path, b"[" * 100_000),
    ],
    ids=["short", "empty", "other", "not UTF-8", "not JSON", "no list", "a wrong part", "deep"],
)
def test_a_damaged_entry_is_ignored_with_a_note(
    check: Check, folder: Path, damage: Callable[[Path], bytes]
) -> None:
    write("one.py", BAD)
    made = check()
    [path] = entries(folder)
    path.write_bytes(damage(path))
    result = check()
    note = f"kvlint: note: ignored a damaged entry of the cache: {path}\n"
    assert (result.hit, result.err) == (False, note + made.err)
    assert result.out == made.out
    again = check()
    assert again.hit
    same(again, made)


# Places ---------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("KVLINT_CACHE_DIR", str(tmp_path / "file"))
    write("one.py", BAD)
    fresh = check(".", "--no-cache")
    same(check(), fresh)
    result = check(".", "-v")
    assert (result.code, result.out) == fresh[:2]
    assert f"kvlint: note: no cache: {tmp_path / 'file' / 'kvlint-results'}: " in result.err


def test_a_full_disk(check: Check, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kvlint.cache.store.Store.write", full)
    write("one.py", BAD)
    same(check(), check(".", "--no-cache"))
    line = f"kvlint: note: no cache: {folder}: No space left on device\n"
    assert line in check(".", "-v").err


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser writes everywhere"
)
def test_a_folder_that_may_only_be_read(check: Check, folder: Path) -> None:
    write("one.py", BAD)
    made = check()
    folder.chmod(0o500)
    try:
        found = check()
        assert found.hit
        same(found, made)
        write("one.py", GOOD)
        assert check().err == check(".", "--no-cache").err
        assert f"no cache: {folder}" in check(".", "-v").err
    finally:
        folder.chmod(0o700)


def test_without_a_home(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KVLINT_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/.cache/kvlint")
    write("one.py", BAD)
    fresh = check(".", "--no-cache")
    same(check(), fresh)
    assert "no cache: there is no folder for it (KVLINT_CACHE_DIR names one)" in check("-v").err
    assert os.listdir() == ["one.py"]


def test_without_a_cache_the_folder_is_left_alone(
    check: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("one.py", BAD)
    assert not check(".", "--no-cache").hit
    assert not folder.parent.exists()
    check()
    [path] = entries(folder)
    path.write_bytes(b"damaged")
    before = os.stat(path)
    assert not check(".", "--no-cache").hit
    monkeypatch.setenv("KVLINT_NO_CACHE", "1")
    assert "note" not in check().err
    monkeypatch.delenv("KVLINT_NO_CACHE")
    write("pyproject.toml", "[tool.kvlint]\ncache = false\n")
    assert "note" not in check().err
    assert run(["fix", "--diff", "."])[0] == 1
    after = os.stat(path)
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert len(os.listdir(folder)) == 3


# Other commands -------------------------------------------------------------------------------


def test_a_baseline_of_what_was_checked(check: Check, analyses: list[object]) -> None:
    write("one.py", BAD)
    check()
    assert run(["baseline", "write", "."])[0] == 0
    assert check(".", "--baseline", "kvlint-baseline.json").code == 0
    assert len(analyses) == 1
    assert run(["baseline", "update", "--no-cache", "."])[0] == 0
    assert len(analyses) == 2
