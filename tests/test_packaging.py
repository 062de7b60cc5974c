"""`pip install .` in an empty environment gives a command that works."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .locations import ROOT

HEAVY = ("torch", "nixl", "pylint", "sglang")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment that holds kvlint and what it needs."""
    base = tmp_path_factory.mktemp("install")
    source = base / "source"
    _copy_sources(source)
    subprocess.run([sys.executable, "-m", "venv", str(base / "venv")], check=True)
    scripts = base / "venv" / ("Scripts" if os.name == "nt" else "bin")
    _run(scripts / "python", "-m", "pip", "install", "--quiet", str(source))
    return scripts


def test_the_command_works(environment: Path, tmp_path: Path) -> None:
    rules = _run(environment / "kvlint", "rules", cwd=tmp_path)
    assert "KV101" in rules
    assert _run(environment / "kvlint", "explain", "KV101", cwd=tmp_path).strip()


def test_dependencies_are_light(environment: Path) -> None:
    listed = _run(environment / "python", "-m", "pip", "list", "--format", "json")
    names = {package["name"].lower() for package in json.loads(listed)}
    assert "kvlint" in names
    assert not names & set(HEAVY)


def test_every_module_is_installed(environment: Path, tmp_path: Path) -> None:
    for package, folder in (("kvlint", "kvlint"), ("kvlint.rules", "rules")):
        where = f"import {package}; print({package}.__path__[0])"
        installed = _run(environment / "python", "-c", where, cwd=tmp_path).strip()
        assert _files(Path(installed)) >= _files(ROOT / folder)


def test_the_extra_for_transfers_has_all_that_their_command_imports() -> None:
    """Without the tools of development, which the tests bring along."""
    requirement = re.compile(r'^    "([A-Za-z0-9_-]+)', re.MULTILINE)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extra = text.partition("\ntransfer = [\n")[2].partition("\n]\n")[0]
    named = set(requirement.findall(extra))
    modules = [ROOT / "tests" / "releases" / "fetch.py", *(ROOT / "gpu_tests").rglob("*.py")]
    command = [m for m in modules if not m.name.startswith(("test_", "conftest"))]
    needed = {top for module in command for top in _imports(module)}
    assert {"zmq", "filelock"} <= needed
    installed_apart = {"nixl", "torch", "sglang"}
    of_the_checkout = {"kvlint", "gpu_tests", "tests"}
    names = {"zmq": "pyzmq"}
    missing = needed - installed_apart - of_the_checkout - sys.stdlib_module_names
    assert {names.get(top, top) for top in missing} <= named


def _imports(module: Path) -> Iterator[str]:
    """The first names of all that a file imports from elsewhere."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def _copy_sources(target: Path) -> None:
    """Copy what the build reads, so that it leaves nothing in the checkout."""
    for folder in ("kvlint", "rules"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, target / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, target / file)


def _files(folder: Path) -> set[Path]:
    return {p.relative_to(folder) for p in folder.rglob("*") if p.suffix in (".py", ".md")}


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    # Without the checkout on the path: only what was installed counts.
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
