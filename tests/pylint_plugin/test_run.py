"""What pylint prints with the plugin, beside what `kvlint check` finds in the same paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from pylint.lint import PyLinter
from pylint.reporters import CollectingReporter

from kvlint.pylint import register

from ..conftest import Snapshot
from .conftest import BAD, GOOD, configure, edit
from .running import JOBS, OPTIONS, found, lines, pylint, python, said

INSIDE = "                self.set_status(room, status)  # expect: KV103 confirmed"
STORE = "                self.status_of[room] = max(present, status)"
DEFINED = "    def set_status(self, room, status):  # expect: KV104 confirmed\n"


@pytest.mark.parametrize("jobs", JOBS)
def test_the_whole_output(tree: Path, jobs: str, snapshot: Snapshot) -> None:
    done = pylint(tree, jobs, "pages")
    assert (done.code, done.err) == (2, "")
    snapshot("pages.txt", done.out)


@pytest.mark.parametrize(
    ("jobs", "paths"),
    [
        ("-j2", ["pages"]),
        ("-j1", ["pages/base.py"]),
        ("-j2", ["pages/shards.py", "pages/base.py"]),
        ("-j1", ["."]),
    ],
)
def test_the_findings_are_those_of_check(tree: Path, jobs: str, paths: list[str]) -> None:
    expected = found(tree, *paths)
    assert len(expected) >= 3
    assert said(tree, jobs, "--recursive=y", *paths) == expected


def test_a_package_may_be_given_by_its_name(tree: Path) -> None:
    elsewhere = tree / "elsewhere"
    elsewhere.mkdir()
    for name, count in (("pages", 4), ("pages.base", 3)):
        argv = ("-m", "pylint", *OPTIONS, name)
        done = python(elsewhere, *argv, PYTHONPATH=str(tree))
        assert done.err == ""
        assert done.out.count("kvlint explain") == count


@pytest.mark.parametrize("jobs", JOBS)
def test_what_lies_in_a_file_that_was_not_given_is_an_information(tree: Path, jobs: str) -> None:
    elsewhere = (
        "kvlint:1:0: I5804: 2 findings in pages/base.py, which pylint did not visit "
        "(kvlint check pages/shards.py shows them) (kvlint-finding-elsewhere)"
    )
    inherits = (
        "pages/shards.py:6:0: E5814: inherits `set_status`, which lets `Failed` become `Queued`; "
        "pages/base.py:40: `PageManager.set_status` is defined here (kvlint explain KV104) "
        "(kv104-terminal-not-sticky)"
    )
    assert lines(pylint(tree, jobs, "pages/shards.py")) == [inherits, elsewhere]
    usual = ("--load-plugins=kvlint.pylint", "--disable=C,R", "--score=n", "--persistent=n")
    assert lines(pylint(tree, jobs, "pages/shards.py", options=usual)) == [inherits]


@pytest.mark.parametrize("jobs", JOBS)
def test_files_that_pylint_leaves_out_are_counted_too(tree: Path, jobs: str) -> None:
    (tree / "pages/inner").mkdir()
    for name in ("inner/left_out.py", "ignored.py", "skipped.py"):
        text = BAD.read_text(encoding="utf-8")
        skip = "# pylint: skip-file\n" if name == "skipped.py" else ""
        (tree / "pages" / name).write_text(skip + text, encoding="utf-8")
    told = lines(pylint(tree, jobs, "--ignore=ignored.py", "pages"))
    assert [line.split(",")[0] for line in told if "I5804" in line] == [
        "kvlint:1:0: I5804: 3 findings in pages/ignored.py",
        "kvlint:1:0: I5804: 3 findings in pages/inner/left_out.py",
        "kvlint:1:0: I5804: 3 findings in pages/skipped.py",
    ]
    assert len(told) == 7


@pytest.mark.parametrize("jobs", JOBS)
def test_a_good_twin_gives_nothing(tmp_path: Path, jobs: str) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(GOOD.read_text(encoding="utf-8"), encoding="utf-8")
    assert pylint(tmp_path, jobs, "one.py", "two.py") == (0, "", "")


@pytest.mark.parametrize("jobs", JOBS)
def test_the_code_is_not_imported(tree: Path, jobs: str) -> None:
    trap = "import pathlib\n\npathlib.Path('imported').touch()\n"
    for file in (tree / "pages").iterdir():
        file.write_text(file.read_text(encoding="utf-8") + trap, encoding="utf-8")
    before = sorted(tree.rglob("*"))
    assert pylint(tree, jobs, "pages").code == 2
    assert pylint(tree, jobs, "pages.shards").code == 2
    assert sorted(tree.rglob("*")) == before
    python(tree, "-c", "import pages")
    assert (tree / "imported").exists()


COMMENTS = [
    (INSIDE, f"{INSIDE}  # pylint: disable=kv103-transient-after-failed", [40, 48]),
    (INSIDE, f"{INSIDE}  # pylint: disable=kv103", [40, 48]),
    (INSIDE, f"{INSIDE}  # pylint: disable=E5813", [40, 48]),
    (INSIDE, f"{INSIDE}  # pylint: disable=kv103-transient-after-failed-narrow", [40, 48, 62]),
    (INSIDE, f"                # pylint: disable=kv103\n{INSIDE}", [40, 48]),
    (STORE, f"                # pylint: disable-next=kv104\n{STORE}", [40, 63]),
    (DEFINED, f"{DEFINED}        # pylint: disable=kv104-terminal-not-sticky\n", [63]),
    ("import queue\n", "import queue  # pylint: skip-file\n", []),
]


@pytest.mark.parametrize("jobs", JOBS)
def test_comments_of_pylint(tmp_path: Path, jobs: str) -> None:
    expected = []
    for number, (old, new, left) in enumerate(COMMENTS):
        file = tmp_path / f"base{number}.py"
        file.write_text(BAD.read_text(encoding="utf-8"), encoding="utf-8")
        edit(file, old, new)
        expected += [(file.name, line) for line in left]
    files = [file.name for file in tmp_path.iterdir()]
    assert [place[:2] for place in said(tmp_path, jobs, *files)] == expected


def test_a_comment_that_is_used_is_not_called_useless(tree: Path) -> None:
    edit(
        tree / "pages/base.py", INSIDE, f"{INSIDE}  # pylint: disable=kv103-transient-after-failed"
    )
    assert "I0021" not in pylint(tree, "--enable=useless-suppression", "pages").out
    edit(tree / "pages/base.py", "disable=kv103-", "disable=kv101-pop-without-terminal,kv103-")
    assert pylint(tree, "--enable=useless-suppression", "pages").out.count("I0021") == 1


def test_pylint_switches_rules_and_verdicts_off(tree: Path) -> None:
    assert {place[5] for place in said(tree, "--disable=kv104", "pages")} == {"KV103"}
    assert said(tree, "--disable=kvlint", "--enable=W5813", "pages") == []
    assert said(tree, "--confidence=INFERENCE", "pages") == []
    assert len(said(tree, "--confidence=HIGH", "pages")) == 4


def test_comments_of_kvlint(tree: Path) -> None:
    base = tree / "pages" / "base.py"
    edit(base, INSIDE, f"{INSIDE}  # kvlint: ignore[KV103] -- the peer never aborts")
    assert {place[5] for place in said(tree, "pages")} == {"KV104"}
    edit(base, "KV103] --", "KV103, KV301] --")
    (unused,) = [line for line in lines(pylint(tree, "pages")) if "KV903" in line]
    assert unused == (
        "pages/base.py:62:47: W5893: `KV301` silences nothing here; remove it "
        "(kvlint explain KV903) (kv903-unused-suppression)"
    )


@pytest.mark.parametrize("jobs", JOBS)
def test_a_file_that_is_no_python_is_told_by_pylint(tree: Path, jobs: str) -> None:
    (tree / "pages" / "torn.py").write_text("def f(:\n")
    done = pylint(tree, jobs, "pages", "missing.py")
    assert done.err == ""
    assert "pages/torn.py:1:7: E0001" in done.out
    assert "missing.py:1:0: F0001" in pylint(tree, jobs, "--enable=F", "pages", "missing.py").out
    assert done.out.count("E5814") == 3


def test_what_an_editor_has_not_saved_yet(tree: Path) -> None:
    text = (tree / "pages/base.py").read_text(encoding="utf-8").replace("Queued", "Waiting")
    for jobs in JOBS:
        done = pylint(tree, jobs, "--from-stdin", "pages/base.py", stdin=f"\n{text}")
        assert lines(done)[0].startswith(
            "pages/base.py:41:4: E5814: `Failed` can become `Waiting`; return early"
        )
    fixed = GOOD.read_text(encoding="utf-8")
    assert pylint(tree, "--from-stdin", "pages/base.py", stdin=fixed) == (0, "", "")


def test_modules_that_are_no_backend_bring_no_engine(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("class Point:\n    x = 0\n")
    code = (
        "import sys\n"
        "from pylint.lint import Run\n"
        "Run(['--load-plugins=kvlint.pylint', '--disable=C,R', 'plain.py'], exit=False)\n"
        "print([name for name in ('kvlint.pylint.run', 'kvlint.analysis') if name in sys.modules])"
    )
    assert python(tmp_path, "-c", code).out.endswith("\n['kvlint.pylint.run']\n")


def test_settings_decide_what_is_reported(tree: Path) -> None:
    for text in (
        'select = ["KV103", "KV104"]\nignore = ["transient-after-failed"]',
        'exclude = ["shards.py"]\nper-file-ignores = { "pages/base.py" = ["KV104"] }',
        "environment = { disturbances = [] }\nshow-latent = true",
        'protocol = { failure = ["Queued"] }',
    ):
        configure(tree, text)
        assert said(tree, "pages") == found(tree, "pages"), text


def test_the_folder_pylint_runs_in_does_not_matter(tree: Path) -> None:
    configure(tree, 'per-file-ignores = { "pages/base.py" = ["KV104"] }')
    elsewhere = tree / "elsewhere"
    elsewhere.mkdir()
    here = said(tree, "pages")
    assert [place[1:] for place in said(elsewhere, str(tree / "pages"))] == [p[1:] for p in here]
    assert len(here) == 2


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_not_forked(tree: Path, method: str) -> None:
    code = (
        "import multiprocessing\n"
        f"multiprocessing.set_start_method({method!r})\n"
        "from pylint.lint import Run\n"
        f"Run({[*OPTIONS, '-j2', 'pages']!r}, exit=False)\n"
    )
    assert python(tree, "-c", code) == (0, pylint(tree, "pages").out, "")


def test_a_linter_that_was_not_told_its_files_takes_each_by_itself(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    linter = PyLinter(reporter=CollectingReporter())
    linter.load_default_plugins()
    register(linter)
    linter.disable("all")
    linter.enable("kvlint")
    linter.check(["pages/shards.py", "pages/base.py"])
    messages = [(m.path, m.line, m.msg_id) for m in linter.reporter.messages]
    assert messages == [
        ("pages/shards.py", 6, "E5814"),
        ("pages/base.py", 40, "E5814"),
        ("pages/base.py", 48, "E5814"),
        ("pages/base.py", 62, "E5813"),
    ]
