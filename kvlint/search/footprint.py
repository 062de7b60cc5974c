"""What a macro-step reads and what it changes, as bits: two without a conflict commute.

The room's status is one part of the shared state; every side table, every lock, the queue, the
messages, the holder's fields and "the room is open" are others. Independence as in Godefroid,
Partial-Order Methods for the Verification of Concurrent Systems (LNCS 1032, 1996), chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

from kvlint.programs.ir import Instr, Op
from kvlint.programs.machine import Shared
from kvlint.search.macro_steps import Event

TABLES = frozenset({Op.LOAD, Op.TEST, Op.STORE, Op.POP, Op.SETDEFAULT})
LOCKS = frozenset({Op.LOCK, Op.UNLOCK})
QUEUES = frozenset({Op.TAKE, Op.PUT})
STATUS, QUEUE, FRAMES, FIELDS, OPENED = (1 << i for i in range(5))
FIRST_NAMED = 5


class Footprint(NamedTuple):
    """The parts that a macro-step reads and the parts that it changes, as bits.

    A store of what was there already changes nothing, but it is a read: it undoes what another
    thread stores before it.
    """

    reads: int
    writes: int

    def also(self, other: Footprint) -> Footprint:
        """The footprint of both."""
        return Footprint(self.reads | other.reads, self.writes | other.writes)

    def conflicts(self, other: Footprint) -> bool:
        """Whether the order of the two can matter."""
        touched = other.reads | other.writes
        return bool(self.writes & touched or self.reads & other.writes)


NOTHING = Footprint(0, 0)


class Footprints:
    """Gives the tables and locks of one system their bits."""

    def __init__(self, status_table: str, tracked: frozenset[str]) -> None:
        self._bits = {status_table: STATUS}
        for name in sorted(tracked - {status_table}):
            self._bits[name] = 1 << (FIRST_NAMED + len(self._bits))
        self.tables = sum(self._bits.values())
        self._locks: dict[str, int] = {}
        self._reads: dict[Instr, int] = {}

    def lock(self, name: str) -> int:
        """The bit of a lock."""
        if name not in self._locks:
            self._locks[name] = 1 << (FIRST_NAMED + len(self._bits) + len(self._locks))
        return self._locks[name]

    def of(self, events: tuple[Event, ...], before: Shared, after: Shared) -> Footprint:
        """The footprint of a macro-step with these events; a read of a field is not among them."""
        reads = 0
        for event in events:
            reads |= self.reads(event.instr)
        return Footprint(reads, self._changed(before, after))

    def reads(self, instr: Instr) -> int:
        """The part that an instruction looks at."""
        found = self._reads.get(instr)
        if found is None:
            found = self._reads[instr] = self._looked_at(instr)
        return found

    def _looked_at(self, instr: Instr) -> int:
        if instr.op in TABLES:
            return self._bits.get(instr.name, 0)
        if instr.op in LOCKS:
            return self.lock(instr.name)
        if instr.op in QUEUES:
            return QUEUE
        return FRAMES if instr.op is Op.RECV else 0

    def _changed(self, before: Shared, after: Shared) -> int:
        if before is after:
            return 0
        writes = 0
        if before.status is not after.status or before.failed != after.failed:
            writes |= STATUS
        if before.sides != after.sides:
            for name in before.sides ^ after.sides:
                writes |= self._bits.get(name, 0)
        if before.locks != after.locks:
            for name, _, _ in set(before.locks) ^ set(after.locks):
                writes |= self.lock(name)
        if before.queue != after.queue:
            writes |= QUEUE
        if before.frames != after.frames:
            writes |= FRAMES
        if before.fields != after.fields:
            writes |= FIELDS
        return writes
