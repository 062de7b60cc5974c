"""Annotations on a pull request, as GitHub's workflow commands.

GitHub shows ten of a level for a step and fifty for a job: so there is one for each root cause, and
the worst come first.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.hints import one_line
from kvlint.report.blocks import Block, blocks
from kvlint.report.outcome import Outcome
from kvlint.report.plain import lines, title
from kvlint.report.root import from_root

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(outcome: Outcome) -> str:
    """One command for each block of findings, then what else makes the run fail."""
    return "".join(line + "\n" for line in _commands(outcome))


def _commands(outcome: Outcome) -> Iterator[str]:
    for block in blocks(outcome.shown):
        yield _annotation(block, outcome)
    for entry in outcome.stale:
        where = {"file": from_root(outcome.settings.baseline or "", outcome.root)}
        text = f"{entry.rule} {entry.name} in {entry.path} is gone: shrink the baseline"
        yield _command("error", {**where, "title": "stale baseline entry"}, one_line(text))
    if outcome.gave_up:
        text = outcome.gave_up.strip().removeprefix("kvlint: ")
        yield _command("warning", {"title": "kvlint did not search everything"}, text)


def _annotation(block: Block, outcome: Outcome) -> str:
    finding = block.primary
    span = finding.span
    where = {"file": from_root(span.path, outcome.root), "line": str(span.line)}
    if span.end_line > span.line:
        where["endLine"] = str(span.end_line)
    elif span.end_line:
        # Columns count only within one line.
        where |= {"endLine": str(span.end_line), "col": str(span.column)}
        where["endColumn"] = str(span.end_column)
    more = lines(block.told, block.others, outcome.report.searched, finding.rule)
    text = "\n".join([one_line(finding.message), *more])
    return _command(_LEVELS[finding.severity], {**where, "title": title(finding)}, text)


def _command(level: str, properties: dict[str, str], text: str) -> str:
    named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {named}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
