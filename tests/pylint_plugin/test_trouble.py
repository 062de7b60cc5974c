"""What keeps the plugin from its work is one message for the run, whatever the number of jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.discover.walk import Walk
from kvlint.pylint import run
from kvlint.pylint.messages import FAILED
from kvlint.pylint.paths import Given
from kvlint.pylint.run import Note

from .conftest import GOOD, configure
from .running import JOBS, found, lines, pylint, python, said


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'selct = ["KV1"]',
            "pyproject.toml: tool.kvlint: unknown key 'selct' (did you mean select?)",
        ),
        (
            'baseline = "known.json"',
            "known.json: there is no such baseline "
            "(kvlint baseline write --baseline known.json writes one)",
        ),
    ],
)
def test_a_wrong_configuration(tree: Path, text: str, why: str, jobs: str) -> None:
    configure(tree, text)
    done = pylint(tree, jobs, "pages")
    assert lines(done) == [f"kvlint:1:0: F5801: kvlint did not run: {why} (kvlint-failed)"]
    assert done.code == 1


@pytest.mark.parametrize("jobs", JOBS)
def test_a_search_that_gave_up(tree: Path, jobs: str) -> None:
    configure(tree, "max-states = 20\nignore = ['KV1']")
    done = pylint(tree, jobs, "pages")
    assert lines(done) == [
        "kvlint:1:0: E5802: the search gave up in PageManager: raise max-states in [tool.kvlint] "
        "(kvlint-search-gave-up)",
        "kvlint:1:0: E5802: the search gave up in ShardManager: raise max-states in [tool.kvlint] "
        "(kvlint-search-gave-up)",
    ]
    assert done.code == 2


@pytest.mark.parametrize("jobs", JOBS)
def test_a_baseline(tree: Path, jobs: str) -> None:
    configure(tree, 'baseline = "known.json"')
    assert python(tree, "-m", "kvlint", "baseline", "write", "pages").code == 0
    assert pylint(tree, jobs, "pages") == (0, "", "")
    (tree / "pages/base.py").write_text(GOOD.read_text(encoding="utf-8"), encoding="utf-8")
    (tree / "pages/shards.py").unlink()
    done = pylint(tree, jobs, "pages")
    assert (done.code, done.err) == (4, "")
    gone = "kvlint:1:0: W5803: known.json: KV103 transient-after-failed in pages/base.py is gone: "
    assert done.out.count("W5803") == 4
    assert gone in done.out
    assert "(shrink the baseline: kvlint baseline update --baseline known.json)" in done.out


def test_gaps_are_informations(tree: Path) -> None:
    odd = "\n\nclass Odd(PageManager, ShardManager):\n    pass\n"
    with (tree / "pages/shards.py").open("a") as file:
        file.write(odd)
    told = python(tree, "-m", "kvlint", "check", "-v", "pages").err
    (gap,) = [line for line in told.splitlines() if line.startswith("kvlint: gap: pages/shards.py")]
    place, _, text = gap.removeprefix("kvlint: gap: ").partition(": ")
    (line,) = [line for line in lines(pylint(tree, "pages")) if "I5805" in line]
    assert line == f"{place}:0: I5805: {text} (kvlint-gap)"


def test_a_folder_that_cannot_be_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "pages/locked").mkdir()
    monkeypatch.chdir(tree)
    listed = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = run.analyse(Given(["pages"]))
    said = "pages/locked: cannot list this folder: Permission denied"
    assert result.notes == [Note(FAILED, said)]
    assert {str(tree / "pages/base.py"), str(tree / "pages/shards.py")} <= set(result.findings)


def test_an_internal_error_is_a_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def add(walk: Walk, path: str) -> None:
        raise ZeroDivisionError("on\nno account")

    monkeypatch.chdir(tree)
    monkeypatch.setattr(Walk, "add", add)
    result = run.analyse(Given(["pages"]))
    assert (result.findings, result.notes) == (
        {},
        [
            Note(
                FAILED,
                "kvlint did not run: internal error: ZeroDivisionError: on no account "
                "(kvlint check -v pages prints the traceback)",
            )
        ],
    )


@pytest.mark.parametrize("jobs", JOBS)
def test_paths_without_python_do_not_keep_others_from_being_read(tree: Path, jobs: str) -> None:
    (tree / "empty").mkdir()
    assert said(tree, jobs, "empty", "missing", "pages") == found(tree, "pages")
    assert pylint(tree, jobs, "empty", "missing").err == ""


def test_without_pylint(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pylint'] = None; import kvlint.pylint"
    assert _last_line(tmp_path, code) == (
        "ModuleNotFoundError: kvlint.pylint needs pylint 4.1 or newer: pip install 'kvlint[pylint]'"
    )


def test_with_an_old_pylint(tmp_path: Path) -> None:
    (tmp_path / "pylint").mkdir()
    (tmp_path / "pylint" / "__init__.py").write_text("__version__ = '3.3.9'\n")
    assert _last_line(tmp_path, "import kvlint.pylint", PYTHONPATH=str(tmp_path)) == (
        "ModuleNotFoundError: kvlint.pylint needs pylint 4.1 or newer: pip install 'kvlint[pylint]'"
    )


def _last_line(folder: Path, code: str, **environment: str) -> str:
    return python(folder, "-c", code, **environment).err.splitlines()[-1]
