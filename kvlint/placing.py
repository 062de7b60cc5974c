"""Turn rule hits into findings: spans, fingerprints, groups, one finding per site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from kvlint.findings import SEVERITIES, SEVERITY_OF, VERDICTS, Finding, Related, Span
from kvlint.fingerprints import Fingerprints, is_compound, module_key, shape
from kvlint.programs.ir import Where
from kvlint.rulekit import Hit
from kvlint.search.trace import steps


def span_of(where: Where) -> Span:
    """The place of a node, in characters; a compound statement is shown by its first line."""
    node = where.node
    line = getattr(node, "lineno", 1)
    end_line = getattr(node, "end_lineno", None) or line
    lines = where.module.lines
    column = _characters(lines, line, getattr(node, "col_offset", 0))
    if is_compound(node):
        text = lines[line - 1] if line <= len(lines) else ""
        return Span(where.module.display, line, column, line, len(text) + 1)
    end = _characters(lines, end_line, getattr(node, "end_col_offset", 0) or 0)
    return Span(where.module.display, line, column, end_line, end)


def _characters(lines: list[str], line: int, offset: int) -> int:
    """A column that counts characters from 1, from the parser's offset in bytes."""
    if line > len(lines):
        return 1
    text = lines[line - 1]
    return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1


class Placed(NamedTuple):
    """A hit with its rule and the class in whose analysis it came up."""

    rule: str
    name: str
    searched: str
    hit: Hit


def place(hits: Iterable[Placed]) -> list[Finding]:
    """Findings, each site once with its worst verdict."""
    best: dict[tuple[str, Span], Placed] = {}
    causes: dict[tuple[str, Span], list[tuple[object, ...]]] = {}
    searches: dict[tuple[str, Span], dict[str, None]] = {}
    for placed in hits:
        key = (placed.rule, span_of(placed.hit.where))
        causes.setdefault(key, []).append(placed.hit.cause)
        searches.setdefault(key, {}).setdefault(placed.searched)
        if key not in best or _rank(placed.hit) < _rank(best[key].hit):
            best[key] = placed
    groups = _groups(best, causes)
    fingerprints = Fingerprints()
    found = []
    for key in sorted(best, key=lambda k: (k[1], k[0])):
        placed = best[key]
        where = placed.hit.where
        unique = fingerprints.of(
            *(placed.rule, module_key(where.module), where.class_name, where.function),
            shape(where.node),
        )
        found.append(_finding(placed, key[1], unique, groups[key], tuple(searches[key])))
    return _named_groups(found)


def _rank(hit: Hit) -> tuple[int, int]:
    return VERDICTS.index(hit.verdict), 0 if hit.witness is not None else 1


def _groups(
    best: dict[tuple[str, Span], Placed],
    causes: dict[tuple[str, Span], list[tuple[object, ...]]],
) -> dict[tuple[str, Span], int]:
    """Sites that share a cause, directly or through others, get one number (union-find)."""
    parent: dict[object, object] = {}

    def root(x: object) -> object:
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for key, found in causes.items():
        for cause in found:
            if cause:
                parent[root(key)] = root(("cause", cause))
    numbers: dict[object, int] = {}
    return {key: numbers.setdefault(root(key), len(numbers)) for key in sorted(best)}


def _finding(
    placed: Placed, span: Span, unique: str, group: int, searches: tuple[str, ...]
) -> Finding:
    rule, name, _, hit = placed
    latent = hit.verdict == "latent"
    related = tuple(Related(span_of(where), text) for where, text in hit.related)
    return Finding(
        rule=rule,
        name=name,
        verdict=hit.verdict,
        severity=SEVERITY_OF[hit.verdict],
        span=span,
        class_name=hit.where.class_name,
        function=hit.where.function,
        message=hit.message,
        fingerprint=unique,
        group=str(group),
        fixes=() if latent else hit.fixes,
        bad_end=None if latent else hit.bad_end,
        related=related,
        witness=steps(hit.witness) if hit.witness is not None else (),
        searched=hit.witness.system.protocol.title if hit.witness is not None else "",
        cleared=hit.cleared if latent else "",
        cleared_in=searches if latent else (),
    )


def _named_groups(found: list[Finding]) -> list[Finding]:
    """Name each group after the fingerprint of its worst finding."""
    lead: dict[str, Finding] = {}
    for finding in found:
        first = lead.get(finding.group)
        if first is None or _order(finding) < _order(first):
            lead[finding.group] = finding
    return [replace(f, group=lead[f.group].fingerprint) for f in found]


def _order(finding: Finding) -> tuple[int, str, Span]:
    return SEVERITIES.index(finding.severity), finding.rule, finding.span
