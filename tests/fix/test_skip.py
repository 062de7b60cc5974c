"""Fix B in every form of a skip, and what the worker really does afterwards."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ..locations import ROOT
from .backends import FORGET, UNSAFE, backend, fixed

COMMENT = "+                # Nothing else ends a live room whose chunk is dropped here."
CALL = "+                self.update_status(room, KVPoll.Failed)"
FAILS = """
def fail(self, room):
    self.update_status(room, KVPoll.Failed)
"""
RECORDS = """
def record_failure(self, room, reason):
    self.failures[room] = reason

"""
GUARDED = [
    COMMENT,
    "+                if self.request_status.get(room, KVPoll.Failed) not in (",
    "+                    KVPoll.Failed,",
    "+                    KVPoll.Success,",
    "+                ):",
    '+                    self.record_failure(room, "no entry in transfer_infos")',
    "+                    self.update_status(room, KVPoll.Failed)",
]
SAFE = """\
def update_status(self, room, status):
    current = self.request_status.get(room)
    if current is None and status not in (KVPoll.Bootstrapping, KVPoll.WaitingForInput):
        return
    if current in (KVPoll.Failed, KVPoll.Success):
        return
    self.request_status[room] = status
"""
FORMS = {
    "membership": ("if room not in self.transfer_infos:\n    continue\n", [COMMENT, CALL]),
    "on one line": (
        "if room not in self.transfer_infos: continue  # gone\n",
        [
            "-            if room not in self.transfer_infos: continue  # gone",
            "+            if room not in self.transfer_infos:",
            COMMENT,
            CALL,
            "+                continue  # gone",
        ],
    ),
    "get": (
        "info = self.transfer_infos.get(room)\nif info is None:\n    continue\n",
        [COMMENT, CALL],
    ),
    "two statements on the line": (
        "if room not in self.transfer_infos:\n    self.misses = 1; continue\n",
        [COMMENT, CALL],
    ),
    "under a comment": (
        "if room not in self.transfer_infos:\n    # Nobody wants it.\n    continue\n",
        [COMMENT, CALL],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_put_before_the_skip(form: str, tmp_path: Path) -> None:
    skip, wanted = FORMS[form]
    result = fixed(backend(SAFE, skip, FAILS, abort=FORGET), tmp_path)
    assert result.call.code == 0, result.call.err
    assert result.added == wanted


def test_a_swallowed_assertion_stays_and_its_opposite_ends_the_room(tmp_path: Path) -> None:
    fixture = ROOT / "fixtures" / "kv102_bad_assert_swallowed.py"
    result = fixed(fixture.read_text(encoding="utf-8"), tmp_path)
    assert result.added == [
        "+                if hop is None:",
        "+                    # Nothing else ends a live room whose chunk is dropped here.",
        "+                    self._move(room, DROPPED)",
    ]


def test_an_update_that_is_not_sticky_is_asked_first(tmp_path: Path) -> None:
    result = fixed(backend(UNSAFE, rest=FAILS + RECORDS, abort=FORGET), tmp_path)
    assert result.added[2:] == GUARDED


def test_alone_it_does_not_help_where_a_late_write_revives_the_room(tmp_path: Path) -> None:
    result = fixed(backend(UNSAFE, rest=FAILS, abort=FORGET), tmp_path, "--select", "B")
    assert (result.call.code, result.call.out, result.added) == (1, "", [])
    file = tmp_path / "conn.py"
    assert f"(fix B): KV102 at {file}:60 would still be there" in result.call.err


def test_a_sticky_update_is_asked_first_where_the_reason_is_recorded(tmp_path: Path) -> None:
    result = fixed(backend(SAFE, rest=FAILS + RECORDS, abort=FORGET), tmp_path, "--select", "B")
    assert result.added == GUARDED


def test_a_deferred_chunk_is_not_touched(tmp_path: Path) -> None:
    skip = "if room not in self.transfer_infos:\n    self.chunks.put(chunk)\n    continue\n"
    result = fixed(backend(SAFE, skip, FAILS, abort=FORGET), tmp_path)
    assert (result.call.code, result.call.out, result.added) == (0, "", [])


def test_a_backend_that_never_fails_a_room_by_a_call_is_left(tmp_path: Path) -> None:
    source = backend(SAFE, abort=FORGET).replace(
        "self.mgr.update_status(self.room, KVPoll.Failed)",
        "self.mgr.request_status[self.room] = KVPoll.Failed",
    )
    result = fixed(source, tmp_path, "--select", "B")
    assert (result.call.code, result.call.out, result.added) == (1, "", [])
    assert "no call that fails a room is there to take as a model" in result.call.err


@pytest.mark.parametrize("update", [UNSAFE, SAFE])
def test_what_the_worker_really_does(update: str, tmp_path: Path) -> None:
    result = fixed(backend(update, rest=FAILS + RECORDS, abort=FORGET), tmp_path)
    assert result.added
    for status in (None, *range(5)):
        before, _ = after_a_skip(result.before, status)
        now, failures = after_a_skip(result.after, status)
        live = status in (1, 2, 3)
        assert before == status
        assert now == (0 if live else status)
        assert failures == ({7: "no entry in transfer_infos"} if live else {})


def after_a_skip(source: str, status: int | None) -> tuple[int | None, dict[int, str]]:
    """Run the worker for one chunk of a room without an entry: its status and the reasons noted."""
    space: dict[str, Any] = {}
    exec(compile(source, "backend", "exec"), space)
    cls = space["Manager"]
    chunks = iter([SimpleNamespace(room=7, is_last=True)])
    manager = cls.__new__(cls)
    manager.request_status = {} if status is None else {7: status}
    manager.transfer_infos, manager.failures = {}, {}
    manager.chunks = SimpleNamespace(get=lambda: next(chunks))
    with pytest.raises(StopIteration):
        manager.transfer_worker()
    return manager.request_status.get(7), manager.failures
