"""A finding says `pinned` only if its own defect pins the room."""

from __future__ import annotations

from pathlib import Path

from ..fix.backends import backend
from ..running import report

POLL = "        return self.mgr.check_status(self.room)\n"
DEADLINE = """\
        status = self.mgr.check_status(self.room)
        if status != KVPoll.Success and time.monotonic() > self.deadline:
            self.mgr.update_status(self.room, KVPoll.Failed)
        return status
"""


def ends(source: str, stepper: Path) -> dict[str, set[str | None]]:
    """The bad ends of the confirmed findings, by rule."""
    file = stepper / "conn.py"
    file.write_text(source, encoding="utf-8")
    found: dict[str, set[str | None]] = {}
    for finding in report("check", str(file))["findings"]:
        if finding["verdict"] == "confirmed":
            found.setdefault(finding["rule"], set()).add(finding["bad_end"])
    return found


def test_a_dropped_abort_pins_where_polling_never_gives_up(tmp_path: Path) -> None:
    found = ends(backend(), tmp_path)
    assert (found["KV105"], found["KV301"]) == ({"pinned"}, {"pinned"})


def test_a_deadline_ends_the_room_of_a_dropped_abort(tmp_path: Path) -> None:
    source = backend()
    assert POLL in source
    found = ends(source.replace(POLL, DEADLINE), tmp_path)
    assert found["KV102"] == {"pinned"}  # another schedule, which says nothing about this one
    assert found["KV105"] == {None}
    assert "KV301" not in found
