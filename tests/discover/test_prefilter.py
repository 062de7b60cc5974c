"""The prefilter may pass by what is unrelated; it may never hide a backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.discover import prefilter
from kvlint.discover.project import load_project
from kvlint.protocol.domain import FAILURE_WORDS, SUCCESS_WORDS
from tests.discover.trees import backend, linted, write

TEMPLATE = """
{imports}

class Desk:
    def start(self):
        {start}

    def work(self, room):
        self.rooms[room] = {failed}

    def end(self, room):
        self.settle(room, {done})
"""

STARTS = [
    ("import threading", "threading.Thread(target=self.work).start()"),
    ("from threading import Timer", "Timer(1, self.work).start()"),
    ("import asyncio", "asyncio.create_task(self.work())"),
    ("from asyncio import TaskGroup", "self.group.create_task(self.work())"),
    ("", "self.pool.submit(self.work)"),
    ("", "return self.poll()"),
    ("import concurrent.futures as cf", "cf.ThreadPoolExecutor().submit(self.work)"),
]
VALUES = [
    ("KVPoll.Failed", "KVPoll.Success"),
    ("Phase.ABORTED", "Phase.DONE"),
    ("State.lost", "State.complete"),
    ("self.DEAD", "self.ARRIVED"),
    ("Room.State.TIMED_OUT", "Room.State.SENT"),
    ('"failed"', '"ok"'),
    ("'failed'", "'ok'"),
    ('"error"', '"done"'),
    ("FAILED", "DONE"),
    ("ST_BROKEN", "ST_FINISHED"),
    ("KV_POLL_FAILED", "KV_POLL_SUCCESS"),
    ("BAD", "GOOD"),
    ("job.State.CANCELLED", "job.State.DELIVERED"),
]


@pytest.mark.parametrize(("imports", "start"), STARTS)
def test_ways_to_run_beside(imports: str, start: str) -> None:
    text = TEMPLATE.format(imports=imports, start=start, failed="Poll.Failed", done="Poll.Ok")
    assert prefilter.takes_part(text.encode())


@pytest.mark.parametrize(("failed", "done"), VALUES)
def test_ways_to_name_an_end(failed: str, done: str) -> None:
    text = TEMPLATE.format(imports="import threading", start="pass", failed=failed, done=done)
    assert prefilter.takes_part(text.encode())
    assert prefilter.takes_part(text.replace("\n", "\r\n").encode())


@pytest.mark.parametrize(
    "text",
    [
        "import threading\nx = 1\n",
        "class A:\n    x = Poll.Failed\n",
        "import threading\nclass A:\n    '''it failed, Failed and FAILED'''\n",
        "import threading\nclass A:\n    def fail(self): self.failed(); self.has_failed = 1\n",
        "import asyncio\nclass A:\n    r = {'error': 1, 'failed': 0}\n    s = d['failed']\n",
        "import asyncio\nclass A:\n    raise HTTPException(HTTPStatus.INTERNAL_SERVER_ERROR)\n",
        "import threading\nlogging.ERROR\nclass A:\n    x = NOT_PRESENT, TOKEN\n",
    ],
)
def test_what_is_passed_by(text: str) -> None:
    assert not prefilter.takes_part(text.encode())


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (FAILURE_WORDS.pattern, (*prefilter.FAILURE, *prefilter.WEAK_FAILURE)),
        (SUCCESS_WORDS.pattern, prefilter.SUCCESS),
    ],
)
def test_the_words_are_those_of_the_protocol(words: str, kept: tuple[bytes, ...]) -> None:
    for alternative in words.split("|"):
        for spelling in {alternative.replace("_?", ""), alternative.replace("_?", "_")}:
            word = spelling.strip("^$_").encode()
            assert any(word.startswith(known) for known in kept), word


def test_heirs_are_found_without_a_word_of_their_own(tmp_path: Path) -> None:
    backend(tmp_path)
    many = {f"other/m{i}.py": f"class C{i}(Unrelated):\n    pass\n" for i in range(150)}
    write(tmp_path, many)
    project = load_project(["."], cwd=str(tmp_path))
    assert linted(project) == ["pkg/base.py", "pkg/heir.py"]
    assert project.files == 154


def test_heirs_of_heirs(tmp_path: Path) -> None:
    backend(tmp_path)
    write(tmp_path, {"pkg/last.py": "from .heir import Heir\nclass Last(Heir):\n    pass\n"})
    project = load_project(["."], cwd=str(tmp_path))
    assert linted(project) == ["pkg/base.py", "pkg/heir.py", "pkg/last.py"]


def test_an_unrelated_class_of_the_same_name_is_no_heir(tmp_path: Path) -> None:
    backend(tmp_path)
    write(tmp_path, {"other/x.py": "from elsewhere import Base\nclass X(Base):\n    pass\n"})
    assert linted(load_project(["."], cwd=str(tmp_path))) == ["pkg/base.py", "pkg/heir.py"]


def test_off_means_every_file(tmp_path: Path) -> None:
    backend(tmp_path)
    project = load_project(["."], cwd=str(tmp_path), prefilter=False)
    assert len(project.linted()) == 4


def test_bases_as_written() -> None:
    text = b"import x\nclass A(B, mod.C[int], metaclass=M):\n    pass\nclass D:\n    pass\n"
    assert {b"B", b"C"} <= prefilter.base_names(text)
    assert prefilter.base_names(b"class A(Base): pass") == {b"Base"}


def test_unrelated_needs_no_word_and_no_base() -> None:
    assert prefilter.is_unrelated(b"class A(Exception):\n    pass\n")
    assert not prefilter.is_unrelated(b"class A(Manager):\n    pass\n")
    assert not prefilter.is_unrelated(b"def f(:\n")
