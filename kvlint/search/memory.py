"""What was found out about systems, for the same systems read again.

A fix changes one file or two; classes that have no part in them are the same before and after, down
to the nodes of their trees (`kvlint.discover.source.remembering`), and are searched once.
"""

from __future__ import annotations

from kvlint.search.evidence import Evidence
from kvlint.search.parallel import Parts
from kvlint.search.system import System


class Memory:
    """Evidence by system, for one set of bounds."""

    def __init__(self) -> None:
        # With the system, so that none of its nodes goes and leaves its number to another one.
        self._known: dict[object, tuple[System, bytes]] = {}

    def recall(self, system: System) -> Evidence | None:
        """The evidence of a system that works the same, told about this one."""
        found = self._known.get(_key(system))
        return None if found is None else Parts([system]).load(found[1])

    def keep(self, system: System, evidence: Evidence) -> None:
        """Remember a search that came to its end; another one may get further next time."""
        if evidence.complete:
            self._known[_key(system)] = system, Parts([system]).dump(evidence)


def _key(system: System) -> object:
    """Everything that the numbers of a system's parts depend on."""
    programs = [thread.full for thread in system.threads]
    programs += [operation.full for operation in system.operations]
    nodes = tuple(tuple((i.op, id(i.where.node)) for i in p.code) for p in programs)
    return system.signature(), system.protocol.domain, nodes
