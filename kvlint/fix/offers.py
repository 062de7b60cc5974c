"""Fixes to offer beside the findings: each proven by itself, as each may be taken by itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint import progress
from kvlint.config import Settings
from kvlint.findings import Span
from kvlint.fix.kinds import selected
from kvlint.fix.loop import judged
from kvlint.fix.overlay import Sources, tables_of
from kvlint.fix.plan import make_plan
from kvlint.fix.proof import State
from kvlint.fix.text import FileText
from kvlint.fix.unit import Unit
from kvlint.selection import select


@dataclass(frozen=True)
class Edit:
    """What the span covers becomes `text`; a span of no length is a place to insert at."""

    span: Span
    text: str


@dataclass(frozen=True)
class Offer:
    """One change as a whole, and the fingerprints of the findings that are gone after it."""

    title: str
    fingerprints: frozenset[str]
    edits: tuple[Edit, ...]


def offers(paths: Sequence[str], settings: Settings) -> list[Offer]:
    """The safe changes that `kvlint fix` would make one at a time; nothing is written.

    Each of them costs an analysis of the rewritten sources.
    """
    with progress.part("fixes"):
        return list(_offers(Sources(paths, settings), settings))


def _offers(sources: Sources, settings: Settings) -> Iterator[Offer]:
    report, scene = sources.state()
    findings = [f for f in select(report.findings, settings).shown if f.fixes]
    before = State(report, tables_of(scene))
    for kind in selected(None, unsafe=False):
        whole = make_plan(sources, findings, [kind], (), scene)
        for unit in whole.units:
            others = {other.id for other in whole.units} - {unit.id}
            alone = make_plan(sources, findings, [kind], others, scene) if others else whole
            if judged(alone, sources, before, f"proof of fix {kind.letter}").accepted:
                texts = {shown: alone.before[full] for shown, full in alone.shown.items()}
                yield _offer(unit, texts)


def _offer(unit: Unit, texts: dict[str, FileText]) -> Offer:
    return Offer(
        f"fix {unit.letter}: {unit.title}",
        frozenset(finding.fingerprint for finding in unit.findings),
        tuple(
            Edit(_span(path, texts[path], patch.start, patch.end), patch.new)
            for path, patches in sorted(unit.patches.items())
            for patch in sorted(patches)
        ),
    )


def _span(path: str, text: FileText, start: int, end: int) -> Span:
    return Span(path, *_place(text, start), *_place(text, end))


def _place(text: FileText, offset: int) -> tuple[int, int]:
    """Line and column, from 1."""
    line = bisect_right(text.starts, offset)
    return line, offset - text.starts[line - 1] + 1
