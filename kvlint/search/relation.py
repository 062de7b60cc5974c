"""The transition relation: places of threads, and the transitions and transactions between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kvlint.programs.ir import Instr
from kvlint.programs.machine import Env
from kvlint.search.driver import Phase
from kvlint.search.footprint import NOTHING, Footprint, Footprints
from kvlint.search.macro_steps import MacroStep
from kvlint.search.shared_states import Numbering, SharedId, SharedStates
from kvlint.search.system import Operation

IDLE = -1
StepKey = tuple[
    int, SharedId, bool
]  # place of a thread, the shared state as it sees it, is the room open


class Place(NamedTuple):
    """Where one thread is.

    A driver or caller that runs no operation has pc IDLE, and so has a thread that is through.
    """

    pc: int
    env: Env = ()
    operation: Operation | None = None
    phase: Phase | None = None
    turns: int = 0
    last: bool | None = None
    wide: bool = True
    fed: bool = False
    waiting: bool = False


@dataclass(slots=True)
class Transition:
    """One macro-step of one thread, by number: the place and the shared state it leads to.

    `code` is both, packed as they stand in a state (`packing`). `wide` says that a switch at its
    end interrupts nobody, `notable` that the macro-step may hold a bad event. `way` is what the
    thread did before, in the same transaction.
    """

    place: int
    shared_id: SharedId
    code: int
    footprint: Footprint
    wide: bool
    notable: bool
    last: MacroStep
    way: Transition | None = None

    @property
    def death(self) -> Instr | None:
        """The instruction that raised out of the thread or the call."""
        return self.last.death

    @property
    def macro_step(self) -> MacroStep:
        """The whole macro-step, put together when it is asked for: most never are."""
        if self.way is None:
            return self.last
        before, last = self.way.macro_step, self.last
        return replace(
            last,
            wide=self.wide,
            events=(*before.events, *last.events),
            decisions=(*before.decisions, *last.decisions),
        )

    def after(self, way: Transition | None) -> Transition:
        """The transition when the thread has come along `way`."""
        if way is None:
            return self
        footprint = way.footprint.also(self.footprint)
        return Transition(
            self.place,
            self.shared_id,
            self.code,
            footprint,
            self.wide,
            self.notable,
            self.last,
            way,
        )


@dataclass(slots=True)
class Pause:
    """A point inside a transaction: the way to it, and the last access before it."""

    transition: Transition
    last: Footprint


@dataclass(slots=True)
class Group:
    """Pauses that look the same to the other threads; `last` are the last accesses of all."""

    code: int
    last: Footprint
    pauses: list[Pause]


@dataclass(slots=True)
class Transaction:
    """All ways on of one thread from one place in one shared state.

    `ends` lead to where a switch is free, `pauses` to where it would interrupt the thread;
    `notable` are the ways, whole or not, whose last access may be a bad event. `cut` says that
    there were too many ways to follow all.
    """

    ends: list[Transition] = field(default_factory=list)
    pauses: list[Group] = field(default_factory=list)
    notable: list[Transition] = field(default_factory=list)
    footprint: Footprint = NOTHING  # of everything that the thread may do on the way
    cut: bool = False

    @property
    def leads_on(self) -> bool:
        """Whether the thread can do anything at all."""
        return bool(self.ends or self.pauses)


@dataclass
class Memo:
    """What the runs of one system share: numbers, and each thread's ways once worked out.

    A thread is known by what decides on its macro-steps: a root by itself, the scheduler by what it
    may do in the run.
    """

    footprints: Footprints
    places: Numbering[Place] = field(default_factory=Numbering)
    shared_states: SharedStates = field(default_factory=SharedStates)
    transitions: dict[object, dict[StepKey, list[Transition]]] = field(default_factory=dict)
    transactions: dict[object, dict[StepKey, Transaction]] = field(default_factory=dict)
