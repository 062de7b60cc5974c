"""Random Python that works on one room, and the real interpreter running it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from enum import IntEnum
from random import Random
from typing import Any

from hypothesis import strategies as st

from .backends import End, manager

MEMBERS = ("Poll.Failed", "Poll.Waiting", "Poll.Moving", "Poll.Success")
MAX_DEPTH = 3
SIDES = ("infos", "marks")

Lines = list[str]

CONDITIONS = """
env.flag()
env.flag()
env.flag()
not env.flag()
room in self.infos
room not in self.infos
room in self.marks
room not in self.status
self.infos.get(room) is None
self.infos.get(room)
(x := self.status.get(room)) is not None
self.status.get(room) == {A}
self.status.get(room) is {A}
{A} != self.status.get(room)
self.status.get(room, {B}) != {A}
room in self.status and self.status[room] == {A}
self.status[room] == {A}
self.status.get(room) in ({A}, {B})
self.status.get(room) not in ENDED
x == {A}
x is not None and x < {A}
x is None
x
seen
y is None
y
self.over(room)
self.done(room) == {A}
self.helper(room, env) == {A}
{A} <= self.status.get(room, {B})
bool(seen)
bool(self.infos.get(room))
({C} and {C})
({C} or {C})
not ({C})
(True if {C} else {C})
""".strip().splitlines()

VALUES = """
{A}
{A}
{A} if {C} else {B}
self.status.get(room)
self.status.get(room, {A})
self.status[room]
self.status.pop(room, None)
x
max(self.status.get(room, {A}), {B})
min(self.status.get(room, {A}), {B})
x or {A}
(x and {A})
self.helper(room, env)
self.done(room)
self.status.setdefault(room, {A})
(x := {A})
self.pair(room)[0]
""".strip().splitlines()

STATEMENTS = """
self.put(room, {A})
self.put(room, {A})
self.put(room=room, status={A})
self.status[room] = {A}
self.write(room, {V})
x = {V}
x = {A}
x = None
self.status.pop(room, None)
del self.status[room]
self.infos[room] = {'peer': 1}
self.infos.setdefault(room, {'peer': 1})
self.infos.pop(room, None)
del self.infos[room]
y = self.infos.get(room)
y = self.infos.pop(room, None)
y = None
self.marks.add(room)
self.marks.discard(room)
self.marks.remove(room)
self.marks = {m for m in self.marks if m != room}
seen = room in self.infos
seen = {C}
seen = self.over(room)
x, seen = self.pair(room)
self.helper(room, env)
(lambda: self.marks.discard(room))()
assert {C}
""".strip().splitlines()

HELPERS = """
def over(self, room):
    return self.status.get(room) in (Poll.Failed, Poll.Success)

def done(self, room):
    if room not in self.status:
        return Poll.Failed
    return self.status[room]

def pair(self, room):
    return self.status.get(room), room in self.infos

def write(self, room, status):
    if status is None:
        return
    self.status[room] = status
""".strip().splitlines()


def indented(lines: Lines) -> Lines:
    """One level deeper."""
    return [f"    {line}" for line in lines]


class Writer:
    """Writes a random method body; `caught` says that an unknown call may raise there."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.nested = False

    def fill(self, templates: Lines, depth: int = 0) -> str:
        """One of the templates with its holes filled."""
        text = self.random.choice(templates)
        while "{C}" in text:
            simple = [c for c in CONDITIONS if "{C}" not in c]
            inner = self.fill(CONDITIONS if depth < 1 else simple, depth + 1)
            text = text.replace("{C}", inner, 1)
        while "{V}" in text:
            text = text.replace("{V}", self.fill(VALUES, depth), 1)
        for hole in ("{A}", "{B}"):
            text = text.replace(hole, self.random.choice(MEMBERS))
        return text

    def block(self, depth: int, loop: bool, caught: bool, least: int = 1) -> Lines:
        """A few statements."""
        lines: Lines = []
        for _ in range(self.random.randint(least, least + 1)):
            lines += self.statement(depth, loop, caught)
        return lines

    def statement(self, depth: int, loop: bool, caught: bool) -> Lines:
        """Any statement."""
        kind = self.random.choice(
            ("simple",) * 5
            + ("if", "if", "if", "loop", "loop", "try", "try", "with", "jump")
            + ("call", "match", "nested")
        )
        if kind == "jump" and (depth or loop):
            return [self.jump(loop)]
        if kind == "call" and caught:
            return ["env.risk()"]
        write = {
            "if": self.if_,
            "loop": self.loop,
            "try": self.try_,
            "with": self.with_,
            "match": self.match,
            "nested": self.nest,
        }.get(kind)
        if write is None or depth >= MAX_DEPTH:
            return [self.fill(STATEMENTS)]
        return write(depth, loop, caught)

    def jump(self, loop: bool) -> str:
        """A statement that leaves its block."""
        if loop and self.random.random() < 0.7:
            return self.random.choice(("continue", "break"))
        return self.fill(["return", "return {V}", "raise KeyError", "raise ValueError('x')"])

    def if_(self, depth: int, loop: bool, caught: bool) -> Lines:
        lines = [f"if {self.fill(CONDITIONS)}:", *indented(self.block(depth + 1, loop, caught))]
        if self.random.random() < 0.2:
            lines += [f"elif {self.fill(CONDITIONS)}:"]
            lines += indented(self.block(depth + 1, loop, caught))
        if self.random.random() < 0.5:
            lines += ["else:", *indented(self.block(depth + 1, loop, caught))]
        return lines

    def with_(self, depth: int, loop: bool, caught: bool) -> Lines:
        return ["with self.lock:", *indented(self.block(depth + 1, loop, caught))]

    def match(self, depth: int, loop: bool, caught: bool) -> Lines:
        lines = [f"match {self.fill(['self.status.get(room)', 'x', '{V}'])}:"]
        for pattern in self.random.sample([*MEMBERS, "None", "Poll.Failed | Poll.Success"], 2):
            lines += [f"    case {pattern}:"]
            lines += indented(indented(self.block(depth + 1, loop, caught)))
        if self.random.random() < 0.5:
            lines += ["    case _:"]
            lines += indented(indented(self.block(depth + 1, loop, caught)))
        return lines

    def nest(self, depth: int, loop: bool, caught: bool) -> Lines:
        """A nested function that reads and writes the room, called at once."""
        if self.nested:
            return [self.fill(STATEMENTS)]
        self.nested = True
        body = self.block(depth + 1, False, False)
        self.nested = False
        name = f"nested{self.random.randint(0, 99)}"
        call = self.random.choice(("", "x = "))
        end = self.fill(["return {A}", "return x"])
        inside = ["x, y, seen = self.status.get(room), None, False", *body, end]
        return [f"def {name}(room):", *indented(inside), f"{call}{name}(room)"]

    def loop(self, depth: int, loop: bool, caught: bool) -> Lines:
        head = self.random.choice(
            (
                ["for _ in env.items():"],
                ["for _ in env.items():"],
                ["for _ in [1, 2]:"],
                ["for _ in list(self.infos.get(room, {})):"],
                ["for _ in y or []:"],
                ["while env.flag():"],
                [f"while not env.spent() and {self.fill(CONDITIONS)}:"],
                ["while True:", "    if env.spent():", "        break"],
            )
        )
        lines = [*head, *indented(self.block(depth + 1, True, caught))]
        if self.random.random() < 0.25:
            lines += ["else:", *indented(self.block(depth + 1, loop, caught))]
        return lines

    def try_(self, depth: int, loop: bool, caught: bool) -> Lines:
        heads = self.random.choice(
            (
                ["except Exception:"],
                ["except:"],
                ["except KeyError:"],
                ["except LookupError as error:"],
                ["except ValueError:", "except KeyError:"],
                ["except (ValueError, KeyError):", "except Exception:"],
                [],
            )
        )
        catches = caught or any(h in ("except:", "except Exception:") for h in heads)
        lines = ["try:", *indented(self.block(depth + 1, loop, catches))]
        for head in heads:
            body = self.block(depth + 1, loop, caught)
            lines += [head, *indented(body + (["raise"] if self.random.random() < 0.2 else []))]
        if heads and self.random.random() < 0.3:
            lines += ["else:", *indented(self.block(depth + 1, loop, caught))]
        if not heads or self.random.random() < 0.4:
            lines += ["finally:", *indented(self.block(depth + 1, loop, caught))]
        return lines


def source(random: Random) -> str:
    """A whole backend: `work`, and a `helper` that it may call."""
    write = Writer(random)
    helper = [line.replace("self.helper(room, env)", "x") for line in write.block(2, False, False)]
    lines = [
        *HELPERS,
        "",
        "def helper(self, room, env):",
        *indented(["x, y, seen = self.status.get(room), None, False", *helper, "return x"]),
        "",
        "def work(self, room, env):",
        *indented(["x = y = None", "seen = False", *write.block(0, False, False, least=3)]),
    ]
    text = manager("\n".join(lines))
    return text.replace("class Manager:", "ENDED = (Poll.Failed, Poll.Success)\n\n\nclass Manager:")


def sources() -> st.SearchStrategy[str]:
    """Whole backends."""
    return st.integers(0, 2**64).map(lambda seed: source(Random(seed)))


# -- the real interpreter ----------------------------------------------------------------


class RiskError(Exception):
    """What an unknown call raises."""


class Env:
    """Answers the unknown questions of a run from a list of bits; false when it is used up."""

    def __init__(self, bits: list[bool]) -> None:
        self.bits = list(reversed(bits))

    def flag(self) -> bool:
        return bool(self.bits and self.bits.pop())

    def spent(self) -> bool:
        return not self.flag()

    def items(self) -> Iterator[int]:
        while self.flag():
            yield 1

    def risk(self) -> None:
        if self.flag():
            raise RiskError


class Real:
    """A generated backend, really executed."""

    def __init__(self, source: str) -> None:
        space: dict[str, Any] = {}
        exec(compile(source, "<generated>", "exec"), space)
        self.poll: type[IntEnum] = space["Poll"]
        self.cls = space["Manager"]

    def run(
        self, status: str | None, sides: tuple[str, ...], bits: list[bool]
    ) -> tuple[End, object]:
        """What one call of `work` does to room 0, and what it returns."""
        room = self.cls.__new__(self.cls)
        room.status = {} if status is None else {0: self.poll[status]}
        room.infos = {0: {"peer": "address"}} if "infos" in sides else {}
        room.marks = {0} if "marks" in sides else set()
        room.lock = threading.RLock()
        alive, value = True, None
        try:
            value = room.work(0, Env(bits))
        except (KeyError, ValueError, AssertionError, RiskError) as error:
            alive = False
            logging.debug("the thread died: %r", error)
        left = frozenset(name for name in SIDES if 0 in getattr(room, name))
        final = room.status.get(0)
        return End(alive, final.name if final is not None else None, left), value
