"""The scheduler and the outside callers: which operations they may run on the room, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.programs.ir import Op, Program
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.protocol.domain import Member
from kvlint.search.macro_steps import MacroStep, Stepper
from kvlint.search.system import Operation, System
from kvlint.tables import outcomes


@dataclass(frozen=True)
class Phase:
    """How far the scheduler is with the room.

    `stage` is new, live, over (a terminal status was polled) or gone (cleared); `fed` counts the
    chunks it sent; `aborted` says that it gave the room up itself.
    """

    stage: str = "new"
    fed: int = 0
    aborted: bool = False


@dataclass(frozen=True)
class Move:
    """An operation the scheduler may start, whether its chunk is the last, and the phase after."""

    operation: Operation
    last: bool | None
    after: Phase


class SchedulerModel:
    """What the scheduler of a system does in every run: worked out once."""

    def __init__(self, system: System) -> None:
        self.feeds = system.of_kind("feed")
        self.direct = not self.feeds and not _opens_feed(system) and _consumes(system)
        self.handshaken = _handshaken(system)
        self.openings = _openings(system)
        closes = sorted(system.of_kind("close"), key=lambda o: len(o.program.code))
        self.closes = closes[:1]
        polls = system.of_kind("poll")[:1]
        self.after_the_end = [*self.closes, *polls]
        self.polls = [system.machine(o.program, 1) for o in polls]
        self.views: dict[Shared, frozenset[object]] = {}


class Driver:
    """The scheduler's choices in one run of the search."""

    def __init__(self, system: System, chunks: int, aborts: tuple[Operation, ...]) -> None:
        self.system = system
        self.chunks = chunks
        self.aborts = aborts
        if system.scheduler_model is None:
            system.scheduler_model = SchedulerModel(system)
        scheduler_model = system.scheduler_model
        self.feeds, self.direct = scheduler_model.feeds, scheduler_model.direct
        self.handshaken, self.openings = scheduler_model.handshaken, scheduler_model.openings
        self.closes, self.after_the_end = scheduler_model.closes, scheduler_model.after_the_end
        self.polls, self._views = scheduler_model.polls, scheduler_model.views

    def moves(self, phase: Phase, shared: Shared) -> Iterator[Move]:
        """Operations that may start now."""
        if phase.stage == "new":
            for operation in self.system.of_kind("open"):
                yield Move(operation, True, Phase("live"))
        elif phase.stage == "live":
            if phase.fed < self.chunks and self.ready(shared):
                last = phase.fed == self.chunks - 1
                for operation in self.feeds:
                    after = Phase("live", phase.fed + 1, phase.aborted)
                    yield Move(operation, last, after)
            for operation in self.system.of_kind("step"):
                yield Move(operation, None, phase)
            if not phase.aborted:
                for operation in self.aborts:
                    yield Move(operation, None, Phase("live", phase.fed, True))
        elif phase.stage == "over":
            for operation in self.closes:
                yield Move(operation, None, Phase("gone", phase.fed, phase.aborted))

    def meant(
        self,
        operation: Operation,
        last: bool | None,
        macro_step: MacroStep,
        shared: Shared,
        over: bool,
        fed: bool,
    ) -> bool:
        """Whether this way through an operation belongs to an ordinary request.

        A constructor may refuse the room or serve a rank that takes no part, and a feeder finds
        out for itself which chunk is the last: only the ways that agree with the plan are kept.
        """
        after = macro_step.shared
        if operation.kind == "open" and after.status is not None:
            return after.status in self.openings or after.status == shared.status
        if operation.kind == "feed":
            if len(after.queue) > len(shared.queue):
                return after.queue[-1] == last
            if over and not fed:
                ended = self.system.protocol.domain.is_terminal(after.status)
                return ended and after.status == shared.status
        return True

    def ready(self, shared: Shared) -> bool:
        """Whether the scheduler would send: the room is open and the peer's metadata is there.

        An end does not stop it: it sends on until a poll has told it.
        """
        domain = self.system.protocol.domain
        if shared.status is None or domain.is_terminal(shared.status):
            return shared.status is not None
        return shared.status not in self.handshaken

    def view(self, shared: Shared) -> frozenset[object]:
        """What polling the room may say now; the status itself if nothing polls."""
        seen = Shared(shared.status, shared.sides, shared.fields)
        if seen not in self._views:
            found: set[object] = set()
            for machine in self.polls:
                found |= results(machine, seen)
            self._views[seen] = frozenset(found or {shared.status})
        return self._views[seen]

    def ends_now(self, shared: Shared) -> bool:
        """Whether polling says that the room is over, without a deadline having to pass."""
        domain = self.system.protocol.domain
        if domain.is_terminal(shared.status):
            return self.sees_end(shared)
        return self.sees_end(shared) and not self._deadline(shared)

    def _deadline(self, shared: Shared) -> bool:
        """Whether polling itself may end a room that is still live."""
        domain = self.system.protocol.domain
        return any(not domain.is_terminal(v) for v in self.view(shared))

    def sees_end(self, shared: Shared) -> bool:
        """Whether polling may tell the scheduler that the room is over."""
        domain = self.system.protocol.domain
        return any(domain.is_terminal(v) or not isinstance(v, Member) for v in self.view(shared))


def _openings(system: System) -> frozenset[Member | None]:
    """What opening a fresh room gives: the earliest status, and what ran into others before."""
    domain = system.protocol.domain
    found: set[Member | None] = set()
    for operation in system.of_kind("open"):
        machine = system.machine(operation.program, 1)
        fresh = [
            s
            for present in (frozenset[str](), system.tracked - {system.protocol.status_table})
            for s in outcomes(machine, Shared(sides=present))
            if s is not None and not domain.is_terminal(s)
        ]
        if operation.name == "__init__":
            fresh = sorted(fresh, key=lambda m: m.index)[:1]
        found |= set(fresh)
    return frozenset(found)


def results(machine: Machine, start: Shared) -> set[object]:
    """The values that an operation may return from this state, run without interruption."""
    return {value for value, _ in _returns(machine, start)}


def endings(machine: Machine, start: Shared) -> list[Shared]:
    """The shared states that an operation may leave, run without interruption."""
    return sorted({shared for _, shared in _returns(machine, start)}, key=repr)


def _returns(machine: Machine, start: Shared) -> set[tuple[object, Shared]]:
    seen: set[tuple[int, Env, Shared]] = set()
    todo = [(0, machine.initial(), start)]
    found: set[tuple[object, Shared]] = set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        pc, env, shared = state
        instr = machine.code[pc]
        if instr.op is Op.END:
            found.add((machine.get(instr.args[0], env), shared))
        elif instr.op is not Op.DEAD:
            todo.extend((s.pc, s.env, s.shared) for s in machine.steps(pc, env, shared))
    return found


def _consumes(system: System) -> bool:
    return any(t.kind == "consumer" for t in system.threads)


def _opens_feed(system: System) -> bool:
    return any(_puts(o.program) for o in system.of_kind("open"))


def _puts(program: Program) -> bool:
    return any(i.op is Op.PUT for i in program.code)


def _handshaken(system: System) -> frozenset[Member]:
    """Opening statuses that a message from the peer moves on: nothing is sent in them."""
    domain = system.protocol.domain
    found: set[Member] = set()
    for operation in system.of_kind("open"):
        for status in outcomes(system.machine(operation.program, 1), Shared()):
            if (
                status is not None
                and not domain.is_terminal(status)
                and any(_moves_on(system, t.program, status) for t in system.threads)
            ):
                found.add(status)
    return frozenset(found) if _consumes(system) else frozenset()


def _moves_on(system: System, program: Program, status: Member) -> bool:
    """Whether a message turns `status` into another status that is not terminal."""
    stepper = Stepper(system.machine(program, 1), narrow=False)
    machine = stepper.machine
    sides = system.tracked - {system.protocol.status_table}
    for pc, instr in enumerate(machine.code):
        if instr.op is Op.RECV:
            start = Shared(status, frozenset(sides), frames=frozenset(system.frames))
            for macro_step in stepper.macro_steps(pc, machine.initial(), start):
                after = macro_step.shared.status
                if after not in (None, status) and not system.protocol.domain.is_terminal(after):
                    return True
    return False
