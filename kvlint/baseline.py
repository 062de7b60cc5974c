"""A file of findings that are known: they are not reported again, and the file may only shrink.

Findings are recognised by their fingerprints, so the file holds no line numbers. An entry accepts
a finding as long as it does not get worse. One that nothing corresponds to any more is stale.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kvlint.config import Settings
from kvlint.discover.walk import display_path, excludes
from kvlint.errors import UsageError
from kvlint.findings import SEVERITIES, Finding, Span, worse
from kvlint.hints import one_line
from kvlint.selection import is_selected

SCHEMA = 1


class Entry(NamedTuple):
    """One known finding; `path` is relative to the folder of the file."""

    path: str
    rule: str
    name: str
    fingerprint: str
    severity: str
    place: str
    message: str


@dataclass
class Compared:
    """The findings of a run beside a baseline."""

    new: list[Finding] = field(default_factory=list)
    accepted: list[Entry] = field(default_factory=list)
    stale: list[Entry] = field(default_factory=list)


def read(path: str) -> list[Entry]:
    """The entries of a file; raises `UsageError` for one that is no baseline."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        write = f"kvlint baseline write --baseline {path}"
        raise UsageError(f"{path}: there is no such baseline ({write} writes one)") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not a baseline: {one_line(str(error))}") from None
    return [_entry(item, path) for item in _items(document, path)]


def _items(document: Any, path: str) -> list[Any]:
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise UsageError(f"{path}: not a baseline: no list of findings in it")
    if document.get("schema") != SCHEMA:
        raise UsageError(f"{path}: this version of kvlint reads baselines of schema {SCHEMA} only")
    return list(document["findings"])


def _entry(item: Any, path: str) -> Entry:
    fields = [item.get(name) for name in Entry._fields] if isinstance(item, dict) else [None]
    if not all(isinstance(value, str) for value in fields) or item["severity"] not in SEVERITIES:
        raise UsageError(f"{path}: not a baseline: an entry in it is damaged")
    return Entry(*fields)


def write(path: str, entries: Iterable[Entry]) -> None:
    """Write the entries in a stable order, all of them or nothing."""
    listed = [entry._asdict() for entry in sorted(entries)]
    text = json.dumps({"schema": SCHEMA, "findings": listed}, indent=2) + "\n"
    partial = f"{path}.partial"
    try:
        with open(partial, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None


def entries(findings: Iterable[Finding], path: str) -> list[Entry]:
    """What the file at `path` has to hold for these findings to be known."""
    folder = os.path.dirname(os.path.abspath(path))
    return [
        Entry(
            path=os.path.relpath(finding.span.path, folder).replace(os.sep, "/"),
            rule=finding.rule,
            name=finding.name,
            fingerprint=finding.fingerprint,
            severity=finding.severity,
            place=".".join(filter(None, (finding.class_name, finding.function))),
            message=finding.message,
        )
        for finding in findings
    ]


def compare(
    known: Sequence[Entry], shown: Sequence[Finding], scope: Scope | None = None
) -> Compared:
    """Split the findings, and find the entries in `scope` that correspond to none of them."""
    by_fingerprint = {entry.fingerprint: entry for entry in known}
    result = Compared()
    met: set[str] = set()
    for finding in shown:
        entry = by_fingerprint.get(finding.fingerprint)
        if entry is None:
            result.new.append(finding)
            continue
        met.add(entry.fingerprint)
        if worse(finding.severity, entry.severity):
            result.new.append(finding)
        else:
            result.accepted.append(entry)
    if scope is not None:
        result.stale = [e for e in sorted(known) if e.fingerprint not in met and scope.covers(e)]
    return result


class Scope:
    """What a run over some paths under some settings would have reported."""

    def __init__(self, baseline: str, paths: Sequence[str], settings: Settings) -> None:
        self._folder = os.path.dirname(os.path.abspath(baseline))
        self._paths = [os.path.abspath(path) for path in paths]
        self._settings = settings

    def covers(self, entry: Entry) -> bool:
        """Whether the run had to find the entry's finding if it were still there."""
        full = os.path.normpath(os.path.join(self._folder, entry.path))
        shown = display_path(full, os.getcwd())
        if not any(full == path or full.startswith(path + os.sep) for path in self._paths):
            return False
        if any(excludes(p, part) for p in self._settings.exclude for part in _upwards(shown)):
            return False
        latent = entry.severity == "note" and not self._settings.show_latent
        return not latent and is_selected(_finding(entry, shown), self._settings)


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _finding(entry: Entry, path: str) -> Finding:
    return Finding(
        *(entry.rule, entry.name, "", entry.severity, Span(path, 1), "", "", entry.message),
        fingerprint=entry.fingerprint,
        group="",
    )
