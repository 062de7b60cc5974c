"""Fix A in every form in which releases write the method: where it goes and what it changes."""

from __future__ import annotations

import ast
import threading
from pathlib import Path
from typing import Any

import pytest

from kvlint.fix.sticky import fresh_local

from ..running import report
from .backends import ENUM, SKIP, STICKY, UNSAFE, backend, changes, fix, fixed

GUARD = [
    "+        if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):",
    "+            return",
]
FORMS = {
    "max with a special case for Failed": (UNSAFE, GUARD),
    "absent rooms first": (
        """\
        def update_status(self, bootstrap_room: int, status: KVPoll):
            if bootstrap_room not in self.request_status:
                # A late Failed must not bring a cleared room back.
                if status == KVPoll.Failed:
                    return
                self.request_status[bootstrap_room] = status
            else:
                if status == KVPoll.Failed:
                    self.request_status[bootstrap_room] = KVPoll.Failed
                else:
                    self.request_status[bootstrap_room] = max(
                        self.request_status[bootstrap_room], status
                    )
        """,
        [
            GUARD[0].replace("room", "bootstrap_room"),
            "+            return",
        ],
    ),
    "plain max": (
        """\
        def update_status(self, room, status):
            if room not in self.request_status:
                self.request_status[room] = status
            else:
                self.request_status[room] = max(self.request_status[room], status)
        """,
        GUARD,
    ),
    "a plain store": (
        """\
        def update_status(self, room, status):
            self.request_status[room] = status
        """,
        GUARD,
    ),
    "on the line of the def": (
        "def update_status(self, room, status): self.request_status[room] = status\n",
        [
            "-    def update_status(self, room, status): self.request_status[room] = status",
            "+    def update_status(self, room, status):",
            *GUARD,
            "+        self.request_status[room] = status",
        ],
    ),
    "get first, early returns, one missing": (
        """\
        def update_status(self, room, status):
            current = self.request_status.get(room)
            if current is None:
                if status in (KVPoll.Bootstrapping, KVPoll.WaitingForInput):
                    self.request_status[room] = status
                return

            # Failed always gets through.
            if status == KVPoll.Failed:
                self.request_status[room] = KVPoll.Failed
                return
            self.request_status[room] = max(current, status)
        """,
        ["+        if current in (KVPoll.Failed, KVPoll.Success):", "+            return"],
    ),
    "under a lock, read inside": (
        '''\
        def update_status(self, room, status):
            """Move on."""
            with self.lock:
                now = self.request_status.get(room, None)
                self.last = status
                # The larger one wins.
                self.request_status[room] = status if now is None else max(now, status)
        ''',
        ["+            if now in (KVPoll.Failed, KVPoll.Success):", "+                return"],
    ),
    "read outside of the lock": (
        """\
        def update_status(self, room, status):
            now = self.request_status.get(room)
            with self.lock:
                self.request_status[room] = status if now is None else max(now, status)
        """,
        [
            "+            if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):",
            "+                return",
        ],
    ),
    "only Success guarded": (
        """\
        def update_status(self, room, status):
            if self.request_status.get(room) == KVPoll.Success:
                return
            self.request_status[room] = status
        """,
        GUARD[::-1],  # the first `return` is the one that was there
    ),
    "it returns something": (
        """\
        def update_status(self, room, status):
            if room in self.request_status and status != KVPoll.Failed:
                self.request_status[room] = max(self.request_status[room], status)
                return False
            self.request_status[room] = status
            return True
        """,
        [
            "+            if self.request_status.get(room) not in (KVPoll.Failed, KVPoll.Success):",
            "-            self.request_status[room] = max(self.request_status[room], status)",
            "+                self.request_status[room] = max(self.request_status[room], status)",
            "+        if self.request_status.get(room) not in (KVPoll.Failed, KVPoll.Success):",
            "-        self.request_status[room] = status",
            "+            self.request_status[room] = status",
        ],
    ),
    "the store in a helper": (
        """\
        def update_status(self, room, status):
            self._store(room, status)

        def _store(self, room, status):
            self.request_status[room] = status
        """,
        GUARD,
    ),
    "a side effect before the store": (
        """\
        def update_status(self, room, status):
            if status in (KVPoll.Failed, KVPoll.Success):
                self.transfer_infos.pop(room, None)
            self.request_status[room] = status
        """,
        GUARD,
    ),
}
OVERRIDE = """

class Backend(Manager):
    def update_status(self, room, status):
        # Failed stays until the room is cleared.
        if self.request_status.get(room) == KVPoll.Failed:
            return
        super().update_status(room, status)
"""


@pytest.mark.parametrize("form", FORMS)
def test_where_it_goes_and_what_it_changes(form: str, tmp_path: Path) -> None:
    """A room that is absent, or live, is treated as before; one that is over stays so."""
    update, wanted = FORMS[form]
    result = fixed(backend(update), tmp_path, "--select", "A")
    assert result.call.code == 0, result.call.err
    assert changes(result.before, result.after) == wanted
    old, new = behaviour(result.before), behaviour(result.after)
    for (current, written), after in old.items():
        expected = current if current in (0, 4) else after
        assert new[current, written] == expected, (current, written)
    assert any(old[cell] != new[cell] for cell in old)
    assert computed(tmp_path / "conn.py") == new


def computed(file: Path) -> dict[tuple[int | None, int], int | None]:
    """The transition table that kvlint works out for the method."""
    (table,) = report("table", str(file))["tables"]
    number = {**table["enum"], "absent": None}
    found = {}
    for current, row in table["transitions"].items():
        for written, results in row.items():
            (result,) = results
            found[number[current], number[written]] = number[result]
    return found


def behaviour(source: str) -> dict[tuple[int | None, int], int | None]:
    """The status after the method really ran, for every current status and every written one."""
    space: dict[str, Any] = {}
    exec(compile(source, "backend", "exec"), space)
    found: dict[tuple[int | None, int], int | None] = {}
    for current in (None, *range(5)):
        for written in range(5):
            manager = object.__new__(space["Manager"])  # no thread is started
            manager.request_status = {} if current is None else {7: current}
            manager.transfer_infos, manager.lock = {}, threading.RLock()
            manager.update_status(7, written)
            found[current, written] = manager.request_status.get(7)
    return found


def test_an_override_that_delegates_stays_and_its_base_is_fixed(tmp_path: Path) -> None:
    result = fixed(backend() + OVERRIDE, tmp_path, "--select", "A")
    assert changes(result.before, result.after) == GUARD
    assert result.after.endswith(OVERRIDE)


def test_an_override_that_stores_itself_is_fixed_in_its_own_body(tmp_path: Path) -> None:
    override = OVERRIDE.replace("super().update_status(room, status)", "pass").replace(
        "        # Failed stays until the room is cleared.\n"
        "        if self.request_status.get(room) == KVPoll.Failed:\n            return\n",
        "        self.request_status[room] = status\n",
    )
    result = fixed(backend(STICKY) + override, tmp_path, "--select", "A")
    assert changes(result.before, result.after) == GUARD
    base, heir = result.after.split("class Backend")
    assert base == result.before.split("class Backend")[0]
    assert GUARD[0][1:] in heir


def test_an_enum_class(tmp_path: Path) -> None:
    enum = ENUM.replace("class KVPoll", "class KVPoll(enum.IntEnum)")
    source = backend(enum=enum).replace("import queue", "import enum\nimport queue")
    result = fixed(source, tmp_path, "--select", "A")
    assert changes(result.before, result.after) == GUARD


def test_statuses_that_are_strings(tmp_path: Path) -> None:
    update = "def update_status(self, room, status):\n    self.request_status[room] = status\n"
    text = backend(update, enum="")
    for name in ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success"):
        text = text.replace(f"KVPoll.{name}", f'"{name}"')
    result = fixed(text, tmp_path, "--select", "A")
    assert result.added[0] == '+        if self.request_status.get(room) in ("Failed", "Success"):'


def test_a_long_condition_is_broken_as_black_breaks_it(tmp_path: Path) -> None:
    update = """\
    def update_status(self, the_bootstrap_room_of_the_request, status):
        self.request_status[the_bootstrap_room_of_the_request] = status
    """
    result = fixed(backend(update), tmp_path, "--select", "A")
    assert result.added == [
        "+        if self.request_status.get(the_bootstrap_room_of_the_request) in (",
        "+            KVPoll.Failed,",
        "+            KVPoll.Success,",
        "+        ):",
        "+            return",
    ]


def test_sticky_code_is_left_alone(tmp_path: Path) -> None:
    concluded = SKIP.replace("continue", "self.update_status(room, KVPoll.Failed)\n    continue")
    result = fixed(backend(STICKY, concluded), tmp_path)
    assert (result.call.code, result.call.out) == (0, "")
    assert result.after == result.before


def test_the_base_class_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(backend())
    heir = "from base import KVPoll, Manager\n" + OVERRIDE
    (tmp_path / "heir.py").write_text(heir)
    call = fix(str(tmp_path), "--select", "A")
    assert call.code == 0
    assert (tmp_path / "heir.py").read_text() == heir
    assert changes(backend(), (tmp_path / "base.py").read_text()) == GUARD


def test_a_fresh_local_is_found_where_all_the_usual_names_are_taken() -> None:
    names = ["before", *(f"current_{number}" for number in range(2, 9))]
    for taken, fresh in (([], "current"), (names, "current"), (["current", *names], "current_9")):
        text = f"def f(room, {', '.join(taken[:1])}):\n    {' = '.join([*taken, 'other'])} = 0"
        assert fresh_local(ast.parse(text)) == fresh
