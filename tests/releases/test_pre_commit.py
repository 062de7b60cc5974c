"""The hooks, run by the real pre-commit in a git checkout made from a release."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..locations import ROOT
from .conftest import Release
from .fetch import required
from .seed import make_seed

VERSION = "0.5.15.post1"
INSIDE = Path("sglang") / "srt" / "disaggregation"
FOLDER = Path("python") / INSIDE
CONFIG = """\
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: kvlint
      - id: kvlint
        alias: since-head
        args: [--isolated, --diff-base, HEAD]
        stages: [manual]
      - id: kvlint-fix
        stages: [manual]
"""

pytestmark = pytest.mark.releases


class Checkout:
    """A git repository, and pre-commit in it with a store of its own."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder = folder
        self._store = store
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet")

    def git(self, *argv: str) -> str:
        return self._call("git", *argv).stdout

    def commit(self) -> str:
        """Commit everything; the commit's name."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")
        return self.git("rev-parse", "HEAD").strip()

    def kvlint(self, *argv: str) -> str:
        return self._call(sys.executable, "-m", "kvlint", *argv).stdout

    def pre_commit(self, *argv: str) -> tuple[int, str]:
        """Exit status and output. Without the package index the test is skipped."""
        done = self._call(sys.executable, "-m", "pre_commit", *argv, check=False)
        said = done.stdout + done.stderr
        if "No matching distribution" in said and not required():
            pytest.skip("the package index cannot be reached")
        assert "An unexpected error" not in said, said
        return done.returncode, said

    def _call(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTHON"))}
        who = {
            f"GIT_{one}_{what}": "x"
            for one in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env={**kept, **who, "PRE_COMMIT_HOME": str(self._store), "PRE_COMMIT_COLOR": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit installs the hooks, once for all tests."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, store: Path) -> tuple[Path, str]:
    """A repository with kvlint as it is here, and its commit."""
    repository = Checkout(tmp_path_factory.mktemp("kvlint"), store)
    for name in ("kvlint", "rules"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, repository.folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, repository.folder / name)
    return repository.folder, repository.commit()


@pytest.fixture(scope="module")
def made(
    release: Release, hooks: tuple[Path, str], store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Checkout:
    """The release as it is, committed, then a baseline of what it has and the hooks."""
    made = Checkout(tmp_path_factory.mktemp("checkout"), store)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(release(VERSION) / INSIDE, made.folder / FOLDER, ignore=ignored)
    (made.folder / "README.md").touch()
    made.commit()
    made.kvlint("baseline", "write")
    (made.folder / "pyproject.toml").write_text(
        '[tool.kvlint]\nbaseline = "kvlint-baseline.json"\noutput-format = "concise"\n'
    )
    repo, rev = hooks
    (made.folder / ".pre-commit-config.yaml").write_text(CONFIG.format(repo=repo, rev=rev))
    made.commit()
    made.git("tag", "base")
    return made


@pytest.fixture
def checkout(made: Checkout) -> Iterator[Checkout]:
    """The same for each test, which may change and commit what it wants."""
    yield made
    made.git("reset", "--quiet", "--hard", "base")


def found(said: str) -> set[tuple[str, str]]:
    """File name and rule of each finding in the output."""
    return set(re.findall(r"(\w+/\w+\.py):\d+:\d+: \w+ (KV\d+) ", said))


def test_a_tree_with_a_baseline_passes_and_stays_clean(checkout: Checkout) -> None:
    code, said = checkout.pre_commit("run", "--all-files")
    assert (code, said.count("Passed")) == (0, 1), said
    assert checkout.git("status", "--porcelain") == ""


def test_a_commit_of_another_file_does_not_run_the_hook(checkout: Checkout) -> None:
    (checkout.folder / "README.md").write_text("more\n")
    checkout.git("add", "README.md")
    code, said = checkout.pre_commit("run")
    assert (code, said.count("Skipped")) == (0, 1), said


def test_the_seed_fails_with_the_new_findings_only(
    checkout: Checkout, release: Release, tmp_path: Path
) -> None:
    seed = make_seed(release(VERSION), tmp_path)
    backend = checkout.folder / FOLDER / "nixl" / "conn.py"
    shutil.copy(seed.backend, backend)
    checkout.git("add", "--all")
    code, said = checkout.pre_commit("run")
    assert code == 1
    assert {("nixl/conn.py", "KV101"), ("nixl/conn.py", "KV102")} <= found(said)
    assert {path for path, _ in found(said)} == {"nixl/conn.py"}
    assert "mooncake" not in said
    since = ("run", "--hook-stage", "manual", "since-head")
    code, told = checkout.pre_commit(*since)
    assert code == 1
    assert found(told) == found(said)
    assert re.search(r"; \d+ introduced, 2 fixed, \d+ standing since HEAD; ", told)
    status = checkout.git("status", "--porcelain")
    assert status == f"M  {(FOLDER / 'nixl' / 'conn.py').as_posix()}\n"
    checkout.commit()
    assert checkout.pre_commit(*since, "--all-files")[0] == 0


def test_try_repo(checkout: Checkout, hooks: tuple[Path, str]) -> None:
    repo, rev = hooks
    code, said = checkout.pre_commit("try-repo", str(repo), "kvlint", "--ref", rev, "--all-files")
    assert (code, said.count("Passed")) == (0, 1), said
    assert checkout.git("status", "--porcelain") == ""


def test_the_other_hook_writes_the_fixes(
    hooks: tuple[Path, str], store: Path, tmp_path: Path
) -> None:
    repo, rev = hooks
    small = Checkout(tmp_path / "small", store)
    file = small.folder / "disaggregation" / "pages" / "conn.py"
    file.parent.mkdir(parents=True)
    shutil.copy(ROOT / "fixtures" / "kv104_bad_only_success_guarded.py", file)
    (small.folder / ".pre-commit-config.yaml").write_text(CONFIG.format(repo=repo, rev=rev))
    small.commit()
    run = ("run", "--all-files", "--hook-stage", "manual")
    code, said = small.pre_commit(*run, "kvlint-fix")
    assert (code, "files were modified by this hook" in said) == (1, True), said
    assert small.git("status", "--porcelain") == " M disaggregation/pages/conn.py\n"
    small.git("add", "--all")
    assert small.pre_commit(*run, "kvlint-fix")[0] == 0
