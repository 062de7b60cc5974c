"""On generated backends a fix changes its own lines only, the result parses, and once is enough."""

from __future__ import annotations

import ast
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from .backends import fix

FEW = settings(max_examples=12, deadline=None, derandomize=True, database=None)

TEMPLATE = """\
{coding}{banner}import functools
import queue
import threading

{noise}
class {enum}:  {note}
    {bad} = 0
    Waiting = 1
    Moving = 2
    {good} = 3

{feed}
class {cls}:
    def __init__(self, wire):
        self.wire = wire
        self.{table} = {{}}
        self.{side} = {{}}
        self.{work} = queue.Queue()
        self.guard = threading.RLock()
        threading.Thread(target=self.serve).start()

    def open(self, {key}, peer):
        self.{side}[{key}] = peer
        self.{table}[{key}] = {enum}.Waiting

    def feed(self, {key}, piece, last):
        self.{work}.put(({key}, piece, last))

    def drop(self, {key}):
        self.{side}.pop({key}, None)

{decorator}    def {update}(self, {key}, status){annotation}:
{body}
{inner}
    def serve(self):
        while True:
            {key}, piece, last = self.{work}.get()
{skip}
            try:
                self.wire.push(self.{side}[{key}], piece)  {note}
                self.{update}({key}, {enum}.{good} if last else {enum}.Moving)
            except Exception:
                self.{update}({key}, {enum}.{bad})

    def stop(self, {key}):
        self.{update}({key}, {enum}.{bad})

    def poll(self, {key}):
        return self.{table}.get({key}, {enum}.{bad})

    def clear(self, {key}):
        self.{table}.pop({key}, None)
        self.{side}.pop({key}, None)
{tail}"""
BODIES = (
    "self.{table}[{key}] = status",
    "self.{table}[{key}] = \\\n    status",
    "self.{table}[\n    {key}\n] = (\n  status  # the new one\n)",
    "if {key} in self.{table} and status != {enum}.{bad}:\n"
    "    self.{table}[{key}] = max(self.{table}[{key}], status)\n"
    "else:\n"
    "    self.{table}[{key}] = status",
    "with self.guard:\n    # one step\n    self.{table}[{key}] = status",
    "with self.guard: self.{table}[{key}] = status",
    "now = self.{table}.get({key})\n\n# never back\nself.{table}[{key}] = status if now is None "
    "else max(now, status)",
    "if status == {enum}.{bad}: self.{table}[{key}] = status\nelse: self.{table}[{key}] = status",
    "text = '''\nnot a line\n    of code'''\nself.{table}[{key}] = status",
    '"""Move on."""\nself.last = status; self.seen = True\nself.{table}[{key}] = status',
    "self.{table}[{key}] = status\nself.last = status",
    "with self.guard:\n    if {key} in self.{table}:\n        with self.guard:\n"
    "            self.{table}[{key}] = status  # again",
)
SKIPS = (
    "if {key} not in self.{side}:\n    continue",
    "if {key} not in self.{side}: continue",
    "if {key} not in self.{side}:  # gone\n    # nothing to send\n    continue  # next",
    "peer = self.{side}.get({key})\nif peer is None:\n    continue",
    "if (\n    {key} not in self.{side}\n    or self.{table}.get({key}) == {enum}.{bad}\n):\n"
    "    continue",
    "if {key} not in \\\n        self.{side}:\n    self.misses = 1; continue",
    "try:\n    assert {key} in self.{side}, 'no peer'\nexcept AssertionError:\n    continue",
)
DECORATORS = (
    "",
    "    @functools.wraps(print)\n",
    "    # keep\n    @functools.lru_cache(\n        maxsize=None,\n    )\n",
)
NOISE = (
    "",
    "# a comment\n",
    "\n\n\n",
    "# \u00e4\u00f6\u00fc \u00e9\n",
    "   \n",
    "    X = '\u00fc'; Y = 1\n",
)
names = st.sampled_from


@dataclass(frozen=True)
class Case:
    """One generated file."""

    data: bytes
    newline: str

    @property
    def lines(self) -> list[bytes]:
        """Its lines with their ends."""
        return self.data.splitlines(keepends=True)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A backend in some spelling and layout."""
    words = {
        "enum": draw(names(["KVPoll", "Stage"])),
        "bad": draw(names(["Failed", "ABORTED"])),
        "good": draw(names(["Success", "DONE"])),
        "cls": draw(names(["Manager", "Mover"])),
        "table": draw(names(["request_status", "state_of"])),
        "side": draw(names(["peers", "transfer_infos"])),
        "work": draw(names(["chunks", "inbox"])),
        "update": draw(names(["update_status", "move"])),
        "key": draw(names(["room", "bootstrap_room"])),
    }
    latin = draw(st.booleans())
    noise = draw(names(NOISE))
    text = TEMPLATE.format(
        **words,
        coding="# -*- coding: latin-1 -*-\n" if latin else "",
        banner=draw(names(["", "\n", "#!/usr/bin/env python\n" if not latin else ""])),
        noise=noise if noise.strip()[:1] != "X" else noise.lstrip(),
        inner=noise,
        note=draw(names(["", "# note", "# type: ignore  # \u00e9"])),
        feed=draw(names(["", "\f\n"])),
        decorator=draw(names(DECORATORS)),
        annotation=draw(names(["", " -> None"])),
        body=_indented(draw(names(BODIES)).format(**words), 8),
        skip=_indented(draw(names(SKIPS)).format(**words), 12),
        tail=draw(names(["", "\n\n", "# the end"])),
    )
    unit = draw(names(["    ", "  ", "\t"]))
    text = re.sub(r"^(?: {4})+", lambda m: unit * (len(m[0]) // 4), text, flags=re.MULTILINE)
    newline = draw(names(["\n", "\r\n"]))
    data = text.replace("\n", newline).encode("latin-1" if latin else "utf-8")
    mark = b"\xef\xbb\xbf" if not latin and draw(st.booleans()) else b""
    return Case(mark + data, newline)


def _indented(text: str, columns: int) -> str:
    """Indent the lines of code, not those inside a string."""
    lines = text.split("\n")
    inside = "'''" in text
    return "\n".join(
        line if inside and line.endswith(("a line", "of code'''")) else " " * columns + line
        for line in lines
    )


@FEW
@given(cases())
def test_only_the_patch_changes(case: Case) -> None:
    before = ast.parse(case.data)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "conn.py")
        file.write_bytes(case.data)
        call = fix(folder)
        assert call.code == 0, call.err
        after = file.read_bytes()
        again = fix(folder)
        assert (again.code, again.out, file.read_bytes()) == (0, "", after)
        assert [p.name for p in Path(folder).iterdir()] == ["conn.py"]
    assert after != case.data
    assert ast.dump(ast.parse(after)) != ast.dump(before)
    new = _rest(case, after)
    assert all(line.endswith(case.newline.encode()) for line in new)
    assert b"\t" not in b"".join(new) or b"\t" in case.data


@settings(FEW, max_examples=6)
@given(cases())
def test_the_unsafe_fixes_leave_sound_python(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "conn.py")
        file.write_bytes(case.data)
        fix(folder, "--unsafe-fixes")
        after = file.read_bytes()
        ast.parse(after)
        again = fix(folder, "--unsafe-fixes")
        assert (again.out, file.read_bytes()) == ("", after)
    assert after != case.data
    old = [line.strip() for line in case.lines if line.strip() and b".pop(" not in line]
    new = [line.strip() for line in after.splitlines() if line.strip()]
    assert not Counter(line for line in old if b"#" in line[:1]) - Counter(new)
    if case.newline == "\r\n":
        assert after.count(b"\n") == after.count(b"\r\n")


def _rest(case: Case, after: bytes) -> list[bytes]:
    """The lines that were added; every other line of the old file stands in its order.

    A statement behind a colon moves to a line of its own: there the old line is found in two parts.
    """
    added = []
    old = case.lines
    at = 0
    lines = after.splitlines(keepends=True)
    for number, line in enumerate(lines):
        known = at < len(old)
        if known and (line == old[at] or _opened(old[at], line, lines[number:])):
            at += 1
        else:
            added.append(line)
    assert at == len(old), f"line {at + 1} was changed: {old[at]!r}"
    return [line for line in added if line]


def _opened(old: bytes, head: bytes, rest: list[bytes]) -> bool:
    """Whether an old line now is its head, new lines and then what stood behind the colon."""
    first = head.rstrip(b"\r\n")
    if not first.endswith(b":") or not old.startswith(first) or len(first) < 4:
        return False
    behind = old[len(first) :].lstrip()
    return any(line.lstrip() == behind for line in rest[1:8])
