"""A base class from an installed package: found, read, never imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kvlint.discover import installed
from kvlint.discover.project import load_project
from tests.discover.trees import MANAGER, cls, linted, write

PLUGIN = """
from vendor_kv.disaggregation.conn import Base

class Mine(Base):
    def abort(self, room):
        self.rooms.pop(room)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An installed package that leaves a mark when a line of it is executed."""
    mark = f"open({str(tmp_path / 'executed')!r}, 'w').close()\n"
    return write(
        tmp_path / "env" / "lib" / "python3.11" / "site-packages",
        {
            "vendor_kv/__init__.py": mark,
            "vendor_kv/disaggregation/__init__.py": mark,
            "vendor_kv/disaggregation/states.py": mark + "class Poll:\n    Failed = 0\n",
            "vendor_kv/disaggregation/conn.py": mark + MANAGER,
        },
    )


def check(tmp_path: Path) -> None:
    project = load_project(["mine"], cwd=str(tmp_path / "work"))
    mine = cls(project, "Mine")
    assert [c.name for c in mine.mro] == ["Mine", "Base"]
    assert linted(project) == ["mine/plugin.py"]
    base = mine.mro[1].module
    assert not base.linted
    poll = project.resolve(base, "Poll.Failed")
    assert poll is not None
    assert not (tmp_path / "executed").exists()
    assert "vendor_kv" not in sys.modules


def test_on_the_path_of_the_interpreter(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "work", {"mine/plugin.py": PLUGIN})
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    check(tmp_path)


def test_in_the_active_environment(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "work", {"mine/plugin.py": PLUGIN})
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    check(tmp_path)


def test_an_editable_install_in_the_active_environment(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "work", {"mine/plugin.py": PLUGIN})
    (site / "vendor_kv").rename(tmp_path / "vendor_kv")
    mark = f"import os; open({str(tmp_path / 'executed')!r}, 'w')\n"
    (site / "dev.pth").write_text(f"{mark}# note\n{tmp_path}\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    check(tmp_path)


def test_not_installed(tmp_path: Path) -> None:
    write(tmp_path / "work", {"mine/plugin.py": PLUGIN})
    project = load_project(["mine"], cwd=str(tmp_path / "work"))
    assert project.modules == {}
    assert project.problems == []


def test_an_extension_module_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "fake_ext.so").write_bytes(b"\x7fELF")
    assert installed.locate("fake_ext.Base", [str(tmp_path)])[0] is None


def test_what_is_not_looked_for() -> None:
    assert not installed.may_be_installed("threading.Thread", "pkg.mod")
    assert not installed.may_be_installed("Base", "pkg.mod")
    assert not installed.may_be_installed("pkg.other.Base", "pkg.mod")
    assert installed.may_be_installed("sglang.srt.Base", "pkg.mod")
