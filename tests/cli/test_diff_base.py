"""`--diff-base`: only what a revision does not have is reported, and git is only read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.locations import ROOT
from tests.running import run
from tests.test_fingerprints import moved

BAD = (ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py").read_text(encoding="utf-8")
GOOD = (ROOT / "fixtures" / "kv103_good_sticky_under_aborted_sender.py").read_text(encoding="utf-8")
OTHER = (ROOT / "fixtures" / "kv104_bad_only_success_guarded.py").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one bad backend in it; the working directory is its root."""
    for name in [name for name in os.environ if name.startswith("GIT")]:
        monkeypatch.delenv(name)
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    # A temporary folder of its own shows what is left behind.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    git("init", "--quiet")
    write("pkg/old.py", BAD)
    commit()
    return top


def git(*argv: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@x")
    done = subprocess.run(["git", *who, *argv], capture_output=True, text=True, check=True)
    return done.stdout


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def check(*options: str, base: str = "HEAD") -> tuple[int, str, str]:
    given = options or (".",)
    return run(["check", *given, "--isolated", "--diff-base", base])


def counts(*options: str, base: str = "HEAD") -> tuple[int, int, int]:
    """Introduced, fixed and standing, as the last line has them."""
    out = check(*options, base=base)[1]
    told = re.search(r"(\d+) introduced, (\d+) fixed, (\d+) standing since " + base, out)
    assert told is not None, out
    return int(told[1]), int(told[2]), int(told[3])


def test_nothing_is_new_in_a_tree_as_it_was() -> None:
    code, out, err = check()
    assert (code, err) == (0, "")
    assert out == ("no findings; 0 introduced, 0 fixed, 3 standing since HEAD; 1 class analysed\n")


def test_a_new_file_and_a_fixed_one() -> None:
    write("pkg/new.py", OTHER)
    write("pkg/old.py", GOOD)
    code, out, err = check()
    assert code == 1
    lines = out.splitlines()
    assert {line.split(":")[0] for line in lines[:-1]} == {"pkg/new.py"}
    assert "; 2 introduced, 3 fixed, 0 standing since HEAD; " in lines[-1]
    assert err == ""
    err = check(".", "-v")[2]
    assert err.count("kvlint: fixed since HEAD: pkg/old.py:") == 3
    assert "pkg/old.py:62: KV103 transient-after-failed: `Sending` can be" in err


def test_moved_lines_and_a_moved_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pkg/old.py", moved(BAD))
    assert counts() == (0, 0, 3)
    monkeypatch.chdir("pkg")
    assert counts() == (0, 0, 3)
    assert counts("old.py") == (0, 0, 3)
    write("old.py", GOOD)
    assert "fixed since HEAD: old.py:62: " in check(".", "-v")[2]
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert counts("..") == (0, 3, 0)
    assert str(Path("../old.py").resolve()) in check("..", "-v")[2]


def test_a_deleted_and_a_renamed_file() -> None:
    git("mv", "pkg/old.py", "pkg/moved.py")
    assert counts() == (3, 3, 0)
    Path("pkg/moved.py").unlink()
    write("pkg/other.py", "x = 1\n")
    assert counts() == (0, 3, 0)


def test_a_folder_that_the_revision_does_not_have() -> None:
    write("new/backend.py", OTHER)
    assert counts("new") == (2, 0, 0)
    assert counts("new", "pkg") == (2, 0, 3)


def test_a_base_class_in_another_file_is_that_of_the_revision() -> None:
    head, tail = GOOD.split("class PageManager")
    write("pkg/base.py", f"{head}class Base{tail}")
    write("pkg/old.py", "from base import Base\n\n\nclass PageManager(Base):\n    pass\n")
    commit()
    assert counts("pkg/old.py") == (0, 0, 0)
    head, tail = BAD.split("class PageManager")
    write("pkg/base.py", f"{head}class Base{tail}")
    introduced, fixed, standing = counts("pkg/old.py")
    assert (introduced > 0, fixed, standing) == (True, 0, 0)


def test_any_name_of_a_revision() -> None:
    write("pkg/old.py", GOOD)
    commit()
    git("tag", "now")
    assert counts(base="now") == (0, 0, 0)
    assert counts(base="HEAD~1") == (0, 3, 0)
    assert counts(base=git("rev-parse", "HEAD~1").strip()) == (0, 3, 0)


def test_the_checkout_is_not_touched(repository: Path) -> None:
    write("pkg/old.py", GOOD)
    write("untracked.py", OTHER)
    before = state(repository)
    check()
    assert state(repository) == before
    assert git("worktree", "list").count("\n") == 1
    assert list((repository.parent / "temporary").iterdir()) == []


def state(top: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a tree and of its repository, with its time and content."""
    files = [path for path in top.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_nothing_stays_behind_after_an_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvlint.difference._holds_python", fail)
    assert check()[0] == 130
    assert list((repository.parent / "temporary").iterdir()) == []


def test_what_git_ignores_is_ignored_in_both() -> None:
    write(".gitignore", "pkg/old.py\n")
    commit()  # the file stays tracked
    write("pkg/new.py", OTHER)
    assert counts("pkg") == (2, 0, 0)


def test_a_worse_finding_is_introduced(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = check(".", "--preemptions", "0")
    assert "0 introduced" in fewer[1]
    from kvlint.difference import Difference, _sort
    from kvlint.findings import Span
    from tests.report import samples

    narrow = samples.finding("KV101", "narrow", Span("a.py", 1))
    confirmed = samples.finding("KV101", "confirmed", Span("a.py", 1))
    result = Difference("x", "y")
    _sort(result, [narrow], [confirmed])
    assert (result.introduced, result.standing, result.fixed) == ([confirmed], [], [])
    result = Difference("x", "y")
    _sort(result, [confirmed], [narrow])
    assert (result.introduced, result.standing, result.fixed) == ([], [narrow], [])


def test_a_silenced_finding_is_not_fixed() -> None:
    line = next(x for x in BAD.splitlines() if "self.set_status(room, status)" in x)
    write("pkg/old.py", BAD.replace(line, f"{line.split('  #')[0]}  # kvlint: ignore[KV103] -- x"))
    assert counts() == (0, 0, 2)
    assert "1 silenced in the source" in check()[1]


def test_with_a_baseline() -> None:
    assert run(["baseline", "write", "--isolated", "pkg"])[0] == 0
    write("pkg/new.py", OTHER)
    code, out, err = check("pkg", "--baseline", "kvlint-baseline.json")
    assert (code, err) == (1, "")
    assert "2 introduced, 0 fixed, 3 standing since HEAD; " in out
    assert "; 3 in the baseline; " in out
    run(["baseline", "write", "--force", "--isolated", "pkg"])
    assert check("pkg", "--baseline", "kvlint-baseline.json")[0] == 0
    write("pkg/old.py", GOOD)
    code, _, err = check("pkg", "--baseline", "kvlint-baseline.json")
    assert (code, "shrink the baseline" in err) == (1, True)


def test_formats() -> None:
    write("pkg/new.py", OTHER)
    loaded = json.loads(check(".", "--output-format", "json")[1])
    assert loaded["difference"] == {
        "base": "HEAD",
        "commit": git("rev-parse", "HEAD").strip(),
        "introduced": 2,
        "fixed": 0,
        "standing": 3,
    }
    assert len(loaded["findings"]) == 2
    plain = run(["check", ".", "--isolated", "--output-format", "json"])[1]
    assert "difference" not in json.loads(plain)
    (log,) = json.loads(check(".", "--output-format", "sarif")[1])["runs"]
    assert [result["baselineState"] for result in log["results"]] == ["new", "new"]
    assert check(".", "--output-format", "github")[1].count("::error ") == 1


def test_a_revision_whose_search_gave_up_says_so() -> None:
    write("pkg/old.py", "x = 1\n")
    code, _, err = check(".", "--max-states", "5")
    assert (code, err) == (
        0,
        "kvlint: the search of HEAD gave up: what is introduced may have been there\n",
    )


def test_an_unrelated_file_may_fix_something() -> None:
    write("pkg/old.py", "x = 1\n")
    assert counts("pkg/old.py") == (0, 3, 0)


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("nowhere", "git knows no revision 'nowhere'"),
        ("HEAD:pkg", "git knows no revision 'HEAD:pkg'"),
        ("--all", "'--all' is not a revision"),
        ("", "git knows no revision ''"),
    ],
)
def test_a_name_that_means_no_commit(base: str, said: str) -> None:
    result = run(["check", ".", f"--diff-base={base}"])
    assert result == (2, "", f"kvlint: error: {said}\n")


def test_a_shallow_clone_gets_a_hint(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("pkg/new.py", OTHER)
    commit()
    git("clone", "--quiet", "--depth", "1", repository.as_uri(), "../clone")
    monkeypatch.chdir("../clone")
    assert check(base="HEAD~1")[2] == (
        "kvlint: error: git knows no revision 'HEAD~1' "
        "(the clone is shallow: fetch more of its history)\n"
    )


def test_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write("a.py", BAD)
    code, out, err = check()
    assert (code, out) == (2, "")
    assert err.startswith("kvlint: error: git: not a git repository")


def test_a_path_outside_the_repository(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(BAD)
    assert check("../elsewhere.py")[2] == (
        f"kvlint: error: ../elsewhere.py lies outside the repository {repository.resolve()}\n"
    )


def test_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert check()[2].startswith("kvlint: error: cannot run git: ")


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (
            "hint: a\nfatal: detected dubious ownership\nTo add an exception: x",
            "detected dubious ownership",
        ),
        ("error: b", "error: b"),
        ("", "failed"),
    ],
)
def test_the_line_of_gits_complaint_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr: str, line: str
) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\nprintf '%s' {stderr!r} | sed 's/\\\\n/\\n/g' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert check()[2] == f"kvlint: error: git: {line}\n"


def test_an_object_that_is_missing(repository: Path) -> None:
    blob = git("rev-parse", "HEAD:pkg/old.py").strip()
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    head = git("rev-parse", "HEAD").strip()
    assert check()[2] == f"kvlint: error: git does not have pkg/old.py of {head}\n"


def test_odd_names_and_links_in_the_tree() -> None:
    write("pkg/ü b\n.py", "x = 1\n")
    os.symlink("old.py", "pkg/link.py")
    shutil.copy("pkg/old.py", "pkg/empty.py")
    write("pkg/empty.py", "")
    commit()
    introduced, fixed, _ = counts("pkg/old.py")
    assert (introduced, fixed) == (0, 0)
