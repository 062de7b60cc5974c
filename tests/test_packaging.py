"""`pip install .` in an empty environment gives a command that works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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
