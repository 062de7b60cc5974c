"""Which locks can decide on an order of accesses."""

from __future__ import annotations

import textwrap

import pytest

from kvlint.programs.guards import contended_locks
from kvlint.programs.slicing import relevant_locks

from .backends import manager, method, protocol

ONE = "with self.lock:\n    self.status[room] = Poll.Moving"
TWO = "with self.lock:\n    if room in self.infos:\n        self.status[room] = Poll.Moving"


def kept(work: str, other: str = "") -> frozenset[str]:
    """The locks that count if a thread does the one thing and a caller the other."""
    bodies = [
        f"def {name}(self, room, env=None):\n"
        + "\n".join(f"    {line}" for line in text.split("\n"))
        for name, text in (("work", work), ("other", other or "pass"))
    ]
    found = protocol(manager("\n\n".join(bodies)))
    programs = [method(found, "work"), method(found, "other")]
    locks = relevant_locks(programs, found.tables)
    return contended_locks([[one] for one in programs], found.tables, locks)


@pytest.mark.parametrize(
    "work",
    [
        TWO,
        "with self.lock:\n    self.infos.pop(room, None)\n    self.engine.write(room)",
        "with self.lock:\n    self.engine.write(room)\n    self.infos.pop(room, None)",
        "with self.lock:\n    self.status[room] = Poll.Moving\n    self.jobs.put(room)",
        "self.lock.acquire()\nself.status[room] = Poll.Moving",
        "self.lock.acquire()\nif env:\n    return\nself.infos.pop(room, None)\nself.lock.release()",
        "with self.lock:\n    for one in env:\n        self.infos.pop(room, None)",
        "with self.lock:\n    chunk = self.jobs.get()\nself.infos.pop(room, None)",
        "with self.lock:\n    with self.lock:\n        pass\n    self.infos.pop(room, None)\n"
        "    self.marks.discard(room)",
        "with self.lock:\n    self.infos.pop(room, None)\n    while True:\n        pass",
    ],
    ids=[
        "two accesses",
        "wait after",
        "wait before",
        "put",
        "kept",
        "left with it",
        "loop",
        "take",
        "taken twice",
        "for ever",
    ],
)
def test_a_lock_that_counts(work: str) -> None:
    assert kept(work, ONE) == {"lock"}
    assert kept(ONE, work) == {"lock"}


@pytest.mark.parametrize(
    "work",
    [
        ONE,
        "with self.lock:\n    known = self.infos.get(room)\nif known:\n    self.engine.write(room)",
        "with self.lock:\n    if env:\n        return\n    self.infos.pop(room, None)",
        "self.lock.acquire()\ntry:\n    self.infos.pop(room)\nfinally:\n    self.lock.release()",
        "with self.lock:\n    if env:\n        self.infos.pop(room, None)\n    else:\n"
        "        self.marks.discard(room)",
    ],
    ids=["store", "look", "return", "finally", "either"],
)
def test_a_lock_around_one_access_at_a_time(work: str) -> None:
    assert kept(work, ONE) == frozenset()


def test_a_lock_that_nobody_else_takes() -> None:
    assert kept(TWO) == frozenset()
    assert kept(TWO, "self.status[room] = Poll.Failed") == frozenset()


def test_a_program_that_two_threads_may_run() -> None:
    found = protocol(manager(f"def work(self, room, env=None):\n{textwrap.indent(TWO, '    ')}"))
    program = method(found)
    locks = frozenset({"lock"})
    assert contended_locks([[program]], found.tables, locks) == frozenset()
    assert contended_locks([[program], [program]], found.tables, locks) == locks


def test_a_lock_around_another_that_counts() -> None:
    """Who waits for the inner one holds the outer one meanwhile."""
    nested = "with self.outer:\n    with self.lock:\n        if room in self.infos:\n"
    nested += "            self.status[room] = Poll.Moving"
    made = "def make(self):\n    self.outer = threading.Lock()\n\n"
    both = f"{made}def work(self, room, env=None):\n{textwrap.indent(nested, '    ')}"
    found = protocol(manager(both))
    program = method(found)
    locks = frozenset({"lock", "outer"})
    assert contended_locks([[program], [program]], found.tables, locks) == locks
