"""What a thread does between two awakenings, and which chunk it has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvlint.programs.ir import Op
from kvlint.programs.machine import Queued
from kvlint.search.evidence import Moment, Witness
from kvlint.search.macro_steps import Event

LOOKS = frozenset({Op.LOAD, Op.TEST})
OUTSIDE = frozenset({"scheduler", "caller"})


@dataclass(frozen=True)
class Drop:
    """An activity that comes to nothing: the moment to show, and the table that had no entry."""

    at: int
    table: str


def activities(moments: Sequence[Moment]) -> list[list[int]]:
    """The moments of each thread by index, cut where it awakens: takes, receives or is called."""
    found: list[list[int]] = []
    current: dict[str, list[int]] = {}
    for index, moment in enumerate(moments):
        running = current.get(moment.thread)
        if running is None or _awakens(moment, moments[running[-1]]):
            running = current[moment.thread] = []
            found.append(running)
        running.append(index)
    return found


def _awakens(moment: Moment, previous: Moment) -> bool:
    op = moment.event.instr.op
    if op in (Op.TAKE, Op.RECV):
        return True
    again = op is Op.PUT and previous.event.instr.op is Op.PUT
    return moment.kind in OUTSIDE and (again or _entry(moment) != _entry(previous))


def _entry(moment: Moment) -> str:
    """The outermost function that the moment is in."""
    instr = moment.event.instr
    return (instr.stack[0] if instr.stack else instr.where).function


def drops(witness: Witness) -> dict[int, Drop]:
    """The activities that leave the status alone because something was missing."""
    found: dict[int, Drop] = {}
    every = activities(witness.moments)
    for number, activity in enumerate(every):
        thread = witness.moments[activity[0]].thread
        later = any(witness.moments[a[0]].thread == thread for a in every[number + 1 :])
        drop = _drop(witness, activity, over=later or witness.kind == "pinned")
        if drop is not None:
            found[drop.at] = drop
    return found


def _drop(witness: Witness, activity: list[int], *, over: bool) -> Drop | None:
    """What `activity` dropped; one that is not `over` may still come to something."""
    works = witness.moments[activity[0]].kind == "consumer"
    drop: Drop | None = None
    for index in activity:
        event = witness.moments[index].event
        op = event.instr.op
        if op in (Op.TAKE, Op.RECV):
            continue
        if _has_effect(event, witness, works):
            drop = None
        elif missing(event, witness) and (works or _is_status(event, witness)):
            drop = Drop(index, event.instr.name)
        elif works and op in (Op.SKIP, Op.HANDLER):
            drop = Drop(index, drop.table if drop else "")
    if drop is None or over:
        return drop
    leaves = witness.moments[drop.at].event.instr.op in (Op.SKIP, Op.HANDLER)
    return drop if leaves and drop.at == activity[-1] else None


def _has_effect(event: Event, witness: Witness, works: bool) -> bool:
    """Whether the thread did something for the room; for one without chunks: to its status."""
    before, after = event.before, event.after
    if before.status != after.status:
        return True
    if event.instr.op is Op.STORE and _is_status(event, witness):
        return True
    return works and (before.sides, before.queue) != (after.sides, after.queue)


def _is_status(event: Event, witness: Witness) -> bool:
    return event.instr.name == witness.system.protocol.status_table


def missing(event: Event, witness: Witness) -> bool:
    """Whether the event looks for the room in a table that does not have it."""
    instr = event.instr
    if instr.op not in LOOKS or instr.note == "inner":
        return False
    if _is_status(event, witness):
        return event.before.status is None
    return instr.name in witness.system.tracked and instr.name not in event.before.sides


def chunks(moments: Sequence[Moment]) -> dict[int, str]:
    """The chunk that each moment's thread has at hand or puts, numbered as they were sent."""
    found: dict[int, str] = {}
    waiting: list[str] = []
    at_hand: dict[str, str] = {}
    sent = 0
    for index, moment in enumerate(moments):
        event = moment.event
        for last in event.before.queue[len(waiting) :]:  # sent without a step of its own
            waiting.append(_label(sent, last))
            sent += 1
        if event.instr.op is Op.TAKE:
            at_hand[moment.thread] = waiting.pop(_taken(event.before.queue, event.after.queue))
        elif event.instr.op is Op.PUT and len(event.after.queue) > len(event.before.queue):
            if moment.thread not in at_hand or moment.kind != "consumer":
                at_hand[moment.thread] = _label(sent, event.after.queue[-1])
                sent += 1
            waiting.append(at_hand[moment.thread])
        if moment.thread in at_hand:
            found[index] = at_hand[moment.thread]
    return found


def _taken(before: tuple[Queued, ...], after: tuple[Queued, ...]) -> int:
    """Where the chunk was that a thread took: the first one of its queue."""
    changed = next(i for i, item in enumerate(before) if after[i : i + 1] != (item,))
    return next(i for i, item in enumerate(before) if _queue(item) == _queue(before[changed]))


def _queue(item: Queued) -> str:
    return "" if isinstance(item, bool) else item[0]


def _label(number: int, item: Queued) -> str:
    last = item if isinstance(item, bool) else item[1]
    return f"chunk {number} (last)" if last else f"chunk {number}"
