"""Random small backends: a worker, a control thread, sometimes a task, and a sender."""

from __future__ import annotations

import textwrap
from random import Random

from hypothesis import strategies as st

UPDATES = (
    "self.status[room] = new",
    "self.status[room] = new if new == Poll.Failed else max(self.status.get(room, new), new)",
    "if self.status.get(room) == Poll.Failed:\n    return\nself.status[room] = new",
    "if room not in self.status:\n    return\nself.status[room] = new",
    "with self.lock:\n    if self.status.get(room) not in (Poll.Failed, Poll.Success):\n"
    "        self.status[room] = new",
)
STEPS = """
self.update(room, Poll.Failed)
self.update(room, Poll.Moving)
self.update(room, Poll.Moving)
self.update(room, Poll.Success)
self.status[room] = Poll.Moving
self.infos.pop(room, None)
self.engine.write(room)
self.engine.write(room)
""".strip().splitlines()
GUARDS = """
room not in self.infos
room in self.infos
self.status.get(room) == Poll.Failed
room not in self.status
self.infos.get(room) is None
""".strip().splitlines()

SOURCE = """
import queue
import threading


class Poll:
    Failed = 0
    Waiting = 1
    Moving = 2
    Success = 3


class Manager:
    def __init__(self, engine, sock):
        self.engine = engine
        self.sock = sock
        self.status = {{}}
        self.infos = {{}}
        self.lock = threading.Lock()
        self.jobs = queue.Queue()
        threading.Thread(target=self.serve).start()
        threading.Thread(target=self.listen).start()

    def update(self, room, new):
{update}

    def serve(self):
        while True:
            room, last = self.jobs.get()
{serve}

    def listen(self):
        while True:
            frame = self.sock.recv_multipart()
            room = int(frame[1])
            if frame[0] == b"ABORT":
{listen}


class Sender:
    def __init__(self, kv_mgr, room):
        self.kv_mgr = kv_mgr
        self.room = room
        self.kv_mgr.infos[room] = object()
        self.kv_mgr.status[room] = Poll.Waiting

    def poll(self):
        return self.kv_mgr.status.get(self.room, Poll.Failed)

    def abort(self):
        self.kv_mgr.update(self.room, Poll.Failed)

    def clear(self):
        self.kv_mgr.status.pop(self.room, None)
        self.kv_mgr.infos.pop(self.room, None)
"""

OPENED = "        self.kv_mgr.status[room] = Poll.Waiting\n"
FLAG = """\
        self.mine = True
        if self.kv_mgr.shared is not None:
            self.mine = self.kv_mgr.shared.open(room) is not None
"""
ASKED = "        if not self.mine:\n            return Poll.Failed\n"
GUARDED = (
    ["with self.guard:", "    self.infos.pop(room, None)"],
    ["with self.guard:", "    known = self.infos.get(room)"],
    ["with self.guard:", "    self.infos.pop(room, None)", "    self.engine.write(room)"],
    ["with self.guard:", "    if room in self.infos:", "        self.update(room, Poll.Failed)"],
    ["with self.guard:", "    self.status[room] = Poll.Moving"],
    ["known = self.infos.get(room)"],
    ["rate = 0 if self.engine.slow else self.engine.rate()", "if rate != 0:", "    continue"],
)


def indent(lines: list[str], levels: int) -> str:
    """A block at this depth."""
    return textwrap.indent("\n".join(lines), "    " * levels)


def steps(random: Random, most: int, loop: bool) -> list[str]:
    """A few statements; guards skip the rest."""
    lines: list[str] = []
    for _ in range(random.randint(1, most)):
        kind = random.random()
        if kind < 0.3:
            guard = random.choice(GUARDS)
            inner = "continue" if loop and random.random() < 0.6 else random.choice(STEPS)
            lines += [f"if {guard}:", f"    {inner}"]
        elif kind < 0.42:
            lines += ["with self.lock:", f"    {random.choice(STEPS)}"]
            lines += [f"    {random.choice(STEPS)}"]
        elif kind < 0.5:
            lines += ["del self.infos[room]"]
        else:
            lines += [random.choice(STEPS)]
    return lines


def source(random: Random) -> str:
    """A whole backend."""
    end = random.choice(
        (
            ["if last:", "    self.update(room, Poll.Success)"],
            ["self.update(room, Poll.Success if last else Poll.Moving)"],
        )
    )
    return SOURCE.format(
        update=indent(random.choice(UPDATES).splitlines(), 2),
        serve=indent([*steps(random, 4, True), *end], 3),
        listen=indent(steps(random, 3, True), 4),
    )


def flagged(random: Random) -> str:
    """A backend with locks around little, reads for nothing, and a sender that notes a choice."""
    text = source(random)
    for _ in range(random.randint(1, 4)):
        loop, depth = random.choice((("room, last = self.jobs.get()", 3), ('b"ABORT":', 4)))
        text = text.replace(f"{loop}\n", f"{loop}\n{indent(random.choice(GUARDED), depth)}\n")
    text = text.replace("self.lock = ", "self.guard = threading.Lock()\n        self.lock = ")
    text = text.replace(OPENED, FLAG + OPENED)
    for method in random.sample(("poll", "abort", "clear"), random.randint(1, 3)):
        text = text.replace(f"def {method}(self):\n", f"def {method}(self):\n{ASKED}")
    return text


def spinning() -> str:
    """A worker that looks for an entry until it is there; the control thread replaces it."""
    return SOURCE.format(
        update=indent(["self.status[room] = new"], 2),
        serve=indent(
            [
                "while room not in self.infos:",
                "    pass",
                "if room not in self.infos:",
                "    continue",
                "if last:",
                "    self.update(room, Poll.Success)",
            ],
            3,
        ),
        listen=indent(["self.infos.pop(room, None)", "self.infos[room] = object()"], 4),
    )


def waiting_or_not() -> str:
    """A worker that waits between its look and its store in some setting only."""
    return SOURCE.format(
        update=indent(["self.status[room] = new"], 2),
        serve=indent(
            [
                "if self.status.get(room) == Poll.Failed:",
                "    continue",
                "if self.engine.slow:",
                "    self.engine.write(room)",
                "self.update(room, Poll.Success if last else Poll.Moving)",
            ],
            3,
        ),
        listen=indent(["self.update(room, Poll.Failed)"], 4),
    )


def hanging() -> str:
    """A control thread that revives the room after an abort and then goes on for ever."""
    return SOURCE.format(
        update=indent(["self.status[room] = new"], 2),
        serve=indent(["if last:", "    self.update(room, Poll.Success)"], 3),
        listen=indent(
            [
                "self.update(room, Poll.Failed)",
                "self.update(room, Poll.Moving)",
                "while True:",
                "    self.engine.write(room)",
            ],
            4,
        ),
    )


def sources() -> st.SearchStrategy[str]:
    """Whole backends."""
    return st.integers(0, 2**64).map(lambda seed: source(Random(seed)))


def flagged_sources() -> st.SearchStrategy[str]:
    """Whole backends with what the search leaves out."""
    return st.integers(0, 2**64).map(lambda seed: flagged(Random(seed)))
