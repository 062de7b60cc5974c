"""The hand-made verdicts and the table of disputed ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..locations import ROOT, shared_folder

LABELS = shared_folder() / "labels" / "labels.json"
TABLES = shared_folder() / "labels" / "tables.json"
DISPUTED = ROOT / "docs" / "disputed-labels.md"


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
    """The rows of the page's table; a bar inside a cell is written `\\|`."""
    rows = []
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = _cells(line)
        if len(cells) != 5 or cells[0] in ("release", "") or set(cells[0]) <= set("-: "):
            continue
        rows.append(Disputed(*cells))
    return tuple(rows)


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    guarded = line.strip().strip("|").replace("\\|", "\0")
    return [cell.strip().strip("`").replace("\0", "|") for cell in guarded.split("|")]
