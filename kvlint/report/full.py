"""The format for reading: source excerpts with carets, one block for each root cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlint.catalog import ABOUT_FILES
from kvlint.findings import Finding, Searched, Span
from kvlint.hints import one_line
from kvlint.report.blocks import Block, blocks
from kvlint.report.excerpt import Mark, excerpt
from kvlint.report.source import Sources
from kvlint.report.style import Style
from kvlint.report.witness import schedule


def render(
    findings: Sequence[Finding], sources: Sources, style: Style, searched: Sequence[Searched] = ()
) -> str:
    """All blocks, the worst first, with an empty line after each."""
    lines: list[str] = []
    for block in blocks(findings):
        lines += [*_block(block, sources, style, searched), ""]
    return "".join(line + "\n" for line in lines)


def _block(
    block: Block, sources: Sources, style: Style, searched: Sequence[Searched]
) -> Iterator[str]:
    primary = block.primary
    shown: set[Span] = set()
    yield from _heading(primary, style, "", "  ")
    yield from _body(primary, shown, sources, style, "  ")
    for other in block.others:
        yield from _heading(other, style, "  also ", "       ")
        yield from _body(other, shown, sources, style, "       ")
    told = block.told
    if told is not None:
        yield ""
        yield from schedule(told, searched, style, "  ")
        yield ""
    yield _hints(primary, style)


def _body(
    finding: Finding, shown: set[Span], sources: Sources, style: Style, indent: str
) -> Iterator[str]:
    """The message and the sites; a related site that the block has shown is not shown again."""
    yield from style.wrap(finding.message, indent=indent)
    own = Mark(finding.span, _scope(finding), primary=True)
    related = [Mark(r.span, r.message) for r in finding.related if r.span not in shown]
    shown.update(mark.span for mark in (own, *related))
    here = [mark for mark in related if mark.span.path == finding.span.path]
    yield from excerpt([own, *here], sources, style, indent)
    for path in sorted({mark.span.path for mark in related} - {finding.span.path}):
        yield from _elsewhere([m for m in related if m.span.path == path], sources, style, indent)


def _heading(finding: Finding, style: Style, lead: str, indent: str) -> Iterator[str]:
    """Place and title; where both do not fit, the title has a line of its own."""
    span = finding.span
    place = f"{one_line(span.path)}:{span.line}:{span.column}"
    rest = f"{finding.name}{_fixes(finding)}"
    title = f"{finding.severity} {finding.rule} {rest}"
    rule = style.paint(finding.rule, "bold")
    painted = f"{style.severity(finding.severity)} {rule} {rest}"
    head = f"{style.paint(lead, 'bold')}{style.paint(place, 'bold')}:"
    if len(f"{lead}{place}: {title}") <= style.width:
        yield f"{head} {painted}"
    else:
        yield head
        yield indent + painted


def _fixes(finding: Finding) -> str:
    return f" [fix {', '.join(finding.fixes)}]" if finding.fixes else ""


def _scope(finding: Finding) -> str:
    """Where the finding stands, in the code's own terms."""
    scope = ".".join(filter(None, (finding.class_name, finding.function)))
    return f"in {scope}" if scope else ""


def _elsewhere(marks: Sequence[Mark], sources: Sources, style: Style, indent: str) -> Iterator[str]:
    """Related sites in another file; without its source, their places alone."""
    span = min(mark.span for mark in marks)
    drawn = list(excerpt(marks, sources, style, indent))
    if drawn:
        yield f"{indent}{style.paint('see', 'bold')}  {one_line(span.path)}:{span.line}"
        yield from drawn
        return
    for mark in marks:
        text = f"{one_line(mark.span.path)}:{mark.span.line}: {mark.label}"
        yield from style.wrap(text, indent=indent + "     ", first=indent + "see  ")


def _hints(finding: Finding, style: Style) -> str:
    rule = finding.rule
    comment = f"# kvlint: ignore[{rule}] -- why"
    silence = f"--ignore {rule}" if rule.startswith(ABOUT_FILES) else comment
    hints = (("help", f"kvlint explain {rule}"), ("silence", silence))
    return "  " + "    ".join(f"{style.paint(word, 'bold')}  {text}" for word, text in hints)
