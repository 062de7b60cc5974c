"""A folder with a small backend, an engine that finds fixed things in it, and the command."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol

import pytest

from kvlint.cli import main
from kvlint.config import Settings
from kvlint.discover.project import Module, Project
from kvlint.findings import Report
from tests.report import samples

ENVIRONMENT = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "GITHUB_ACTIONS", "GITHUB_WORKSPACE")


class Result(NamedTuple):
    """What one call gave."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Call the command line."""

    def __call__(self, *argv: str) -> Result: ...


class Engine:
    """Stands for discovery and analysis, and remembers what it was asked."""

    def __init__(self) -> None:
        self.report = samples.report()
        self.paths: tuple[str, ...] = ()
        self.exclude: tuple[str, ...] = ()
        self.settings = Settings()

    def load_project(
        self,
        paths: Sequence[str],
        *,
        exclude: Sequence[str] = (),
        **_: object,
    ) -> Project:
        self.paths, self.exclude = tuple(paths), tuple(exclude)
        return Project(modules={name: _module(name) for name in samples.FILES}, files=7)

    def analyse(self, project: Project, settings: Settings) -> Report:
        self.settings = settings
        return self.report


def _module(name: str) -> Module:
    source = samples.FILES[name]
    return Module(name, Path(name), name, source, ast.parse(source))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the caller changes the output, and no file above the working directory."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: str) -> Result:
        code = main(argv)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """The fixed engine, with the files it speaks of in the working directory."""
    for name, text in samples.FILES.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    fake = Engine()
    analysis = ModuleType("kvlint.analysis")
    analysis.analyse = fake.analyse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kvlint.analysis", analysis)
    monkeypatch.setattr("kvlint.tables.tables_of", fake.analyse)
    monkeypatch.setattr("kvlint.discover.project.load_project", fake.load_project)
    return fake
