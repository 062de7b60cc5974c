"""Every fixture says on its lines what kvlint must report there, and nothing else is.

`# expect: KV102 narrow` demands a finding on that line, `# may: KV104` allows one (any verdict),
`# miss: KV102 narrow` is a defect that kvlint is known not to report; several are separated by
commas. A latent finding need not be announced.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .locations import ROOT
from .running import check

FIXTURES = sorted((ROOT / "fixtures").rglob("*.py"))
COMMENT = re.compile(r"#\s*(expect|may|miss):\s*([^#]+)")
ANNOUNCED = re.compile(r"(KV\d{3})(?:\s+(confirmed|narrow|latent))?")


@dataclass(frozen=True, order=True)
class Mark:
    """A finding as a fixture announces it."""

    line: int
    rule: str
    verdict: str


@dataclass
class Marks:
    """What one fixture announces."""

    expected: set[Mark]
    missed: set[Mark]
    allowed: set[tuple[int, str]]


def test_the_fixtures_are_there() -> None:
    assert FIXTURES


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: str(path.relative_to(ROOT)))
def test_fixture_gets_what_it_announces(path: Path) -> None:
    marks = read_marks(path.read_text(encoding="utf-8"))
    reported = {Mark(f.line, f.rule, f.verdict) for f in check(path) if f.path == path.resolve()}
    unannounced = {
        mark
        for mark in reported - marks.expected - marks.missed
        if mark.verdict != "latent" and (mark.line, mark.rule) not in marks.allowed
    }
    assert sorted(marks.expected - reported) == [], "expected, not reported"
    assert sorted(unannounced) == [], "reported, not expected"
    assert sorted(marks.missed & reported) == [], "no longer missed: turn it into an expect"


def test_marks_are_read() -> None:
    marks = read_marks(
        "x = 1  # expect: KV102 narrow, KV103 confirmed  # may: KV104\n"
        "x = 2  # miss: KV101 narrow\n"
    )
    assert marks.expected == {Mark(1, "KV102", "narrow"), Mark(1, "KV103", "confirmed")}
    assert marks.missed == {Mark(2, "KV101", "narrow")}
    assert marks.allowed == {(1, "KV104")}


@pytest.mark.parametrize(
    "comment", ["# expect: KV102", "# expect: KV102 sure", "# may: 104", "# miss: KV101"]
)
def test_a_mistyped_mark_is_refused(comment: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        read_marks(f"x = 1  {comment}\n")


def read_marks(source: str) -> Marks:
    """The announcements of a fixture."""
    marks = Marks(set(), set(), set())
    for line, kind, announced in _comments(source):
        for item in announced.split(","):
            match = ANNOUNCED.fullmatch(item.strip())
            if match is None or (kind != "may" and match[2] is None):
                raise ValueError(f"line {line}: cannot read the mark {item.strip()!r}")
            if kind == "expect":
                marks.expected.add(Mark(line, match[1], match[2]))
            elif kind == "miss":
                marks.missed.add(Mark(line, match[1], match[2]))
            else:
                marks.allowed.add((line, match[1]))
    return marks


def _comments(source: str) -> Iterator[tuple[int, str, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            for match in COMMENT.finditer(token.string):
                yield token.start[0], match[1], match[2]
