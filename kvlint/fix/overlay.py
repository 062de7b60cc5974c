"""Analyse sources that are not on disk yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvlint import progress
from kvlint.analysis import analyse_protocols
from kvlint.config import Settings
from kvlint.discover import source
from kvlint.discover.project import Project, load_project
from kvlint.findings import Report
from kvlint.fix.unit import Scene
from kvlint.protocol.detect import find_protocols
from kvlint.protocol.model import Protocol
from kvlint.search.memory import Memory
from kvlint.tables import Transitions, state_name, transitions_of


@dataclass(frozen=True)
class Cells:
    """A transition table by names: each analysis has members of its own.

    `in_rows` says that the status is a part of a row, whose other parts the table leaves out.
    """

    terminal: frozenset[str]
    in_rows: bool
    results: dict[tuple[str, str], frozenset[str]]


Tables = dict[tuple[str, str, str, str], Cells]


@dataclass(frozen=True)
class Sources:
    """The paths of a run with some files' contents replaced, by full path.

    What one version of the sources has in common with another is parsed and searched once.
    """

    paths: Sequence[str]
    settings: Settings
    changed: Mapping[str, bytes] = field(default_factory=dict)
    _memory: Memory = field(default_factory=Memory)
    _trees: source.Trees = field(default_factory=dict)

    def scene(self) -> Scene:
        """The project and its protocols, for the codemods."""
        with source.instead(self.changed), source.remembering(self._trees):
            return self._scene(self._load())

    def state(self) -> tuple[Report, Scene]:
        """The whole analysis, and the scene that it saw."""
        with source.instead(self.changed), source.remembering(self._trees):
            scene = self._scene(self._load())
            report = analyse_protocols(scene.project, scene.protocols, self.settings, self._memory)
            return report, scene

    def _scene(self, project: Project) -> Scene:
        scene = Scene(project, find_protocols(project, self.settings.protocol))
        for module in list(project.modules.values()):
            scene.file(module.display)  # read while the contents are replaced
        return scene

    def _load(self) -> Project:
        progress.tell("reading files")
        # With names of its own a backend cannot be told from its bytes.
        prefilter = not any(self.settings.protocol)
        return load_project(self.paths, exclude=self.settings.exclude, prefilter=prefilter)


def tables_of(scene: Scene) -> Tables:
    """The transition table of every update method, by title, class, file and method."""
    found: Tables = {}
    for protocol in scene.protocols:
        for name in protocol.updaters:
            for cls in (protocol.manager, *protocol.components):
                if cls.find(name) is not None:
                    transitions = transitions_of(protocol, cls, name)
                    if transitions is not None:
                        key = (protocol.title, cls.name, cls.module.display, name)
                        found[key] = _named(protocol, transitions)
                    break
    return found


def _named(protocol: Protocol, transitions: Transitions) -> Cells:
    domain = protocol.domain
    return Cells(
        frozenset(m.name for m in domain.members if domain.is_terminal(m)),
        protocol.row_index is not None,
        {
            (state_name(current), written.name): frozenset(map(state_name, results))
            for (current, written), results in transitions.items()
        },
    )
