"""A witness as the steps that a reader sees, short enough to paste into a review."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvlint.findings import Step
from kvlint.programs.ir import Op
from kvlint.search.activity import activities
from kvlint.search.evidence import Moment, Witness
from kvlint.search.wording import Wording
from kvlint.tables import state_name

ERRORS = {"assert": "AssertionError", "raise": "uncaught exception"}


def steps(witness: Witness) -> tuple[Step, ...]:
    """The steps of a witness, numbered from 1; what tells nothing is left out."""
    order = _order(witness.moments)
    wording = Wording(witness)
    shown = [i for i, (at, _) in enumerate(order) if wording.tells(at)]
    shown = [i for n, i in enumerate(shown) if _interrupts(witness, order, shown, n)]
    awake = {activity[0] for activity in activities(witness.moments)}
    found = []
    for n, i in enumerate(shown):
        at = order[i][0]
        moment = witness.moments[at]
        where = moment.event.instr.where
        found.append(
            Step(
                step=n + 1,
                thread=moment.thread,
                path=where.module.display,
                line=where.line,
                function=where.function,
                action=wording.action(at),
                status=_status(witness, order, i),
                window=_window(witness, order, shown, n),
                decisive=wording.decides(at),
                awakens=at in awake,
            )
        )
    return (*found, *_death(witness, found))


def _order(moments: list[Moment]) -> list[tuple[int, str | None]]:
    """(index, switch after it): a wait stands before what others do in the meantime.

    The search runs a wait when it is over; a reader wants to see it where it begins.
    """
    order: list[tuple[int, str | None]] = []
    for index, moment in enumerate(moments):
        back = _before_the_others(moments, order, moment) if _waits(moment) else None
        if back is None:
            order.append((index, moment.window))
        else:
            before, window = order[back]
            order[back : back + 1] = [(before, None), (index, window)]
    return order


def _waits(moment: Moment) -> bool:
    return moment.event.instr.op is Op.WINDOW


def _status(witness: Witness, order: list[tuple[int, str | None]], i: int) -> str:
    """The status after a step; a wait is shown where it begins, so it has that of before."""
    moment = witness.moments[order[i][0]]
    if _waits(moment) and i > 0:
        moment = witness.moments[order[i - 1][0]]
    return state_name(moment.event.after.status)


def _before_the_others(
    moments: list[Moment], order: list[tuple[int, str | None]], moment: Moment
) -> int | None:
    """Where the thread stood when others went on; None if nobody did, or it had not begun."""
    own = [i for i, (at, _) in enumerate(order) if moments[at].thread == moment.thread]
    if not own or own[-1] == len(order) - 1 or _waits(moments[order[own[-1]][0]]):
        return None
    return own[-1]


def _interrupts(
    witness: Witness, order: list[tuple[int, str | None]], shown: list[int], n: int
) -> bool:
    """Whether the step is more than a wait in which no other thread did anything."""
    moment = witness.moments[order[shown[n]][0]]
    if not _waits(moment):
        return True
    if n + 1 == len(shown):
        return False
    return witness.moments[order[shown[n + 1]][0]].thread != moment.thread


def _window(
    witness: Witness, order: list[tuple[int, str | None]], shown: list[int], n: int
) -> str | None:
    """The switch between this step and the next one shown, whatever is hidden in between."""
    if n + 1 == len(shown):
        return None
    at, ahead = shown[n], shown[n + 1]
    if witness.moments[order[at][0]].thread == witness.moments[order[ahead][0]].thread:
        return None
    return next((window for _, window in order[at:ahead] if window is not None), None)


def _death(witness: Witness, found: list[Step]) -> Iterator[Step]:
    """The exception that ends the thread or the call, raised by whoever moved last."""
    if witness.death is None or not witness.moments:
        return
    moment = witness.moments[-1]
    where = witness.death.where
    error = ERRORS.get(witness.death.note, witness.death.note)
    looked = moment.event.instr
    table = f" on {looked.name}" if looked.op in (Op.LOAD, Op.POP, Op.ITER) else ""
    ends = "the thread ends" if witness.kind == "dead-thread" else "the call fails"
    if found and found[-1].thread != moment.thread:
        found[-1] = replace(found[-1], window=_last_switch(witness))
    yield Step(
        step=len(found) + 1,
        thread=moment.thread,
        path=where.module.display,
        line=where.line,
        function=where.function,
        action=f"{error}{table}: {ends}",
        status=state_name(moment.event.after.status),
        decisive=True,
    )


def _last_switch(witness: Witness) -> str | None:
    return next((m.window for m in reversed(witness.moments) if m.window is not None), None)
