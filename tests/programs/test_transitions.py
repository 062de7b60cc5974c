"""Transition tables against the real method: equal where nothing is unknown, else containing it."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from kvlint.protocol.model import Protocol
from kvlint.tables import Transitions, transitions_of

from .backends import protocol, protocols
from .random_source import MEMBERS, Env, RiskError, Writer, indented

FEW = settings(max_examples=120, deadline=None, derandomize=True, database=None)

HEAD = """
import threading
from enum import IntEnum


class Poll(IntEnum):
    Failed = 0
    Waiting = 1
    Moving = 2
    Success = 3


ENDED = frozenset({Poll.Failed, Poll.Success})


class Base:
    def __init__(self):
        self.status = {}
        self.lock = threading.RLock()

    def fail(self, room):
        self.update_status(room, Poll.Failed)

    def update_status(self, room, status):
"""
OVERRIDE = """

class Child(Base):
    def update_status(self, room, status):
"""
CONDITIONS = """
status == {A}
status is {A}
status in ENDED
status not in ({A}, {B})
current is None
current is not None
current == {A}
current in ({A}, {B})
current in ENDED
room in self.status
room not in self.status
self.status.get(room) == {A}
current is not None and current > status
current is not None and status <= current
self.status.get(room, {A}) < status
({C} and {C})
({C} or {C})
not ({C})
""".strip().splitlines()
STATEMENTS = """
self.status[room] = status
self.status[room] = status
self.status[room] = max(current, status) if current is not None else status
self.status[room] = max(self.status.get(room, status), status)
self.status[room] = status if {C} else {A}
self.status[room] = {A}
self.status.setdefault(room, status)
self.status.pop(room, None)
self.status[room] = self.status.pop(room, status)
current = self.status.get(room)
current = self.status.get(room, {A})
current = {A}
status = {A}
current, status = self.status.get(room), status
""".strip().splitlines()


class UpdateWriter(Writer):
    """Writes the body of an update method."""

    def __init__(self, random: Random, unknown: bool) -> None:
        super().__init__(random)
        self.conditions = [*CONDITIONS, *(["env.flag()"] * 4 if unknown else [])]

    def fill(self, templates: list[str], depth: int = 0) -> str:
        text = self.random.choice(templates)
        while "{C}" in text:
            simple = [c for c in self.conditions if "{C}" not in c]
            inner = self.fill(self.conditions if depth < 1 else simple, depth + 1)
            text = text.replace("{C}", inner, 1)
        for hole in ("{A}", "{B}"):
            text = text.replace(hole, self.random.choice(MEMBERS))
        return text

    def body(self, depth: int = 0) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if depth < 3 and kind < 0.45:
                lines += [f"if {self.fill(self.conditions)}:", *indented(self.body(depth + 1))]
                if self.random.random() < 0.4:
                    lines += ["else:", *indented(self.body(depth + 1))]
            elif depth < 3 and kind < 0.55:
                lines += ["with self.lock:", *indented(self.body(depth + 1))]
            elif depth < 3 and kind < 0.62:
                lines += ["try:", *indented(["current = self.status[room]"])]
                lines += ["except KeyError:", *indented(self.body(depth + 1))]
            elif depth and kind < 0.72:
                lines += [self.random.choice(("return", "return", "raise ValueError"))]
            else:
                lines += [self.fill(STATEMENTS)]
        return lines


def source(random: Random, unknown: bool) -> str:
    """A class with an update method, half of the time overridden in a subclass that delegates."""
    first = "current = self.status.get(room)"
    base = [first, *UpdateWriter(random, unknown).body(), "self.status[room] = status"]
    text = HEAD + "\n".join(indented(indented(base)))
    if random.random() < 0.5:
        write = UpdateWriter(random, unknown)
        delegate = random.choice(
            (
                "super().update_status(room, status)",
                "Base.update_status(self, room, status)",
                "super().update_status(room=room, status=status)",
            )
        )
        lines = [first, *write.body(1), delegate, *(write.body(2) if random.random() < 0.3 else [])]
        text += OVERRIDE + "\n".join(indented(indented(lines)))
    return text.replace("env.flag()", "ENV.flag()") + "\n"


def table_of(text: str) -> Transitions:
    """What kvlint says about the last class that has the method."""
    found = protocol_of_last(text)
    table = transitions_of(found, found.manager, "update_status")
    assert table is not None
    return table


def protocol_of_last(text: str) -> Protocol:
    """The protocol of the class that stands last."""
    return protocols(text)[-1]


def really(text: str, current: str | None, written: str, bits: list[bool]) -> str | None:
    """The status that the real method leaves."""
    space: dict[str, Any] = {"ENV": Env(bits)}
    exec(compile(text, "<generated>", "exec"), space)
    room = space.get("Child", space["Base"])()
    room.status = {} if current is None else {0: space["Poll"][current]}
    with suppress(KeyError, ValueError, RiskError):
        room.update_status(0, space["Poll"][written])
    left = room.status.get(0)
    return None if left is None else str(left.name)


def cells(table: Transitions) -> dict[tuple[str | None, str], set[str | None]]:
    """The table with names."""
    return {
        (current.name if current else None, written.name): {a.name if a else None for a in after}
        for (current, written), after in table.items()
    }


@given(st.integers(0, 2**64))
@FEW
def test_equal_where_nothing_is_unknown(seed: int) -> None:
    text = source(Random(seed), unknown=False)
    note(text)
    for (current, written), after in cells(table_of(text)).items():
        assert after == {really(text, current, written, [])}, (current, written)


@given(st.integers(0, 2**64))
@settings(FEW, max_examples=60)
def test_containing_where_something_is(seed: int) -> None:
    text = source(Random(seed), unknown=True)
    note(text)
    for (current, written), after in cells(table_of(text)).items():
        for bits in product((False, True), repeat=3):
            assert really(text, current, written, list(bits)) in after, (current, written, bits)


LAST = "        self.status[room] = max(self.status.get(room, status), status)"
STICKY = {
    "early return": "        if self.status.get(room) in ENDED:\n            return\n" + LAST,
    "nested": "        current = self.status.get(room)\n        if current is not None:\n"
    "            if current == Poll.Failed or current == Poll.Success:\n                return\n"
    + LAST,
    "walrus": "        if (now := self.status.get(room)) is not None and now in ENDED:\n"
    "            return\n" + LAST,
    "compare and set": "        with self.lock:\n"
    "            if room in self.status and self.status[room] in ENDED:\n"
    "                return\n            self.status[room] = status",
    "match": "        match self.status.get(room):\n            case Poll.Failed | Poll.Success:\n"
    "                return\n        self.status[room] = status",
    "try": "        try:\n            if self.status[room] in ENDED:\n                return\n"
    "        except KeyError:\n            pass\n        self.status[room] = status",
    "conditional": "        now = self.status.get(room)\n"
    "        self.status[room] = now if now in ENDED else status",
    "boolean": "        ended = self.status.get(room) in ENDED\n        if not ended:\n"
    "            self.status[room] = status",
}


@pytest.mark.parametrize("form", STICKY)
def test_sticky_in_every_form(form: str) -> None:
    table = cells(table_of(HEAD + STICKY[form] + "\n"))
    for terminal in ("Failed", "Success"):
        for written in ("Failed", "Waiting", "Moving", "Success"):
            assert table[terminal, written] == {terminal}, (terminal, written)
    assert table[None, "Waiting"] == {"Waiting"}
    assert table["Waiting", "Success"] == {"Success"}


def test_super_in_an_override() -> None:
    text = (
        HEAD
        + LAST
        + OVERRIDE
        + "        if self.status.get(room) == Poll.Failed:\n            return\n"
        + "        super().update_status(room, status)\n"
    )
    found = protocol_of_last(text)
    assert found.manager.name == "Child"
    table = cells(table_of(text))
    assert table["Failed", "Moving"] == {"Failed"}
    assert table["Moving", "Waiting"] == {"Moving"}


def test_an_empty_override_hides_the_base() -> None:
    table = cells(table_of(HEAD + LAST + OVERRIDE + "        pass\n"))
    assert all(after == {current} for (current, _), after in table.items())


def test_the_class_alone_keeps_its_own_table() -> None:
    found = protocol(HEAD + LAST + "\n")
    assert found.updaters == ("update_status",)
