"""An independent check of a witness: run it again, instruction by instruction.

The search folds many instructions into one macro-step and remembers macro-steps. The replayer
trusts neither: it keeps the full shared state and one place per thread, and asks the machine of
each program at every instruction whether the step that the witness shows is enabled there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.programs.ir import EITHER, Op
from kvlint.programs.machine import Env, Machine, Shared
from kvlint.search.macro_steps import Event, MacroStep
from kvlint.search.packing import State
from kvlint.search.product import Finish, Search
from kvlint.search.relation import IDLE, Place

Path = list[tuple[State, int, MacroStep]]
SHOWN = frozenset({Op.WINDOW, Op.SKIP, Op.HANDLER, Op.RAISE})
FIELDS = frozenset({Op.FIELD_LOAD, Op.FIELD_STORE})
PRIVATE = SHOWN | {
    Op.SET,
    Op.MAX,
    Op.MIN,
    Op.BRANCH,
    Op.JUMP,
    Op.CHOICE,
    Op.CHUNK_FIELD,
    Op.NULLABLE,
}
LOCAL = PRIVATE | FIELDS
ENDS = frozenset({Op.END, Op.DEAD})
BLOCKS = frozenset({Op.TAKE, Op.RECV})


class NotEnabled(AssertionError):
    """A step of the witness that the model does not allow."""


@dataclass(frozen=True)
class _At:
    """A point inside a macro-step: how many events and choices of it have been seen.

    `awaits` says that a wait still has to come before anything that is not private, `waited` that
    there was one since the last access that others can see.
    """

    pc: int
    env: Env
    shared: Shared
    events: int
    decisions: int
    awaits: bool
    waited: bool = False


def replay(search: Search, path: Path) -> Shared:
    """The shared state that the path leads to; `NotEnabled` if one step of it is impossible."""
    state, interruptions = search.graph.initial(), 0
    shared = Shared(frames=search.run.frames)
    for number, (after, thread, macro_step) in enumerate(path, 1):
        rows = search.graph.rows(state)
        ways = list(search.graph.ways(state, rows, interruptions < search.bound))
        if number == len(path):  # the part of a way up to the bad event
            ways += [(to, who, how, 0) for to, who, how in search.graph.notable(state, rows)]
        step = (after, thread, macro_step)
        costs = [cost for to, who, how, cost in ways if (to, who, how.macro_step) == step]
        if not costs:
            raise NotEnabled(f"step {number}: {search.name_of(thread)} cannot do this here")
        interruptions += min(costs)
        shared = _check_leap(search, state, after, thread, macro_step, shared, number)
        state = after
        if not _agree(search, state, shared):
            raise NotEnabled(f"step {number}: the state after it is another one")
    return shared


def _agree(search: Search, state: State, real: Shared) -> bool:
    """Whether the real state is that of the search, but for what nobody looks at any more."""
    shown, liveness = search.graph.shared(state), search.transitions.liveness
    fields = search.transitions.fields_at(search.graph.place(state, search.driver_index))
    return shown == liveness.kept(real, fields, frames=bool(shown.frames))


def _check_leap(
    search: Search,
    state: State,
    after: State,
    thread: int,
    macro_step: MacroStep,
    shared: Shared,
    number: int,
) -> Shared:
    """The real shared state after the macro-step."""
    place = search.graph.place(state, thread)
    if place.pc == IDLE and not macro_step.events and macro_step.pc == IDLE:
        return _check_scheduler(search, place, shared, macro_step, number)
    to = search.graph.place(after, thread)
    if to.pc not in (IDLE, macro_step.pc) or (
        to.pc == macro_step.pc and to.waiting != macro_step.waiting
    ):
        raise NotEnabled(f"step {number}: {search.name_of(thread)} is elsewhere after it")
    tables = search.transitions.liveness.tables
    for machine, pc, env, last in _starts(search, state, after, thread):
        start = _At(pc, env, shared, 0, 0, awaits=place.pc != IDLE and place.waiting)
        found = _reached(machine, start, last, macro_step, tables)
        if found is not None:
            return found
    raise NotEnabled(f"step {number}: no run of {search.name_of(thread)} gives these events")


def _starts(
    search: Search, state: State, after: State, thread: int
) -> list[tuple[Machine, int, Env, bool | None]]:
    """Where the macro-step may start: the thread's place, or the first line of an operation."""
    place = search.graph.place(state, thread)
    if thread < len(search.threads):
        program = search.threads[thread].program
        number = search.system.threads.index(search.threads[thread]) + 1
        return [(search.system.machine(program, number), place.pc, place.env, None)]
    number = len(search.system.threads) + 1 + thread - search.driver_index
    if place.operation is not None:
        machine = search.system.machine(place.operation.program, number)
        return [(machine, place.pc, place.env, place.last)]
    starts: list[tuple[Machine, int, Env, bool | None]] = []
    for operation in search.system.operations:
        machine = search.system.machine(operation.program, number)
        starts += [(machine, 0, machine.initial(), last) for last in (True, False, None)]
    return starts


def _check_scheduler(
    search: Search, place: Place, shared: Shared, macro_step: MacroStep, number: int
) -> Shared:
    """Between operations the scheduler may see that the room is over, or hand out a chunk."""
    phase = place.phase
    assert phase is not None
    after, fed = (
        macro_step.shared.queue,
        search.driver.direct and macro_step.shared.queue != shared.queue,
    )
    real = shared.having(queue=after) if fed else shared
    if phase.stage != "live":
        raise NotEnabled(f"step {number}: the scheduler has nothing to do here")
    if not fed and not search.driver.sees_end(shared):
        raise NotEnabled(f"step {number}: polling does not say that the room is over")
    if fed and (after[:-1] != shared.queue or phase.fed >= search.run.chunks):
        raise NotEnabled(f"step {number}: the scheduler cannot send this")
    if not _same(macro_step.shared, real, search.transitions.liveness.tables):
        raise NotEnabled(f"step {number}: the scheduler cannot change this")
    return real


def _reached(
    machine: Machine, start: _At, last: bool | None, macro_step: MacroStep, tables: frozenset[str]
) -> Shared | None:
    """Where a run that shows the macro-step's events and choices ends; None if there is none."""
    todo = [start]
    seen = set(todo)
    while todo:
        at = todo.pop()
        if _complete(machine, at, last, macro_step, tables):
            return at.shared
        for nxt in _continued(machine, at, last, macro_step, tables):
            if nxt not in seen:
                seen.add(nxt)
                todo.append(nxt)
    return None


def _complete(
    machine: Machine, at: _At, last: bool | None, macro_step: MacroStep, tables: frozenset[str]
) -> bool:
    return (
        (at.pc, at.env) == (macro_step.pc, macro_step.env)
        and _same(macro_step.shared, at.shared, tables)
        and at.events == len(macro_step.events)
        and at.decisions == len(macro_step.decisions)
        and not at.awaits
        and (not macro_step.wide or _is_free(machine, at, last, macro_step))
        and (not macro_step.waiting or _may_wait(machine, at))
    )


def _is_free(machine: Machine, at: _At, last: bool | None, macro_step: MacroStep) -> bool:
    """Whether a switch here costs nothing: the thread waits, waited, is through or held up."""
    if at.waited or macro_step.waiting or machine.code[at.pc].op in ENDS | BLOCKS:
        return True
    if not machine.steps(at.pc, at.env, at.shared, last):
        return True
    return _goes_round(machine, at, last)


def _goes_round(machine: Machine, at: _At, last: bool | None) -> bool:
    """Whether the thread, left alone, goes on for ever and never comes to a wait."""
    todo = [(at.pc, at.env, at.shared)]
    seen = set(todo)
    while todo:
        pc, env, shared = todo.pop()
        steps = machine.steps(pc, env, shared, last)
        if not steps or machine.code[pc].op in BLOCKS | {Op.WINDOW}:
            return False
        ahead = {(s.pc, s.env, s.shared) for s in steps} - seen
        seen |= ahead
        todo += ahead
    return True


def _may_wait(machine: Machine, at: _At) -> bool:
    """Whether the thread can come to a wait without doing anything that others see."""
    return Op.WINDOW in _on_its_own(machine, at)


def _on_its_own(machine: Machine, at: _At) -> set[Op]:
    """What the thread may do from here on, up to what is not private any more."""
    todo = [(at.pc, at.env)]
    seen = set(todo)
    while todo:
        pc, env = todo.pop()
        private = machine.code[pc].op in PRIVATE
        for step in machine.steps(pc, env, at.shared) if private else ():
            if (step.pc, step.env) not in seen:
                seen.add((step.pc, step.env))
                todo.append((step.pc, step.env))
    return {machine.code[pc].op for pc, _ in seen}


def _continued(
    machine: Machine, at: _At, last: bool | None, macro_step: MacroStep, tables: frozenset[str]
) -> Iterator[_At]:
    instr = machine.code[at.pc]
    if at.awaits and instr.op not in PRIVATE:
        return
    steps = machine.steps(at.pc, at.env, at.shared, last)
    for step in steps:
        events, decisions = at.events, at.decisions
        if instr.op not in LOCAL or instr.op in SHOWN:
            if events == len(macro_step.events):
                continue
            event = macro_step.events[events]
            if event.instr is not instr or event.taken != step.pc:
                continue
            if not _same(event.before, at.shared, tables):
                continue
            if not _same(event.after, step.shared, tables):
                continue
            events += 1
        if instr.op in (Op.BRANCH, Op.CHOICE) and len(steps) > 1:
            if decisions == len(macro_step.decisions) or macro_step.decisions[decisions] != (
                instr,
                step.pc,
            ):
                continue
            decisions += 1
        if instr.op is Op.FIELD_LOAD and at.shared.field(instr.name) is EITHER:
            choice = (instr.name, int(step.shared.field(instr.name) is True))
            if decisions == len(macro_step.decisions) or macro_step.decisions[decisions] != choice:
                continue
            decisions += 1
        awaits = at.awaits and instr.op is not Op.WINDOW
        waited = instr.op is Op.WINDOW or (at.waited and instr.op in LOCAL)
        yield _At(step.pc, step.env, step.shared, events, decisions, awaits, waited)


def _same(shown: Shared, real: Shared, tables: frozenset[str]) -> bool:
    """An event shows the parts that its thread can look at; where it shows one, it must be so.

    Of the side tables, those that somebody looks at in this run.
    """
    return (
        (shown.status, shown.locks) == (real.status, real.locks)
        and shown.sides & tables == real.sides & tables
        and shown.queue in ((), real.queue)
        and set(shown.fields) <= set(real.fields)
        and shown.frames in (frozenset(), real.frames)
    )


def check_end(search: Search, finish: Finish, path: Path, shared: Shared) -> None:
    """The bad end is there where the path ends."""
    domain = search.system.protocol.domain
    if finish.kind == "pinned":
        assert shared.status is not None
        assert not domain.is_terminal(shared.status)
        _check_pinned(search, path)
        return
    _, thread, macro_step = path[-1]
    if finish.kind in ("dead-thread", "dead-call"):
        assert macro_step.death is not None
        assert macro_step.death.op is Op.DEAD
        return
    event = finish.event
    assert event is not None
    assert event in macro_step.events
    before, after = event.before.status, event.after.status
    assert after is not None
    if finish.kind == "resurrected":
        assert domain.is_failure(before)
        assert not domain.is_failure(after)
        works = thread < len(search.threads) and search.threads[thread].kind == "consumer"
        assert not works or _failed_last(search, path, event) != thread
    else:
        assert finish.kind == "zombie"
        assert before is None


def _check_pinned(search: Search, path: Path) -> None:
    """Nobody must move: a chunk may be unsent only if the scheduler gave up or the room failed."""
    graph, state, at = search.graph, path[-1][0], search.driver_index
    phase = graph.place(state, at).phase
    assert phase is not None
    given_up = phase.aborted or _failed_last(search, path) is not None
    for to, who, _, _ in graph.ways(state, graph.rows(state), True):
        if to == state:
            continue
        after = graph.place(to, at).phase
        assert after is not None
        sends = who == at and after.fed > phase.fed
        assert given_up, f"{search.name_of(who)} can still move"
        assert sends, f"{search.name_of(who)} can do more than send"


def _failed_last(search: Search, path: Path, until: Event | None = None) -> int | None:
    """The thread that stored the last failure on the way, up to an event."""
    protocol = search.system.protocol
    found = None
    for _, thread, macro_step in path:
        for event in macro_step.events:
            if event is until:
                return found
            before, after = event.before.status, event.after.status
            stores = before is not after or event.instr.op is Op.STORE
            if stores and event.instr.name == protocol.status_table:
                found = thread if protocol.domain.is_failure(after) else found
    return found


def events_of(path: Path) -> tuple[Event, ...]:
    """All events of a path, in order."""
    return tuple(event for _, _, macro_step in path for event in macro_step.events)
