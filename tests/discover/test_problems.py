"""Input that cannot be analysed becomes one problem each; the rest is still read."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import perf_counter

import pytest

from kvlint.discover.prefilter import is_unrelated
from kvlint.discover.project import Project, load_project
from tests.discover.trees import backend, linted

GOOD = ["pkg/base.py", "pkg/heir.py"]


def with_bad_file(root: Path, content: bytes) -> Project:
    backend(root)
    (root / "bad.py").write_bytes(content)
    return load_project(["."], cwd=str(root))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"x = 1\n\ndef f(:\n", 3, "syntax error"),
        (b"x = 1\ny = '\xff'\n", 2, "not valid utf-8 text"),
        (b"\xef\xbb\xbfx = 1\ny = '\xff'\n", 2, "not valid utf-8 text"),
        (b"x = 1\ny = '\0'\n", 2, "binary file: it holds a NUL byte"),
        (b"# coding: nonsense\nx = 1\n", 1, "nonsense"),
        (b"x = " + b"(" * 5000 + b")" * 5000, 1, ""),
        (b"x = " + b"-" * 200_000 + b"1", 1, ""),
        (b"if 1:\n\tx = 1\n        y = 2\n", 3, "syntax error"),
    ],
    ids=["syntax", "latin-1", "bom", "nul", "cookie", "brackets", "signs", "tabs"],
)
def test_a_bad_file(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    project = with_bad_file(tmp_path, content)
    (problem,) = project.problems
    assert problem.path == "bad.py"
    assert problem.line == line
    assert message in problem.message
    assert "\n" not in problem.message
    assert linted(project) == GOOD
    assert not is_unrelated(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfx = 'BOM'\n",
        b"# -*- coding: latin-1 -*-\nx = '\xff'\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
        b"x = 'r'\r\ny = 2\r\n",
        b"",
    ],
    ids=["bom", "latin-1", "second-line", "crlf", "empty"],
)
def test_a_good_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    project = with_bad_file(tmp_path, content)
    assert project.problems == []
    assert linted(project) == GOOD
    assert is_unrelated(content)


def test_a_declared_encoding_is_used(tmp_path: Path) -> None:
    text = "# coding: latin-1\nclass P:\n    FAILED = 'é'\nx = P.FAILED\nimport threading\n"
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    project = load_project(["a.py"], cwd=str(tmp_path))
    assert project.modules["a"].source == text


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    backend(tmp_path)
    with open(tmp_path / "big.py", "wb") as file:
        file.truncate(20_000_000)
    start = perf_counter()
    project = load_project(["."], cwd=str(tmp_path))
    assert perf_counter() - start < 2
    assert [problem.message for problem in project.problems] == [
        "file too large: 20.0 MB, the limit is 5 MB"
    ]
    assert linted(project) == GOOD


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend(tmp_path)
    (tmp_path / "shut.py").write_text("x = 1")
    whole = os.open

    def refusing(path: str, flags: int) -> int:
        if path.endswith("shut.py"):
            raise PermissionError(13, "Permission denied")
        return whole(path, flags)

    monkeypatch.setattr(os, "open", refusing)
    project = load_project(["."], cwd=str(tmp_path))
    assert [problem.message for problem in project.problems] == [
        "cannot read this file: Permission denied"
    ]
    assert linted(project) == GOOD


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads files without permission")
def test_a_file_without_permission(tmp_path: Path) -> None:
    backend(tmp_path)
    (tmp_path / "shut.py").write_text("x = 1")
    (tmp_path / "shut.py").chmod(0)
    project = load_project(["."], cwd=str(tmp_path))
    assert [problem.path for problem in project.problems] == ["shut.py"]


def test_a_bad_base_module_is_a_gap_and_no_problem(tmp_path: Path) -> None:
    backend(tmp_path)
    (tmp_path / "pkg" / "states.py").write_text("class Poll(:\n")
    project = load_project(["pkg/base.py"], cwd=str(tmp_path))
    assert linted(project) == ["pkg/base.py"]
    assert project.problems == []
    assert project.resolve(project.linted()[0], "Poll") is None
    (gap,) = project.gaps
    assert (gap.path, gap.line) == ("pkg/states.py", 1)


def test_warnings_of_the_parser_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('x = "\\d"\nassert (1, 2)\n')
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert load_project(["a.py"], cwd=str(tmp_path)).problems == []
    assert seen == []


def test_an_explicit_file_of_any_name_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("def f(:\n")
    project = load_project(["script"], cwd=str(tmp_path))
    assert [problem.path for problem in project.problems] == ["script"]
