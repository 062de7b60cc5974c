"""Systems of files and of sources, and every search that a check makes over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kvlint.config import ProtocolOverrides
from kvlint.discover.project import load_project
from kvlint.protocol.detect import find_protocols
from kvlint.protocol.model import Protocol
from kvlint.search.building import build_system
from kvlint.search.environment import delivered
from kvlint.search.evidence import Bounds, Evidence, gather
from kvlint.search.product import Outcome, Search
from kvlint.search.system import System


@dataclass(frozen=True)
class Made:
    """One search of a check and what it found."""

    search: Search
    outcome: Outcome


def systems_of(found: list[Protocol]) -> Iterator[System]:
    """One system per protocol, with the messages that its siblings send."""
    for protocol in found:
        siblings = tuple(p for p in found if p.manager is protocol.manager)
        yield build_system(protocol, delivered(protocol, siblings))


def systems_in(path: Path) -> list[System]:
    """The systems of one file."""
    project = load_project([str(path)], cwd=str(path.parent))
    return list(systems_of(find_protocols(project, ProtocolOverrides())))


def searched(system: System, bounds: Bounds | None = None) -> tuple[Evidence, list[Made]]:
    """What a check finds out about a system, and each of its searches (not the baselines)."""
    made: list[Made] = []

    class Recorded(Search):
        def explore(self) -> Outcome:
            outcome = super().explore()
            if self.only is None:
                made.append(Made(self, outcome))
            return outcome

    with patch("kvlint.search.evidence.Search", Recorded):
        evidence = gather(system, bounds or Bounds())
    return evidence, made
