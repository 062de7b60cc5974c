"""The format for reading: source excerpts with carets, one block for each root cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlint.findings import Finding, Related
from kvlint.hints import one_line
from kvlint.report.blocks import Block, blocks
from kvlint.report.excerpt import Mark, excerpt
from kvlint.report.source import Sources
from kvlint.report.style import Style


def render(findings: Sequence[Finding], sources: Sources, style: Style) -> str:
    """All blocks, the worst first, with an empty line after each."""
    lines: list[str] = []
    for block in blocks(findings):
        lines += [*_block(block, sources, style), ""]
    return "".join(line + "\n" for line in lines)


def _block(block: Block, sources: Sources, style: Style) -> Iterator[str]:
    primary = block.primary
    yield _place(primary, style) + ": " + _title(primary, style)
    yield from style.wrap(primary.message, indent="  ")
    yield from _sites(primary, sources, style)
    for other in block.others:
        yield from _other(other, sources, style)
    yield _hints(primary, style)


def _place(finding: Finding, style: Style) -> str:
    span = finding.span
    return style.paint(f"{one_line(span.path)}:{span.line}:{span.column}", "bold")


def _title(finding: Finding, style: Style) -> str:
    fixes = f" [fix {', '.join(finding.fixes)}]" if finding.fixes else ""
    rule = style.paint(finding.rule, "bold")
    return f"{style.severity(finding.severity)} {rule} {finding.name}{fixes}"


def _sites(finding: Finding, sources: Sources, style: Style) -> Iterator[str]:
    """The finding's own line and its related ones, file by file, its own file first."""
    own = finding.span.path
    here = [Mark(finding.span, _scope(finding), primary=True)]
    here += [Mark(r.span, r.message) for r in finding.related if r.span.path == own]
    yield from excerpt(here, sources, style, "  ")
    elsewhere = sorted({r.span.path for r in finding.related} - {own})
    for path in elsewhere:
        there = [r for r in finding.related if r.span.path == path]
        yield from _elsewhere(there, sources, style)


def _scope(finding: Finding) -> str:
    """Where the finding stands, in the code's own terms."""
    scope = ".".join(filter(None, (finding.class_name, finding.function)))
    return f"in {scope}" if scope else ""


def _elsewhere(related: Sequence[Related], sources: Sources, style: Style) -> Iterator[str]:
    span = min(r.span for r in related)
    drawn = list(excerpt([Mark(r.span, r.message) for r in related], sources, style, "  "))
    if drawn:
        yield f"  {style.paint('see', 'bold')}  {one_line(span.path)}:{span.line}"
        yield from drawn
        return
    for item in related:
        where = f"{one_line(item.span.path)}:{item.span.line}: "
        yield from style.wrap(where + item.message, indent="       ", first="  see  ")


def _other(finding: Finding, sources: Sources, style: Style) -> Iterator[str]:
    yield f"  {style.paint('also', 'bold')} {_place(finding, style)}: {_title(finding, style)}"
    yield from style.wrap(finding.message, indent="       ")
    yield from excerpt([Mark(finding.span, primary=True)], sources, style, "       ")


def _hints(finding: Finding, style: Style) -> str:
    hints = (("help", f"kvlint explain {finding.rule}"), ("silence", f"--ignore {finding.rule}"))
    return "  " + "  ".join(f"{style.paint(word, 'bold')}  {text}" for word, text in hints)
