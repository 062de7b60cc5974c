"""The schedule that leads to a bad end: in lanes, or as a list where those are too wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlint.findings import Finding, Searched, Step
from kvlint.report.lanes import lanes
from kvlint.report.places import place
from kvlint.report.style import Style, plural

LANES_FROM = 100  # columns
ENDS = {
    "pinned": "pinned in {status}: no thread is left that would end the room",
    "resurrected": "resurrected: {status}, after the failure was there to be seen",
    "dead-thread": "dead thread: nothing serves the rooms that come after",
    "zombie": "zombie: the cleared room is back as {status}",
}


def schedule(
    finding: Finding, searched: Sequence[Searched], style: Style, indent: str
) -> Iterator[str]:
    """The witness of `finding`, how it ends, and how much was searched for it."""
    steps = finding.witness
    draw = lanes if style.width >= LANES_FROM else listing
    yield from draw(steps, style, indent)
    end = ENDS.get(finding.bad_end or "", "").format(status=steps[-1].status)
    if end:
        head = indent + style.paint("  end  ", "bold")
        plain = Style(width=style.width)
        first, *rest = plain.wrap(end, indent=indent + " " * 7, first=indent + " " * 7)
        yield head + style.paint(first[len(indent) + 7 :], "bold", "red")
        yield from (style.paint(line, "bold", "red") for line in rest)
    for one in searched:
        if one.class_name == finding.searched and one.states:
            yield from style.wrap(depth(one), indent=indent)


def depth(one: Searched) -> str:
    """What the search for a witness covered."""
    parts = [plural(len(one.threads), "thread"), "1 room"]
    if one.chunks:
        parts.append(plural(one.chunks, "chunk"))
    alone = " (with 1 chunk)" if one.chunks > 1 else ""
    parts.append(f"at most {plural(one.preemptions, 'narrow switch')}{alone}")
    end = "complete" if one.complete else "gave up"
    return f"searched {', '.join(parts)}: {plural(one.states, 'state')}, {end}; shortest shown"


def listing(steps: Sequence[Step], style: Style, indent: str) -> Iterator[str]:
    """Two lines for each step: who does what, and where with what result."""
    digits = len(str(steps[-1].step))
    before = "absent"
    for step in steps:
        head = f"{indent}{'>' if step.decisive else ' '} {step.step:>{digits}}  "
        hang = " " * len(head)
        first, *rest = style.wrap(f"{step.thread}: {step.action}", indent=hang, first=head)
        colours = ("bold",) if step.decisive else ()
        yield style.paint(first, *colours) if colours else first
        yield from rest
        after = "  ".join(outcome(step, before, style))
        room = style.width - len(hang)
        where = place(step, room - len(after) - 2, style)
        if after and len(where) <= room - len(after) - 2:
            yield f"{hang}{where}  {after}"
        else:
            yield hang + place(step, room, style)
            yield from style.wrap(after, indent=hang) if after else ()
        before = step.status


def outcome(step: Step, before: str, style: Style) -> Iterator[str]:
    """The new status where it changed, and the kind of switch that follows."""
    if step.status != before:
        yield f"{style.glyph('becomes')} {step.status}"
    if step.window:
        yield f"~ {step.window} window"
