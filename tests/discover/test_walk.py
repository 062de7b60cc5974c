"""Which files a run looks at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint.discover.walk import Walk
from kvlint.errors import UsageError
from tests.discover.trees import write


def names(root: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    walk = Walk(str(root), exclude)
    for path in paths or (".",):
        walk.add(path)
    return [walk.files[i][len(str(root)) + 1 :] for i in range(len(walk.files))]


def test_files_come_sorted_and_once(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "", "a/z.py": "", "a/c.py": "", "a.txt": "", "s.pyi": ""})
    found = names(tmp_path, ".", "a", "b.py")
    assert sorted(found) == ["a/c.py", "a/z.py", "b.py", "s.pyi"]
    assert len(set(found)) == len(found)
    assert found == names(tmp_path, ".", "a", "b.py")


@pytest.mark.parametrize(
    "skipped",
    [".hidden/x.py", "__pycache__/x.py", "node_modules/x.py", "venv/x.py", "site-packages/x.py"],
)
def test_skipped_folders(tmp_path: Path, skipped: str) -> None:
    write(tmp_path, {"kept.py": "", skipped: ""})
    assert names(tmp_path) == ["kept.py"]
    assert names(tmp_path, skipped) == [skipped]


def test_a_virtual_environment_of_any_name(tmp_path: Path) -> None:
    write(tmp_path, {"kept.py": "", "env3/pyvenv.cfg": "", "env3/lib/x.py": ""})
    assert names(tmp_path) == ["kept.py"]


def test_gitignore_of_the_repository_and_of_folders(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(
        tmp_path,
        {
            ".gitignore": "build/\n*_pb2.py\n/top.py\n*.log\n[broken\n# note\n",
            "top.py": "",
            "build/x.py": "",
            "src/top.py": "",
            "src/a_pb2.py": "",
            "src/.gitignore": "!keep_pb2.py\nlocal.py\n",
            "src/keep_pb2.py": "",
            "src/local.py": "",
            "src/in/local.py": "",
            "local.py": "",
        },
    )
    assert sorted(names(tmp_path)) == ["local.py", "src/keep_pb2.py", "src/top.py"]
    assert sorted(names(tmp_path, "src")) == ["src/keep_pb2.py", "src/top.py"]


def test_what_the_user_names_is_taken_although_ignored(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, {".gitignore": "build/\n", "build/x.py": "", "build/in/y.py": ""})
    assert names(tmp_path, "build/x.py") == ["build/x.py"]
    assert names(tmp_path, "build/in") == ["build/in/y.py"]


def test_gitignore_outside_a_repository_counts_below_the_path(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "x.py\n", "a/x.py": "", "a/y.py": ""})
    assert names(tmp_path) == ["a/y.py"]
    assert names(tmp_path, "a") == ["a/x.py", "a/y.py"]


def test_a_tree_without_gitignore_does_not_import_pathspec(tmp_path: Path) -> None:

    write(tmp_path, {"x.py": ""})
    code = (
        "import sys; from kvlint.discover.project import load_project;"
        f"load_project([{str(tmp_path)!r}]);"
        "sys.exit(bool({'pathspec', 'astroid', 'libcst'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("gen", ["a/b_test.py", "c.py"]),
        ("*_test.py", ["a/gen/x.py", "c.py"]),
        ("a/gen", ["a/b_test.py", "c.py"]),
        ("./a/*/", ["c.py"]),
        ("other", ["a/b_test.py", "a/gen/x.py", "c.py"]),
    ],
)
def test_exclude(tmp_path: Path, pattern: str, kept: list[str]) -> None:
    write(tmp_path, {"a/gen/x.py": "", "a/b_test.py": "", "c.py": ""})
    assert sorted(names(tmp_path, exclude=(pattern,))) == kept
    assert names(tmp_path, "a/gen/x.py", exclude=(pattern,)) == ["a/gen/x.py"]


def test_symlink_loops_and_dead_links(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": ""})
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "self.py").symlink_to("self.py")
    (tmp_path / "a" / "dead.py").symlink_to("nowhere.py")
    (tmp_path / "link.py").symlink_to("a/x.py")
    assert sorted(names(tmp_path)) == ["a/x.py", "link.py"]
    assert names(tmp_path, "a/again/a/x.py") == ["a/again/a/x.py"]


@pytest.mark.parametrize("path", ["nowhere", "nowhere/x.py", "a/self.py", "x\0y"])
def test_a_missing_path_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "self.py").symlink_to("self.py")
    with pytest.raises(UsageError, match="no such file or folder"):
        names(tmp_path, path)


def test_a_folder_without_python_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"docs/readme.txt": "", "kept.py": ""})
    with pytest.raises(UsageError, match=r"^no Python file in folder: docs$"):
        names(tmp_path, "docs")


def test_a_pipe_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path, {"x.py": ""})
    assert names(tmp_path) == ["x.py"]
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        names(tmp_path, "pipe.py")


def test_an_unreadable_folder_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"shut/x.py": "", "y.py": ""})
    whole = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "scandir", scandir)
    walk = Walk(str(tmp_path))
    walk.add(".")
    assert [file.rpartition("/")[2] for file in walk.files] == ["y.py"]
    (problem,) = walk.problems
    assert (problem.path, problem.message) == ("shut", "cannot list this folder: Permission denied")
