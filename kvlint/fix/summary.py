"""What a run did, in words that can be a commit message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlint.findings import Finding, Searched
from kvlint.fix.kinds import BY_LETTER, KINDS, Kind
from kvlint.fix.loop import Result
from kvlint.fix.proof import Verdict
from kvlint.fix.unit import Refused, Unit
from kvlint.hints import one_line
from kvlint.report.style import Style, plural
from kvlint.selection import position

WIDTH = 72  # of a commit message


def message(result: Result) -> str:
    """Subject, one paragraph per change, and what the proof covers."""
    units = result.plan.units
    if not units:
        return ""
    lines = [_subject(units), ""]
    for unit in units:
        lines += _unit(unit)
    lines += ["", *_proof(result)]
    return "".join(line.rstrip() + "\n" for line in lines)


def _subject(units: Sequence[Unit]) -> str:
    used = {unit.letter for unit in units}
    text = ", ".join(kind.headline for kind in KINDS if kind.letter in used)
    return text[0].upper() + text[1:]


def _unit(unit: Unit) -> Iterator[str]:
    label = "safe" if BY_LETTER[unit.letter].safe else "unsafe"
    yield from _item(f"{unit.letter} ({label}): {unit.title}", "- ")
    yield from _below(f"in {unit.path}:{unit.line} {unit.place}")
    places: dict[tuple[str, str, str], list[int]] = {}
    for f in sorted(unit.findings, key=position):
        places.setdefault((f.rule, _verdict(f), f.span.path), []).append(f.span.line)
    for (rule, verdict, path), lines in places.items():
        yield from _below(f"resolves {rule} ({verdict}) {path}:{', '.join(map(str, lines))}")


def _verdict(finding: Finding) -> str:
    return f"{finding.verdict}, {finding.bad_end}" if finding.bad_end else finding.verdict


def _proof(result: Result) -> Iterator[str]:
    verdict = result.verdict
    if verdict is None:
        yield from _item("Not verified: the rewritten sources were not analysed again.", "")
        return
    yield from _item(
        "Proof: the rewritten sources were analysed again. These findings are gone, no new one "
        "came, and no update method does anything else than before"
        + _exceptions({unit.letter for unit in result.plan.units}),
        "",
    )
    for one in _searches(result, verdict):
        yield from _item(depth(one), "- ")
    for finding in verdict.left_open:
        place = f"{finding.rule} ({_verdict(finding)}) {finding.span.path}:{finding.span.line}"
        yield from _item(f"left open: {place}: {finding.message}", "- ")


def _exceptions(letters: set[str]) -> str:
    """What update methods do otherwise than before, because a fix is for that."""
    meant = []
    if "A" in letters:
        meant.append("a terminal status stays")
    if "E" in letters:
        meant.append("only an opening status creates a room")
    return f", except that {' and '.join(meant)}." if meant else "."


def _searches(result: Result, verdict: Verdict) -> list[Searched]:
    """The searches of the classes whose findings are resolved; all where none is named."""
    named = {f.searched for unit in result.plan.units for f in unit.findings}
    searched = [one for one in verdict.after if one.states]
    return [one for one in searched if one.class_name in named] or searched


def depth(one: Searched) -> str:
    """How far one class was searched after the change."""
    chunks = plural(one.chunks, "chunk")
    alone = " (those with 1 chunk)" if one.chunks > 1 else ""
    end = "complete" if one.complete else "gave up"
    return (
        f"{one.class_name}: {plural(len(one.threads), 'thread')} ({', '.join(one.threads)}) and "
        f"the scheduler, 1 room, {chunks}, at most "
        f"{plural(one.preemptions, 'narrow switch')}{alone}: {plural(one.states, 'state')}, {end}"
    )


def _item(text: str, marker: str) -> list[str]:
    return Style(width=WIDTH).wrap(text, indent=" " * len(marker), first=marker)


def _below(text: str) -> list[str]:
    return Style(width=WIDTH).wrap(text, indent="    ", first="  ")


def left(result: Result) -> str:
    """What cannot be read, what stays although a fix was asked for, and what is unsafe to fix."""
    lines = [one_line(f"{f.span.path}:{f.span.line}: {f.message}") for f in result.unreadable]
    lines += [line for refused in result.refused for line in _refused(refused)]
    lines += _offered(result.unsafe)
    return "".join(f"kvlint: {line}\n" for line in lines)


def _refused(refused: Refused) -> Iterator[str]:
    for finding in refused.findings:
        place = f"{finding.span.path}:{finding.span.line}: {finding.rule}"
        yield one_line(f"not fixed: {place} (fix {refused.letter}): {refused.reason}")


def _offered(unsafe: Sequence[tuple[Kind, Finding]]) -> Iterator[str]:
    letters = sorted({kind.letter for kind, _ in unsafe})
    count = len({finding.fingerprint for _, finding in unsafe})
    if letters:
        word = "fix" if len(letters) == 1 else "fixes"
        named = " and ".join([", ".join(letters[:-1])] * (len(letters) > 1) + letters[-1:])
        yield f"{plural(count, 'finding')} left to the unsafe {word} {named} (--unsafe-fixes)"


def counts(result: Result, written: bool) -> str:
    """One line at the end."""
    units = result.plan.units
    if not units:
        return "kvlint: nothing to fix\n" if not result.refused else "kvlint: nothing was fixed\n"
    findings = len({f.fingerprint for unit in units for f in unit.findings})
    files = len({path for unit in units for path in unit.patches})
    verb = "fixed" if written else "would fix"
    return (
        f"kvlint: {verb} {plural(findings, 'finding')} with {plural(len(units), 'change')} "
        f"in {plural(files, 'file')}\n"
    )
