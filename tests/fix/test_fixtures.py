"""Every defect with a fix is fixed and left in good shape; the good twins stay as they are."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from ..locations import ROOT, missing, shared_folder
from ..running import report
from .backends import fix, git, repository
from .checks import check_comments_kept, check_formatters_agree

CASES = shared_folder() / "cases"
BAD = re.compile(r"_bad(_|$)")
FILES = sorted((ROOT / "fixtures").glob("*.py")) + sorted(CASES.glob("[0-9]*.py"))
DEFECTS = [f for f in FILES if BAD.search(f.stem) and f.stem != "kv901_bad_missing_colon"]
CLEAN = [f for f in FILES if not BAD.search(f.stem) and not f.stem.endswith("_demo")]
# A late write and the next request's first one store rows alike: only the other parts of the row
# could tell them apart, and what those mean is the backend's to say.
REFUSED = {"06_late_task_revives_entry_bad": ("E", "the status is one part of a row")}
LETTERS = ("A", "B", "C", "D", "E")


@cache
def letters_of(file: Path) -> frozenset[str]:
    """The fixes that the findings of a file name."""
    findings = report("check", str(file))["findings"]
    return frozenset(letter for f in findings for letter in f["fixes"]) & set(LETTERS)


def test_the_cases_are_there() -> None:
    if not CASES.exists():
        pytest.skip(missing(CASES) or "")
    assert {letter for file in DEFECTS for letter in letters_of(file)} == set(LETTERS)


@pytest.mark.parametrize("file", DEFECTS, ids=lambda file: file.stem)
def test_each_fix_alone_and_all_together(file: Path, tmp_path: Path) -> None:
    refused, reason = REFUSED.get(file.stem, ("", ""))
    letters = letters_of(file) - {refused}
    if refused:
        call = fix(str(file), "--select", refused, "--unsafe-fixes", "--check")
        assert (call.code, reason in call.err) == (1, True), call.err
    elif not letters:
        check_untouched(file, tmp_path)
    for chosen in {*letters, ",".join(sorted(letters))} - {""}:
        copy = tmp_path / chosen / file.name
        copy.parent.mkdir()
        copy.write_bytes(file.read_bytes())
        check_fixed(file, copy, chosen)


def check_fixed(original: Path, copy: Path, letters: str) -> None:
    """Fix the copy and look at everything that a fix promises."""
    before = copy.read_bytes()
    options = (str(copy), "--select", letters, "--unsafe-fixes")
    diff = fix(*options, "--diff", "--no-verify")  # the next call proves it
    assert diff.code == 1
    call = fix(*options)
    assert call.code == 0, call.err
    after = copy.read_bytes()
    assert after != before
    compile(after, str(copy), "exec")
    again = fix(*options)  # analyses the new file: no finding with such a fix is left
    assert (again.code, again.out, again.err) == (0, "", "kvlint: nothing to fix\n")
    assert copy.read_bytes() == after
    check_formatters_agree(original, copy)
    if "C" not in letters:
        check_comments_kept(before, after)
    copy.write_bytes(before)
    with repository(copy.parent):
        git(
            copy.parent,
            "apply",
            given=re.sub(r"(?m)^([-+]{3} [ab]/).*$", rf"\g<1>{copy.name}", diff.out).encode(),
        )
    assert copy.read_bytes() == after


def check_untouched(file: Path, folder: Path) -> None:
    """Nothing to fix, whatever may be applied."""
    copy = folder / file.name
    copy.write_bytes(file.read_bytes())
    call = fix(str(copy), "--unsafe-fixes")
    assert (call.code, call.out, call.err) == (0, "", "kvlint: nothing to fix\n")
    assert copy.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("file", CLEAN, ids=lambda file: file.stem)
def test_sound_code_is_not_touched(file: Path, tmp_path: Path) -> None:
    check_untouched(file, tmp_path)
