"""The lines at the end of a run: what was found, hidden, analysed and left out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kvlint.config import SEVERITIES
from kvlint.hints import one_line
from kvlint.report.style import Style, plural

if TYPE_CHECKING:
    from kvlint.baseline import Entry
    from kvlint.config import Settings
    from kvlint.difference import Difference
    from kvlint.findings import Finding, Gap, Searched
    from kvlint.report.outcome import Outcome

NO_SEARCH = "no interleaving search was made: the verdicts rest on path analysis alone"
NO_CLASS = "no KV-transfer backend was found in the files that were read"


def summary(
    searched: Sequence[Searched],
    shown: Sequence[Finding],
    style: Style,
    left_out: Sequence[str] = (),
    *,
    wrapped: bool,
) -> str:
    """What a reader needs in order to judge the list above it, or its absence.

    Not `wrapped`, the counts are one line, as logs and scripts want it.
    """
    style = style if wrapped else style._replace(width=sys.maxsize)
    counts = _counts(shown)
    parts = [counts, *left_out, f"{plural(len(searched), 'class')} analysed"]
    first, *rest = style.wrap("; ".join(parts), indent="  ", first="")
    lines = [style.paint(first[: len(counts)], "bold") + first[len(counts) :], *rest]
    for line in _reach(searched):
        lines += style.wrap(line, indent="  ", first="")
    return "".join(line + "\n" for line in lines)


def _counts(findings: Sequence[Finding]) -> str:
    by_severity = Counter(finding.severity for finding in findings)
    counts = [
        plural(by_severity[severity], severity) for severity in SEVERITIES if by_severity[severity]
    ]
    if not counts:
        return "no findings"
    files = len({finding.span.path for finding in findings})
    return f"{', '.join(counts)} in {plural(files, 'file')}"


def _reach(searched: Sequence[Searched]) -> Iterator[str]:
    """How far the verdicts reach; a search that gave up must not look like a clean one."""
    if not searched:
        yield NO_CLASS
        return
    if all(one.states == 0 for one in searched):
        yield NO_SEARCH
        return
    for one in searched:
        if one.states == 0:
            yield f"{one.class_name}: {NO_SEARCH}"
        elif _is_incomplete(one):
            yield f"{one.class_name}: the search gave up after {plural(one.states, 'state')}"


def gaps(found: Sequence[Gap], verbose: bool) -> str:
    """What could not be read, resolved or searched: a count, or every place."""
    if not found:
        return ""
    if not verbose:
        places = plural(len(found), "place")
        return f"kvlint: {places} could not be read, resolved or searched (-v lists them)\n"
    return "".join(f"kvlint: gap: {_gap(gap)}\n" for gap in sorted(found))


def fixed(difference: Difference) -> str:
    """The findings that the revision had and the run has not."""
    base = difference.base
    return "".join(
        one_line(f"kvlint: fixed since {base}: {_pattern(f)}") + "\n" for f in difference.fixed
    )


def reservations(outcome: Outcome) -> str:
    """What has to be known beside the findings: stale entries, and searches that gave up."""
    said = _stale(outcome.stale, outcome.settings.baseline or "")
    difference = outcome.difference
    if difference is not None and gave_up(difference.searched.searched, outcome.settings):
        base = difference.base
        said += f"kvlint: the search of {base} gave up: what is introduced may have been there\n"
    return said + outcome.gave_up


def _stale(entries: Sequence[Entry], path: str) -> str:
    """The entries of a baseline that no finding corresponds to, and what to do about them."""
    if not entries:
        return ""
    lines = [f"{path}: {e.rule} {e.name} in {e.path} is gone: {e.message}" for e in entries]
    advice = f"shrink the baseline (kvlint baseline update --baseline {path})"
    lines.append(f"{plural(len(entries), 'stale entry')}: {advice}")
    return "".join(f"kvlint: {one_line(line)}\n" for line in lines)


def problems(found: Sequence[Gap]) -> str:
    """Files that could not be read at all, each with its reason."""
    return "".join(f"kvlint: {_gap(gap)}\n" for gap in sorted(found))


def _gap(gap: Gap) -> str:
    place = f"{gap.path}:{gap.line}" if gap.line else gap.path
    return one_line(f"{place}: {gap.message}")


def gave_up(searched: Sequence[Searched], settings: Settings) -> str:
    """Which searches are incomplete, and what to raise: such a run may not look clean."""
    open_ones = [one for one in searched if _is_incomplete(one)]
    if not open_ones:
        return ""
    names = ", ".join(one_line(one.class_name) for one in open_ones)
    limits = sorted({limit for one in open_ones for limit in one.limits})
    advice = " and ".join(f"--{limit} ({_given(limit, settings)})" for limit in limits)
    advice = f"raise {advice}" if advice else "too many ways through one function"
    return f"kvlint: the search gave up in {names}: {advice}\n"


def _given(limit: str, settings: Settings) -> str:
    return f"{getattr(settings, limit.replace('-', '_')):g}"


def _is_incomplete(one: Searched) -> bool:
    return one.states > 0 and not one.complete


def environments(searched: Sequence[Searched]) -> str:
    """What might happen to a room while each class was searched."""
    return "".join(
        one_line(f"kvlint: searched {one.class_name}: {_environment(one)}") + "\n"
        for one in searched
        if one.runs
    )


def _environment(one: Searched) -> str:
    sent = [plural(one.chunks, "chunk"), *(f"message {message}" for message in one.messages)]
    return f"{', '.join(sent)} in every run; runs: {'; '.join(one.runs)}"


def cleared(found: Sequence[Finding], searched: Sequence[Searched]) -> str:
    """The patterns that lead to no bad end as far as was searched, and why."""
    depths = {one.class_name: _cleared_by(one) for one in searched}
    return "".join(
        one_line(f"kvlint: no bad end found: {_pattern(f)}: {_reason(f, depths)}") + "\n"
        for f in found
    )


def _pattern(finding: Finding) -> str:
    place = f"{finding.span.path}:{finding.span.line}"
    return f"{place}: {finding.rule} {finding.name}: {finding.message}"


def _reason(finding: Finding, depths: Mapping[str, str]) -> str:
    classes = [f"{name} {depths[name]}" for name in finding.cleared_in if name in depths]
    return "; ".join(filter(None, (finding.cleared, ", ".join(classes)))) or "no search was made"


def _cleared_by(one: Searched) -> str:
    """How far the search went that did not find a bad end."""
    if one.states == 0:
        return "was not searched"
    end = "completely" if one.complete else "until the search gave up"
    return f"was searched {end} ({plural(one.states, 'state')})"


def statistics(
    searched: Sequence[Searched],
    shown: Sequence[Finding],
    files: int,
    seconds: float,
    *,
    cached: bool,
) -> str:
    """Findings by rule, what each class's threads are, and the time it took.

    If the result is `cached` the searches have the times of the run that made them.
    """
    by_rule = Counter((finding.rule, finding.name) for finding in shown)
    wide = max((len(name) for _, name in by_rule), default=0)
    lines = [f"{rule} {name:{wide}} {by_rule[rule, name]:>5}" for rule, name in sorted(by_rule)]
    lines += [_class_line(one) for one in searched]
    earlier = "; the result and the times of its searches are from the cache" if cached else ""
    lines.append(f"read {plural(files, 'file')} in {seconds:.2f} s{earlier}")
    return "".join(line + "\n" for line in lines)


def _class_line(one: Searched) -> str:
    threads = ", ".join(one.threads) or "none found"
    return f"{one.class_name}: {_depth(one)}; threads: {threads}"


def _depth(one: Searched) -> str:
    if one.states == 0:
        return "no search"
    end = "complete" if one.complete else "gave up"
    switches = plural(one.preemptions, "narrow switch")
    return f"{plural(one.states, 'state')} in {one.seconds:.2f} s, at most {switches}, {end}"
