"""The hand-made verdicts and the table of disputed ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..locations import ROOT, shared_folder

LABELS = shared_folder() / "labels" / "labels.json"
TABLES = shared_folder() / "labels" / "tables.json"
DISPUTED = ROOT / "docs" / "disputed-labels.md"
# What a label's window says about the verdict; what follows a comma or a bracket is a remark.
# Where any exception will do, no other thread is needed.
VERDICT_OF = {
    "wide": "confirmed",
    "any exception": "confirmed",
    "narrow": "narrow",
    "micro": "narrow",
}


@dataclass(frozen=True, order=True)
class Label:
    """One labelled site; `file` is relative to the release's disaggregation folder."""

    release: str
    file: str
    line: int
    rules: tuple[str, ...]
    verdict: str
    function: str
    window: str
    why: str

    @property
    def rule(self) -> str:
        """The rule as the label file spells it."""
        return "|".join(self.rules)

    @property
    def key(self) -> tuple[str, str, str]:
        """What an entry of the disputed table names."""
        return self.release, f"{self.file}:{self.line}", self.rule

    @property
    def due(self) -> str:
        """The verdict that the window stands for; nothing for a harmless site or no window."""
        if self.verdict != "bug" or not self.window:
            return ""
        return VERDICT_OF[re.split(r"[,(]", self.window)[0].strip()]


@dataclass(frozen=True)
class Disputed:
    """One row of the disputed table."""

    release: str
    site: str
    rule: str
    says: str
    why: str

    @property
    def key(self) -> tuple[str, str, str]:
        """The label it is about."""
        return self.release, self.site, self.rule


@dataclass(frozen=True)
class DisputedWindow:
    """One row of the table of windows."""

    release: str
    site: str
    rule: str
    window: str
    says: str
    why: str

    @property
    def key(self) -> tuple[str, str, str]:
        """The label it is about."""
        return self.release, self.site, self.rule


@cache
def labels() -> tuple[Label, ...]:
    """Every label, sorted."""
    raw = json.loads(LABELS.read_text(encoding="utf-8"))
    return tuple(
        sorted(
            Label(
                release=entry["release"],
                file=entry["file"],
                line=entry["line"],
                rules=tuple(entry["rule"].split("|")),
                verdict=entry["verdict"],
                function=entry["function"],
                window=entry["window"],
                why=entry["why"],
            )
            for entry in raw
        )
    )


def disputed(page: Path = DISPUTED) -> tuple[Disputed, ...]:
    """The rows of the page's table of missed bugs and false alarms."""
    return tuple(Disputed(*cells) for cells in _rows(page, 5))


def disputed_windows(page: Path = DISPUTED) -> tuple[DisputedWindow, ...]:
    """The rows of the page's table of windows."""
    return tuple(DisputedWindow(*cells) for cells in _rows(page, 6))


def _rows(page: Path, columns: int) -> Iterator[list[str]]:
    """The rows of the tables with so many columns; a bar inside a cell is written `\\|`."""
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = _cells(line)
        if len(cells) != columns or cells[0] in ("release", "") or set(cells[0]) <= set("-: "):
            continue
        yield cells


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    guarded = line.strip().strip("|").replace("\\|", "\0")
    return [cell.strip().strip("`").replace("\0", "|") for cell in guarded.split("|")]
