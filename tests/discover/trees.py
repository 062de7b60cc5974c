"""Small source trees for the discovery tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from kvlint.discover.project import ClassInfo, Project

ENUM = """
class Poll:
    Failed = 0
    Moving = 1
    Done = 2
"""

MANAGER = """
import threading
from .states import Poll

class Base:
    def __init__(self):
        self.rooms = {}
        threading.Thread(target=self.work).start()

    def work(self):
        self.rooms[1] = Poll.Failed
"""

HEIR = """
from .base import Base

class Heir(Base):
    def abort(self, room):
        self.rooms.pop(room)
"""


def write(root: Path, files: dict[str, str]) -> Path:
    """Write the files of a tree and return its root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


def backend(root: Path, package: str = "pkg") -> Path:
    """A package with an enum, a manager with a thread, and an heir that has neither."""
    return write(
        root,
        {
            f"{package}/__init__.py": "",
            f"{package}/states.py": ENUM,
            f"{package}/base.py": MANAGER,
            f"{package}/heir.py": HEIR,
        },
    )


def cls(project: Project, name: str) -> ClassInfo:
    """The only class of that name."""
    (found,) = (known for known in project.classes() if known.name == name)
    return found


def linted(project: Project) -> list[str]:
    """The display paths of what the run is about."""
    return sorted(module.display for module in project.linted())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
PATIENCE = 30  # seconds


def together(folder: Path) -> Callable[[object], int]:
    """Work that tells who did it, and that nobody ends before the other one has begun with it."""
    parent, marks = os.getpid(), (folder / "parent", folder / "child")

    def work(_: object) -> int:
        marks[os.getpid() != parent].touch()
        end = time.monotonic() + PATIENCE
        while not all(mark.exists() for mark in marks):
            assert time.monotonic() < end, "there is nobody else"
            time.sleep(0.001)
        return os.getpid()

    return work
