"""Fix E: where it goes, which statuses may still create a room, and where it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..running import report
from .backends import STICKY, backend, changes, fix, fixed
from .test_sticky import FORMS, behaviour, computed

E = ("--select", "E", "--unsafe-fixes")
DOOR = [
    "+        if room not in self.request_status and status not in (",
    "+            KVPoll.Bootstrapping,",
    "+            KVPoll.WaitingForInput,",
    "+        ):",
    "+            return",
]
# Failed makes a room here today, and goes on doing so.
DOOR_WITH_FAILED = [*DOOR[:1], "+            KVPoll.Failed,", *DOOR[1:]]
OPENING = (1, 2)
# Forms of which no schedule shows that a room comes back.
UNSEEN = (
    "plain max",
    "get first, early returns, one missing",
    "under a lock, read inside",
    "read outside of the lock",
)
DELEGATES = """

class Backend(Manager):
    def update_status(self, room, status):
        super().update_status(room, status)
"""


@pytest.mark.parametrize("form", FORMS)
def test_only_an_absent_room_is_treated_otherwise(form: str, tmp_path: Path) -> None:
    update, _ = FORMS[form]
    result = fixed(backend(update), tmp_path, *E)
    assert result.call.code == 0, result.call.err
    if form in UNSEEN:
        assert result.added == []
        return
    old, new = behaviour(result.before), behaviour(result.after)
    for (current, written), after in old.items():
        stays = current is None and written not in OPENING and (current, written) != (None, 0)
        assert new[current, written] == (None if stays else after), (current, written)
    assert any(old[cell] != new[cell] for cell in old)
    assert computed(tmp_path / "conn.py") == new
    again = fix(str(tmp_path / "conn.py"), *E)
    assert (again.code, again.out) == (0, "")


def test_it_stands_before_the_stores_and_after_fix_a(tmp_path: Path) -> None:
    before, after = _texts(backend(STICKY), tmp_path)
    assert _without_door(after) == before
    result = fixed(backend(), tmp_path, "--select", "A,E", "--unsafe-fixes")
    added = changes(result.before, result.after)
    assert "in (KVPoll.Failed, KVPoll.Success):" in added[0]
    assert added[2:] == DOOR_WITH_FAILED


@pytest.mark.parametrize("form", FORMS)
def test_with_all_other_fixes_once_is_enough(form: str, tmp_path: Path) -> None:
    """Also where fix A gives the store a line of its own, or ends the search for one witness."""
    result = fixed(backend(FORMS[form][0]), tmp_path, "--unsafe-fixes")
    assert result.added
    again = fix(str(tmp_path / "conn.py"), "--unsafe-fixes")
    assert (again.out, (tmp_path / "conn.py").read_text()) == ("", result.after)


def _texts(source: str, folder: Path) -> tuple[str, str]:
    result = fixed(source, folder, *E)
    assert result.call.code == 0, result.call.err
    return result.before, result.after


def _without_door(text: str) -> str:
    door = "".join(f"{line[1:]}\n" for line in DOOR_WITH_FAILED)
    assert text.count(door) == 1
    return text.replace(door, "")


def test_the_lock_of_fix_d_goes_around_it(tmp_path: Path) -> None:
    result = fixed(backend(), tmp_path, "--select", "A,D,E", "--unsafe-fixes")
    assert result.call.code == 0, result.call.err
    body = result.after.split("def update_status")[1]
    assert body.index("with self.request_status_lock:") < body.index("room not in")
    assert [f for f in report("check", str(tmp_path))["findings"] if f["rule"] == "KV106"] == []


def test_an_override_that_delegates_stays(tmp_path: Path) -> None:
    before, after = _texts(backend() + DELEGATES, tmp_path)
    assert after.endswith(DELEGATES)
    assert changes(before, after) == DOOR_WITH_FAILED


def test_a_status_that_is_bound_again_is_left(tmp_path: Path) -> None:
    update = STICKY.replace(
        "    self.request_status[room]", "    status = status or 0\n    self.request_status[room]"
    )
    result = fixed(backend(update), tmp_path, *E)
    assert result.added == []
    assert "not a parameter that keeps its value" in result.call.err


def test_it_is_made_only_when_asked_for(tmp_path: Path) -> None:
    result = fixed(backend(STICKY), tmp_path, "--select", "E")
    assert result.added == []
    assert "left to the unsafe" in fix(str(tmp_path / "conn.py")).err


def test_taking_it_out_again_brings_the_witness_back(tmp_path: Path) -> None:
    """The proof is not empty: without the change the same search finds the zombie."""
    result = fixed(backend(STICKY), tmp_path, *E)

    def zombies() -> list[str]:
        found = report("check", str(tmp_path / "conn.py"))["findings"]
        return [f["verdict"] for f in found if f["rule"] == "KV106" and f["witness"]]

    assert zombies() == []
    (tmp_path / "conn.py").write_text(result.before)
    assert "confirmed" in zombies()
