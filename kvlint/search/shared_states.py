"""The shared state in numbered parts: a thread's macro-steps depend only on the parts it reads.

A worker never looks at the messages to come or at the fields of the sender; kept apart, they do not
multiply the macro-steps that have to be worked out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kvlint.programs.machine import Queued, Shared
from kvlint.protocol.domain import Member

SharedId = tuple[int, int, int, int]  # numbers of: core, queue, messages to come, fields
Core = tuple[Member | None, frozenset[str], tuple[tuple[str, int, int], ...], int]
ELSEWHERE = -1  # a part that the thread never looks at

T = TypeVar("T", bound=Hashable)


@dataclass
class Numbering(Generic[T]):
    """Numbers values as they are met."""

    values: list[T] = field(default_factory=list)
    numbers: dict[T, int] = field(default_factory=dict)

    def of(self, value: T) -> int:
        """The number of a value."""
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
        return found


@dataclass(frozen=True)
class Projection:
    """The parts beside the core that a thread looks at."""

    queue: bool
    frames: bool
    fields: bool

    def seen(self, shared_id: SharedId) -> SharedId:
        """The shared state as the thread sees it."""
        core, queue, frames, fields = shared_id
        return (
            core,
            queue if self.queue else ELSEWHERE,
            frames if self.frames else ELSEWHERE,
            fields if self.fields else ELSEWHERE,
        )


class SharedStates:
    """Turns shared states into numbers and back."""

    def __init__(self) -> None:
        self.cores: Numbering[Core] = Numbering()
        self.queues: Numbering[tuple[Queued, ...]] = Numbering()
        self.frames: Numbering[frozenset[object]] = Numbering()
        self.fields: Numbering[tuple[tuple[str, object], ...]] = Numbering()

    def number(self, shared: Shared, projection: Projection) -> SharedId:
        """The numbers of the parts that are seen."""
        return (
            self.cores.of((shared.status, shared.sides, shared.locks, shared.failed)),
            self.queues.of(shared.queue) if projection.queue else ELSEWHERE,
            self.frames.of(shared.frames) if projection.frames else ELSEWHERE,
            self.fields.of(shared.fields) if projection.fields else ELSEWHERE,
        )

    def shared(self, shared_id: SharedId) -> Shared:
        """The shared state; parts that are not seen are empty."""
        core, queue, frames, fields = shared_id
        status, sides, locks, failed = self.cores.values[core]
        return Shared(
            status,
            sides,
            self.fields.values[fields] if fields >= 0 else (),
            locks,
            self.queues.values[queue] if queue >= 0 else (),
            self.frames.values[frames] if frames >= 0 else frozenset(),
            failed,
        )
