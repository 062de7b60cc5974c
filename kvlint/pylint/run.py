"""One analysis for the checker: the pipeline of `kvlint check` over the same paths."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kvlint.catalog import UNREADABLE_FILE
from kvlint.cli.engine import examined
from kvlint.cli.outcome import outcome_of
from kvlint.config import Settings, load_settings
from kvlint.discover.source import instead
from kvlint.discover.walk import Walk
from kvlint.errors import UsageError
from kvlint.findings import Finding, Gap
from kvlint.hints import one_line
from kvlint.pylint import messages
from kvlint.pylint.paths import Given
from kvlint.report.outcome import Outcome
from kvlint.report.style import plural


class Note(NamedTuple):
    """A message about the run as a whole."""

    symbol: str
    text: str


@dataclass
class Result:
    """What a run has to say, about files by their full paths and about itself.

    `elsewhere` has a note for each file with findings, for the case that pylint does not visit it.
    """

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    gaps: dict[str, list[Gap]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    elsewhere: dict[str, Note] = field(default_factory=dict)


def analyse(
    given: Given, *, jobs: int | None = None, contents: Mapping[str, bytes] | None = None
) -> Result:
    """The result for what pylint was given; a failure is a note in it, never an exception.

    `jobs` beats the settings. `contents` replaces what files, by full path, hold on disk.
    """
    try:
        with instead(contents or {}):
            return _analysed(given, jobs)
    except UsageError as error:
        return _failure(str(error))
    except Exception as error:
        again = f"kvlint check -v {' '.join(given.paths)} prints the traceback"
        return _failure(f"internal error: {type(error).__name__}: {error} ({again})")


def _failure(why: str) -> Result:
    return Result(notes=[Note(messages.FAILED, one_line(f"kvlint did not run: {why}"))])


def _analysed(given: Given, jobs: int | None) -> Result:
    settings = load_settings(given.paths[0]) if given.paths else Settings()
    paths = [path for path in given.paths if _holds_python(path, settings)]
    if not paths:
        return Result()
    settings = settings._replace(jobs=jobs or settings.jobs)
    outcome = outcome_of(examined(paths, settings), paths, settings)
    result = Result(notes=[*_problems(outcome), *_reservations(outcome)])
    for finding in outcome.shown:
        result.findings.setdefault(os.path.abspath(finding.span.path), []).append(finding)
    for gap in outcome.report.gaps:
        result.gaps.setdefault(os.path.abspath(gap.path), []).append(gap)
    for file, found in result.findings.items():
        result.elsewhere[file] = Note(messages.ELSEWHERE, _elsewhere(found, paths))
    return result


def _holds_python(path: str, settings: Settings) -> bool:
    """Whether there is something to read; pylint tells of a path without."""
    try:
        Walk(os.getcwd(), settings.exclude).add(path)
    except UsageError:
        return False
    return True


def _problems(outcome: Outcome) -> Iterator[Note]:
    """Folders that cannot be listed: pylint visits no file for which they could be said."""
    for finding in outcome.report.findings:
        path = finding.span.path
        if finding.rule == UNREADABLE_FILE and os.path.isdir(path):
            yield Note(messages.FAILED, one_line(f"{path}: {finding.message}"))


def _reservations(outcome: Outcome) -> Iterator[Note]:
    for one in outcome.report.searched:
        if one.states and not one.complete:
            raised = " and ".join(f"{limit} in [tool.kvlint]" for limit in one.limits)
            why = f"raise {raised}" if raised else "too many ways through one function"
            text = f"the search gave up in {one.class_name}: {why}"
            yield Note(messages.GAVE_UP, one_line(text))
    baseline = outcome.settings.baseline
    for entry in outcome.stale:
        gone = f"{entry.rule} {entry.name} in {entry.path} is gone: {entry.message}"
        how = f"shrink the baseline: kvlint baseline update --baseline {baseline}"
        yield Note(messages.STALE, one_line(f"{baseline}: {gone} ({how})"))


def _elsewhere(found: Sequence[Finding], paths: Sequence[str]) -> str:
    count, path = plural(len(found), "finding"), found[0].span.path
    how = f"kvlint check {' '.join(paths)} shows them"
    return one_line(f"{count} in {path}, which pylint did not visit ({how})")
