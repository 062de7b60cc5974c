"""Propose, prove, and where the whole is refused, prove its parts one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kvlint import progress
from kvlint.catalog import UNREADABLE_FILE
from kvlint.config import Settings
from kvlint.findings import Finding, Report
from kvlint.fix.kinds import Kind
from kvlint.fix.overlay import Sources, tables_of
from kvlint.fix.plan import Plan, make_plan
from kvlint.fix.proof import State, Verdict, compare
from kvlint.fix.unit import Refused, UnitId
from kvlint.selection import select


@dataclass
class Result:
    """What a run comes to: the accepted plan, its proof, and what is left.

    `unsafe` are findings that an unsafe fix would take on; `verdict` is None if nothing changes
    or nothing was to be proven.
    """

    plan: Plan = field(default_factory=Plan)
    verdict: Verdict | None = None
    refused: list[Refused] = field(default_factory=list)
    unsafe: list[tuple[Kind, Finding]] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    @property
    def unreadable(self) -> list[Finding]:
        """The files about which nothing is known."""
        return [f for f in self.report.findings if f.rule == UNREADABLE_FILE]


def fix(
    paths: Sequence[str],
    settings: Settings,
    kinds: Sequence[Kind],
    *,
    withheld: Sequence[Kind] = (),
    verify: bool = True,
) -> Result:
    """Find out what to write; nothing is written.

    `withheld` are kinds that were asked for, but for the word that allows them.
    """
    sources = Sources(paths, settings)
    report, scene = sources.state()
    findings = [f for f in select(report.findings, settings).shown if f.fixes]
    result = Result(report=report, unsafe=_taken_on(findings, withheld))
    progress.tell("making the changes")
    result.plan = make_plan(sources, findings, kinds, (), scene)
    result.refused = list(result.plan.refused)
    if verify and result.plan.units:
        before = State(report, tables_of(scene))
        _prove(result, sources, findings, kinds, before)
        _close(result, sources, findings, kinds, before)
    return result


def _taken_on(findings: Sequence[Finding], kinds: Sequence[Kind]) -> list[tuple[Kind, Finding]]:
    return [(kind, f) for kind in kinds for f in findings if kind.letter in f.fixes]


def _prove(
    result: Result,
    sources: Sources,
    findings: Sequence[Finding],
    kinds: Sequence[Kind],
    before: State,
) -> None:
    """Keep what is proven of the plan, and say why the rest is not made."""
    whole = result.plan
    verdict = judged(whole, sources, before)
    if verdict.accepted:
        result.verdict = verdict
        return
    skip: set[UnitId] = {unit.id for unit in whole.units}
    accepted: list[UnitId] = []
    result.plan = Plan()
    for number, unit in enumerate(whole.units, 1):
        plan = make_plan(sources, findings, kinds, skip - {unit.id, *accepted})
        what = f"proof of change {number} of {len(whole.units)}"
        part = judged(plan, sources, before, what) if len(whole.units) > 1 else verdict
        if part.accepted:
            accepted.append(unit.id)
            result.plan, result.verdict = plan, part
        else:
            result.refused.append(
                Refused(unit.letter, unit.findings, "; ".join(part.objections[:3]))
            )


def _close(
    result: Result,
    sources: Sources,
    findings: Sequence[Finding],
    kinds: Sequence[Kind],
    before: State,
) -> None:
    """Fix what the accepted changes leave open as well, if that was asked for."""
    late = [
        f
        for f in (result.verdict.left_open if result.verdict else ())
        if kinds[-1].letter in f.fixes
    ]
    if not late:
        return
    made = {unit.id for unit in result.plan.units}
    every = make_plan(sources, findings, kinds, ()).units
    skip = {unit.id for unit in every} - made
    plan = make_plan(sources, findings, kinds, skip, late=late)
    verdict = judged(plan, sources, before)
    if verdict.accepted and len(plan.units) >= len(made):
        result.plan, result.verdict = plan, verdict
    result.refused += [r for r in plan.refused if set(r.findings) & set(late)]


def judged(plan: Plan, sources: Sources, before: State, what: str = "proof") -> Verdict:
    """Analyse the sources as the plan leaves them, and compare; `what` is told to who waits."""
    with progress.part(what):
        report, scene = replace(sources, changed=plan.contents).state()
    return compare(before, State(report, tables_of(scene)), plan.units)
