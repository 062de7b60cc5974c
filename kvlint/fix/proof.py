"""Whether rewritten sources are better: the whole analysis again, compared with the one before.

Accepted is a change after which its findings are gone, no new one came, no update method does
anything else than before (fix A: except that a terminal status stays; fix E: except that a room
that is absent stays so), and every class was searched under the same bounds to the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvlint.findings import Finding, Report, Searched
from kvlint.fix.overlay import Cells, Tables
from kvlint.fix.unit import Unit
from kvlint.tables import ABSENT

Site = tuple[str, str, str, str]
LEFT_OPEN = "KV201"  # a method that now looks before it stores does so in two steps


@dataclass(frozen=True)
class State:
    """One version of the sources: its report and its transition tables."""

    report: Report
    tables: Tables


@dataclass
class Verdict:
    """What came of a comparison: why it was refused, or what it rests on.

    `left_open` are findings that a change leaves at its own place in a weaker form.
    """

    objections: list[str] = field(default_factory=list)
    left_open: list[Finding] = field(default_factory=list)
    before: list[Searched] = field(default_factory=list)
    after: list[Searched] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against the change."""
        return not self.objections


def compare(before: State, after: State, units: Sequence[Unit]) -> Verdict:
    """Judge the change that `units` make together."""
    verdict = Verdict(before=before.report.searched, after=after.report.searched)
    verdict.objections += _findings(before.report, after.report, units, verdict.left_open)
    verdict.objections += _tables(before.tables, after.tables, units)
    verdict.objections += _depth(before.report.searched, after.report.searched)
    return verdict


def _findings(
    before: Report, after: Report, units: Sequence[Unit], left_open: list[Finding]
) -> Iterator[str]:
    targeted = {f.fingerprint: f for unit in units for f in unit.findings}
    gone = Counter(map(_site, targeted.values()))
    yield from _still_there(before, after, gone)
    had, has = _serious(before), _serious(after)
    sure_before = Counter(_site(f) for f in had if f.verdict == "confirmed")
    sure_after = Counter(_site(f) for f in has if f.verdict == "confirmed")
    allowed = Counter(map(_site, had))
    seen: Counter[Site] = Counter()
    for finding in has:
        site = _site(finding)
        seen[site] += 1
        if site in gone:
            continue
        if seen[site] > allowed[site]:
            if _is_left_open(finding, units):
                left_open.append(finding)
            else:
                yield f"it would bring {_told(finding)}"
        elif sure_after[site] > sure_before[site]:
            yield f"{_told(finding)} would become {finding.verdict}"


def _still_there(before: Report, after: Report, gone: Counter[Site]) -> Iterator[str]:
    """Targeted findings that stay; one that is only latent now is not resolved either."""
    allowed = Counter(map(_site, before.findings))
    allowed.subtract(gone)
    seen: Counter[Site] = Counter()
    for finding in after.findings:
        site = _site(finding)
        seen[site] += 1
        if site in gone and seen[site] > allowed[site]:
            yield f"{_told(finding)} would still be there"


def _serious(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.verdict != "latent"]


def _site(finding: Finding) -> Site:
    return finding.rule, finding.span.path, finding.class_name, finding.function


def _told(finding: Finding) -> str:
    return f"{finding.rule} at {finding.span.path}:{finding.span.line}"


def _is_left_open(finding: Finding, units: Sequence[Unit]) -> bool:
    """Whether the finding is the narrow window of a method that looks first, without a lock."""
    return (
        finding.rule == LEFT_OPEN
        and finding.verdict == "narrow"
        and any(
            unit.letter in ("A", "E")
            and unit.path == finding.span.path
            and unit.place == f"{finding.class_name}.{finding.function}"
            for unit in units
        )
    )


def _tables(before: Tables, after: Tables, units: Sequence[Unit]) -> Iterator[str]:
    sticky = any(unit.letter == "A" for unit in units)
    refused = {name for unit in units for name in unit.refuses}
    for key in sorted(before):
        title, cls, _, method = key
        if key not in after:
            yield f"{cls}.{method} of {title} would no longer be an update method"
            continue
        for (current, written), results in before[key].results.items():
            now = after[key].results.get((current, written), frozenset())
            stays = (sticky and _stays(before[key], current, results, now)) or (
                current == ABSENT and written in refused and now == {ABSENT}
            )
            if now != results and not stays:
                yield (
                    f"{cls}.{method} would turn {current} into {' or '.join(sorted(now))} "
                    f"when {written} is written"
                )


def _stays(table: Cells, current: str, results: frozenset[str], now: frozenset[str]) -> bool:
    """Whether a cell has become what fix A is for: a terminal status that stays.

    In a row it stays as long as the row is about the same request, which the table cannot tell.
    """
    if current not in table.terminal or current not in now:
        return False
    return now == {current} or (table.in_rows and now <= results | {current})


def _depth(before: Sequence[Searched], after: Sequence[Searched]) -> Iterator[str]:
    now = {one.class_name: one for one in after}
    for one in before:
        other = now.get(one.class_name)
        if other is None:
            yield f"{one.class_name} would no longer be searched"
        elif not other.complete:
            yield f"the search of {one.class_name} would give up"
        elif set(one.threads) - set(other.threads):
            lost = ", ".join(sorted(set(one.threads) - set(other.threads)))
            yield f"{one.class_name} would no longer be searched with {lost}"
        elif gone := _disturbances(one) - _disturbances(other):
            yield f"{one.class_name} would no longer be searched with: {', '.join(sorted(gone))}"
        elif (other.preemptions, other.chunks) < (one.preemptions, one.chunks):
            yield f"{one.class_name} would be searched less deeply"


def _disturbances(one: Searched) -> set[str]:
    """What may happen to a request in a search, be it in every run or in one of its own."""
    return {*one.runs, *one.messages}
