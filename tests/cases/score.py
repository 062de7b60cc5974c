"""Compare what kvlint says about the shared cases with their manifest.

    python -m tests.cases.score

prints every missed defect and every false alarm, one line each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..locations import shared_folder
from ..running import Found, check

FOLDER = shared_folder() / "cases"
MANIFEST = FOLDER / "manifest.json"
TOLERANCE = 1


@dataclass(frozen=True)
class Site:
    """A line of a case, the rules that may stand there and what is wrong with it."""

    line: int
    rules: tuple[str, ...]
    note: str = ""

    def near(self, found: Found) -> bool:
        """Whether the finding is at this line."""
        return abs(found.line - self.line) <= TOLERANCE

    def hit_by(self, found: Found) -> bool:
        """Whether the finding names this defect."""
        return found.serious and found.rule in self.rules and self.near(found)


@dataclass(frozen=True)
class Case:
    """One file of the manifest."""

    file: str
    defective: bool
    in_scope: bool
    defects: tuple[Site, ...]
    also: tuple[Site, ...]

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / self.file


@cache
def cases() -> tuple[Case, ...]:
    """The manifest, or nothing where the shared folder is absent."""
    if not MANIFEST.exists():
        return ()
    entries = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return tuple(
        Case(
            file=entry["file"],
            defective=entry["verdict"] == "defect",
            in_scope=entry["in_scope"],
            defects=_sites(entry["defects"]),
            also=_sites(entry["also"]),
        )
        for entry in entries
    )


def _sites(entries: list[dict[str, Any]]) -> tuple[Site, ...]:
    return tuple(Site(e["line"], tuple(e["rules"]), e.get("note", "")) for e in entries)


def missed(case: Case) -> str | None:
    """What is wrong with a defective case of which no defect line is shown, or None."""
    found = check(case.path)
    if not case.defective or any(site.hit_by(f) for site in case.defects for f in found):
        return None
    wanted = "; ".join(f"{'/'.join(s.rules)} at line {s.line}: {s.note}" for s in case.defects)
    return f"{case.file}: wanted {wanted}\n      got {_listed(found)}"


def false_alarms(case: Case) -> list[Found]:
    """Errors and warnings in a clean case, apart from the lines that the manifest leaves open."""
    if case.defective:
        return []
    return [f for f in check(case.path) if f.serious and not any(s.near(f) for s in case.also)]


def _listed(found: list[Found]) -> str:
    return ", ".join(f"{f.rule} {f.severity} at {f.line}" for f in found) or "nothing"


def _lines() -> Iterator[str]:
    judged = [case for case in cases() if case.in_scope]
    misses = [text for case in judged if (text := missed(case))]
    alarms = [(case, f) for case in cases() for f in false_alarms(case)]
    defective = sum(case.defective for case in judged)
    yield f"missed defects: {len(misses)} of {defective}"
    yield from (f"  {text}" for text in misses)
    clean = len(cases()) - sum(case.defective for case in cases())
    yield f"false alarms: {len(alarms)} in {clean} clean files"
    yield from (f"  {c.file}:{f.line} {f.rule} {f.severity}: {f.message}" for c, f in alarms)


if __name__ == "__main__":
    print(*_lines(), sep="\n")
