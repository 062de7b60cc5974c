"""The checker that pylint runs: it asks for the findings of each module that it is shown.

A finding depends on many files, and pylint shows one module at a time, under `-j` in processes
that each see some of them. So each process analyses everything that pylint was given, once, and
each module gets what is found in it: the result depends on neither order nor number of jobs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from astroid import nodes  # type: ignore[import-untyped,unused-ignore]
from pylint.checkers import BaseChecker
from pylint.interfaces import CONTROL_FLOW, HIGH, UNDEFINED

from kvlint.findings import Finding, Gap
from kvlint.hints import one_line
from kvlint.pylint.messages import GAP, messages, symbol_of
from kvlint.pylint.paths import Given
from kvlint.pylint.run import Note, Result, analyse

if TYPE_CHECKING:
    from pylint.lint import PyLinter

# How far pylint's user may trust a message, for `--confidence`.
_CONFIDENCE = {"confirmed": HIGH, "narrow": CONTROL_FLOW, "latent": UNDEFINED}


class Known(NamedTuple):
    """What is known at the end: notes, those for files that were not visited, the visited files."""

    notes: set[Note]
    elsewhere: set[tuple[str, Note]]
    visited: set[str]


class KvlintChecker(BaseChecker):
    """Says of each module what `kvlint check` finds in it."""

    name = "kvlint"
    msgs = messages()

    def __init__(self, linter: PyLinter) -> None:
        super().__init__(linter)
        self._given: dict[tuple[str, ...], Given] = {}
        self._results: dict[Given, Result] = {}
        self._visited: set[str] = set()

    def visit_module(self, node: nodes.Module) -> None:
        """Called by pylint for each module, before it looks at what is inside."""
        if not node.file:
            return
        file = os.path.abspath(node.file)
        self._visited.add(file)
        result = self._result_for(file, node)
        for finding in result.findings.get(file, ()):
            self._say(finding, node)
        for gap in result.gaps.get(file, ()):
            self._say_gap(gap, node)

    def close(self) -> None:
        """Called at the end of a run, under `-j` in each process after each module."""
        if not self._in_parallel():
            self._say_notes([self.get_map_data()])

    def get_map_data(self) -> Known:
        """What one process knows about the run; under `-j`, called after each module.

        All processes know the same notes. Each visited file is told once.
        """
        results = self._results.values()
        notes = {note for result in results for note in result.notes}
        elsewhere = {item for result in results for item in result.elsewhere.items()}
        visited, self._visited = self._visited, set()
        return Known(notes, elsewhere, visited)

    def reduce_map_data(self, linter: PyLinter, data: list[Any]) -> None:
        """Called under `-j` at the end of the run, with the data of all processes."""
        self._say_notes(data)

    def _in_parallel(self) -> bool:
        config = self.linter.config
        return config.jobs > 1 and not config.from_stdin

    def _result_for(self, file: str, node: nodes.Module) -> Result:
        """The result of the run that a file belongs to; one that was not given is one by itself."""
        given = self._given_as(self.linter.config.files)
        if not given.covers(file):
            given = self._given_as([file])
        if given not in self._results:
            contents = {file: _text_of(node)} if self.linter.config.from_stdin else None
            # Each process of pylint searches: more of them for each would only be in the way.
            jobs = 1 if self._in_parallel() else None
            self._results[given] = analyse(given, jobs=jobs, contents=contents)
        return self._results[given]

    def _given_as(self, files: Sequence[str]) -> Given:
        key = tuple(files)
        if key not in self._given:
            self._given[key] = Given(key)
        return self._given[key]

    def _say(self, finding: Finding, module: nodes.Module) -> None:
        span = finding.span
        self.add_message(
            symbol_of(finding.rule, finding.name, finding.verdict),
            node=_scope_at(module, span.line),
            line=span.line,
            col_offset=span.column - 1,
            end_lineno=span.end_line or span.line,
            end_col_offset=(span.end_column or span.column) - 1,
            args=_text(finding),
            confidence=_CONFIDENCE[finding.verdict],
        )

    def _say_gap(self, gap: Gap, module: nodes.Module) -> None:
        line = max(gap.line, 1)
        scope = _scope_at(module, line)
        self.add_message(GAP, node=scope, line=line, col_offset=0, args=one_line(gap.message))

    def _say_notes(self, known: Sequence[Known]) -> None:
        """Each note once, about no module of the run."""
        visited = {file for one in known for file in one.visited}
        notes = {note for one in known for note in one.notes}
        notes |= {note for one in known for file, note in one.elsewhere if file not in visited}
        if not notes:
            return
        linter = self.linter
        name, file = linter.current_name, linter.current_file
        linter.set_current_module(self.name)
        for note in sorted(notes):
            self.add_message(note.symbol, line=0, args=note.text)
        # Checkers that pylint closes after this one speak of the module that is current.
        linter.set_current_module(name, file)


def _text(finding: Finding) -> str:
    """The message, with the other places that one needs in order to understand it."""
    text = finding.message
    for related in finding.related:
        span = related.span
        inside = span.path == finding.span.path
        place = f"line {span.line}" if inside else f"{span.path}:{span.line}"
        text += f"; {place}: {related.message}"
    return one_line(text)


def _scope_at(module: nodes.Module, line: int) -> nodes.NodeNG:
    """The innermost function or class around a line, by which pylint names the place."""
    scope: nodes.NodeNG = module
    for inner in module.nodes_of_class((nodes.ClassDef, nodes.FunctionDef)):
        if inner.fromlineno <= line <= inner.tolineno:
            scope = inner  # outer ones come first
    return scope


def _text_of(node: nodes.Module) -> bytes:
    """What pylint read: an editor hands over text that is not on disk yet."""
    with node.stream() as stream:
        return bytes(stream.read())
