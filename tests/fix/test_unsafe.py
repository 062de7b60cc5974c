"""Fixes C and D: what they do, and where they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..locations import ROOT
from .backends import STICKY, Fixed, backend, fixed

D = ("--select", "D", "--unsafe-fixes")
C = ("--select", "C", "--unsafe-fixes")
LOCKED = """\
def update_status(self, room, status):
    with self.lock:
        if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):
            return
        self.request_status[room] = status
"""
OVERRIDE = """

class Backend(Manager):
    def update_status(self, room, status):
        # Only an opening status makes a room.
        if room not in self.request_status and status == KVPoll.Success:
            return
        super().update_status(room, status)
"""


def test_an_eager_removal_goes(tmp_path: Path) -> None:
    result = fixed(backend(), tmp_path, *C)
    assert result.call.code == 0, result.call.err
    assert result.added == ["-                self.transfer_infos.pop(room, None)"]


def test_an_entry_that_nothing_else_removes_is_left(tmp_path: Path) -> None:
    source = backend().replace("        self.mgr.transfer_infos.pop(self.room, None)\n", "")
    result = fixed(source, tmp_path, *C)
    assert result.added == []
    assert result.call.code == 1
    assert (
        "nothing else removes a room from `transfer_infos`: the entry would stay" in result.call.err
    )


def test_a_handler_that_only_removes_fails_the_room_instead(tmp_path: Path) -> None:
    fixture = ROOT / "fixtures" / "kv101_bad_node_watch_forgets_route.py"
    result = fixed(fixture.read_text(encoding="utf-8"), tmp_path, *C)
    assert result.call.code == 0, result.call.err
    assert result.added == [
        "-                del self.routes[room]  # expect: KV101 confirmed",
        "+                self._advance(room, Leg.LOST)  # expect: KV101 confirmed",
    ]


def test_a_new_lock_is_made_where_the_table_is(tmp_path: Path) -> None:
    result = fixed(backend(STICKY), tmp_path, *D)
    assert result.call.code == 0, result.call.err
    assert result.added == [
        "+        self.request_status_lock = threading.Lock()",
        "+        with self.request_status_lock:",
        "-        if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):",
        "+            if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):",
        "-            return",
        "+                return",
        "-        self.request_status[room] = status",
        "+            self.request_status[room] = status",
    ]


def test_an_override_needs_a_lock_that_can_be_taken_twice(tmp_path: Path) -> None:
    result = fixed(backend(STICKY) + OVERRIDE, tmp_path, *D)
    assert result.call.code == 0, result.call.err
    assert "        self.request_status_lock = threading.RLock()\n" in result.after
    assert result.after.count("with self.request_status_lock:") == 2
    assert result.after.endswith(
        """\
        with self.request_status_lock:
            # Only an opening status makes a room.
            if room not in self.request_status and status == KVPoll.Success:
                return
            super().update_status(room, status)
"""
    )


def test_the_lock_that_is_in_use_is_taken(tmp_path: Path) -> None:
    other = """
    def fail(self, room):
        with self.lock:
            self.request_status[room] = KVPoll.Failed
    """
    result = fixed(backend(STICKY, rest=other), tmp_path, *D)
    assert result.call.code == 0, result.call.err
    assert "+        with self.lock:" in result.added
    assert "request_status_lock" not in result.after


def test_the_import_goes_where_isort_has_it(tmp_path: Path) -> None:
    source = backend(STICKY).replace(
        "import queue\nimport threading\n", "import queue\nfrom threading import Thread\n"
    )
    source = source.replace("        self.lock = threading.RLock()\n", "").replace(
        "threading.Thread", "Thread"
    )
    result = fixed(source, tmp_path, *D)
    assert result.call.code == 0, result.call.err
    assert result.after.startswith("import queue\nimport threading\nfrom threading import Thread\n")
    assert "self.request_status_lock = threading.Lock()" in result.after


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("self.note(room)", "would call `self.note` while the lock is held"),
        ("with self.other:\n        pass", "takes `other` inside"),
        ("with open('log') as self.log:\n        pass", "takes another context inside"),
    ],
)
def test_nothing_that_may_wait_runs_under_the_lock(
    inside: str, reason: str, tmp_path: Path
) -> None:
    update = STICKY.replace(
        "    self.request_status[room]", f"    {inside}\n    self.request_status[room]"
    )
    rest = "\ndef note(self, room):\n    self.noted = room\n\n"
    result = fixed(backend(update, rest=rest), tmp_path, *D)
    assert refused(result, reason)


def test_a_lock_that_a_caller_holds_is_not_taken_twice(tmp_path: Path) -> None:
    rest = """
def fail(self, room):
    with self.lock:
        if self.request_status.get(room) == KVPoll.Transferring:
            self.update_status(room, KVPoll.Failed)
"""
    source = backend(STICKY, rest=rest).replace("threading.RLock()", "threading.Lock()")
    assert refused(fixed(source, tmp_path, *D), "`Manager.fail` holds `lock` already")


def test_two_locks_are_not_taken_crosswise(tmp_path: Path) -> None:
    rest = """
def fail(self, room):
    with self.outer:
        self.update_status(room, KVPoll.Failed)

def look(self, room):
    with self.lock:
        known = self.request_status.get(room)
        with self.outer:
            return known
"""
    source = backend(STICKY, rest=rest).replace(
        "        self.lock = threading.RLock()\n",
        "        self.lock = threading.RLock()\n        self.outer = threading.Lock()\n",
    )
    assert refused(fixed(source, tmp_path, *D), "`outer` and `lock` would be taken crosswise")


def refused(result: Fixed, reason: str) -> bool:
    """Whether nothing was changed, for this reason."""
    assert (result.call.code, result.call.out, result.after) == (1, "", result.before)
    assert reason in result.call.err, result.call.err
    return True


def test_a_locked_update_is_left_alone(tmp_path: Path) -> None:
    result = fixed(backend(LOCKED), tmp_path, *D)
    assert (result.call.code, result.after) == (0, result.before)


def test_they_are_not_made_without_being_asked_for(tmp_path: Path) -> None:
    result = fixed(backend(), tmp_path, "--select", "C,D")
    assert (result.call.code, result.after) == (0, result.before)
    assert result.call.err == (
        "kvlint: 2 findings left to the unsafe fixes C and D (--unsafe-fixes)\n"
        "kvlint: nothing to fix\n"
    )


def test_only_what_was_selected_is_offered(tmp_path: Path) -> None:
    assert fixed(backend(), tmp_path, "--select", "B,D", "--no-verify").call.err == (
        "kvlint: 1 finding left to the unsafe fix D (--unsafe-fixes)\n"
        "kvlint: fixed 1 finding with 1 change in 1 file\n"
    )
    # The finding of C stays, and is neither unsafe to ask for nor asked for.
    call = fixed(backend(), tmp_path, "--select", "A", "--unsafe-fixes", "--no-verify").call
    assert "left to" not in call.err


def test_the_window_that_fix_a_leaves_is_closed_in_the_same_run(tmp_path: Path) -> None:
    update = "def update_status(self, room, status):\n    self.request_status[room] = status\n"
    result = fixed(backend(update), tmp_path, "--select", "A,D", "--unsafe-fixes")
    assert result.call.code == 0, result.call.err
    assert result.added == [
        "+        self.request_status_lock = threading.Lock()",
        "+        with self.request_status_lock:",
        "+            if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):",
        "+                return",
        "-        self.request_status[room] = status",
        "+            self.request_status[room] = status",
    ]
    assert "left open" not in result.call.out
    again = fixed(result.after, tmp_path, "--select", "A,D", "--unsafe-fixes")
    assert (again.call.out, again.added) == ("", [])


def test_the_window_that_fix_a_leaves_is_named(tmp_path: Path) -> None:
    update = "def update_status(self, room, status):\n    self.request_status[room] = status\n"
    result = fixed(backend(update), tmp_path, "--select", "A")
    text = " ".join(result.call.out.split())
    assert f"- left open: KV201 (narrow, resurrected) {tmp_path / 'conn.py'}:27: the" in text
