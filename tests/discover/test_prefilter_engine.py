"""What the engine finds is the same with the prefilter as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.config import ProtocolOverrides
from kvlint.discover.project import load_project
from kvlint.protocol.detect import find_protocols
from tests.discover.trees import ENUM, write
from tests.locations import ROOT

OTHER_NAMES = """
import asyncio
from enum import Enum

class Phase(Enum):
    QUEUED = 1
    COPYING = 2
    ARRIVED = 3
    LOST = 4

class Depot:
    def __init__(self):
        self.phases = {}
        asyncio.ensure_future(self.pump())

    def mark(self, job, phase):
        self.phases[job] = phase

    async def pump(self):
        while True:
            job = await self.inbox.get()
            self.mark(job, Phase.COPYING)
            self.mark(job, Phase.ARRIVED)

    def drop(self, job):
        self.mark(job, Phase.LOST)
"""

STRINGS = """
import threading

class Mill:
    def __init__(self):
        self.states = {}
        threading.Thread(target=self.grind).start()

    def grind(self):
        self.states[1] = "open"
        self.states[1] = "failed"
        self.states[1] = "done"
"""

SPLIT_BASE = """
import threading
from .states import Poll

class Common:
    def __init__(self):
        self.rooms = {}

    def note(self, room, status):
        self.rooms[room] = status

    def lose(self, room):
        self.note(room, Poll.Failed)
"""

SPLIT_HEIR = """
import threading
from .common import Common
from .states import Poll

class Special(Common):
    def __init__(self):
        super().__init__()
        threading.Thread(target=self.run_forever).start()

    def run_forever(self):
        while True:
            room = self.inbox.get()
            self.note(room, Poll.Moving)
            self.note(room, Poll.Done)
"""

UNRELATED = """
import threading

class Log:
    def __init__(self):
        self.lines = {}
        threading.Thread(target=self.flush).start()

    def flush(self):
        print("failed to flush, but done")
"""

TREES = {
    "other names": {"depot.py": OTHER_NAMES},
    "strings": {"mill.py": STRINGS},
    "a base and an heir": {
        "pkg/__init__.py": "",
        "pkg/states.py": ENUM,
        "pkg/common.py": SPLIT_BASE,
        "pkg/special.py": SPLIT_HEIR,
    },
    "two kinds of states": {"a/depot.py": OTHER_NAMES, "b/mill.py": STRINGS},
}


def _found(path: Path, *, prefilter: bool) -> list[tuple[str, ...]]:
    project = load_project([str(path)], prefilter=prefilter)
    return [
        (
            protocol.manager.module.display,
            protocol.title,
            protocol.status_table,
            protocol.domain.name,
            " ".join(sorted(holder.name for holder in protocol.holders)),
            " ".join(sorted(root.name for root in protocol.roots)),
        )
        for protocol in find_protocols(project, ProtocolOverrides())
    ]


@pytest.mark.parametrize("name", TREES)
def test_small_trees(name: str, tmp_path: Path) -> None:
    write(tmp_path, {**TREES[name], "log.py": UNRELATED})
    found = _found(tmp_path, prefilter=False)
    assert found, "a tree without a protocol shows nothing"
    assert _found(tmp_path, prefilter=True) == found


def test_large_tree(tmp_path: Path) -> None:
    """In a large run only files that can take part are parsed."""
    unrelated = {f"logs/log{number}.py": UNRELATED for number in range(120)}
    write(tmp_path, {**TREES["a base and an heir"], **unrelated})
    found = _found(tmp_path, prefilter=False)
    assert [title for _, title, *_ in found] == ["Common", "Special"]
    assert _found(tmp_path, prefilter=True) == found


def test_fixtures() -> None:
    found = _found(ROOT / "fixtures", prefilter=False)
    assert len(found) > 20
    assert _found(ROOT / "fixtures", prefilter=True) == found
