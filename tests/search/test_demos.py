"""The schedules that the demos of the shared cases force are among those the search finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvlint.programs.ir import Op
from kvlint.search.evidence import Witness

from ..locations import missing, shared_folder
from .systems import searched, systems_in

CASES = shared_folder() / "cases"
# What the demo does, in its order: line of the bad twin and the operation there. A case that is
# not here has no interleaving of its own: its demo needs one thread only, or its kind has no rule.
DEMOS: dict[str, list[tuple[int, Op]]] = {
    "01_max_resurrect": [
        (83, Op.TAKE),
        (53, Op.STORE),
        (51, Op.STORE),
        (79, Op.POP),
        (53, Op.STORE),
        (83, Op.TAKE),
        (86, Op.SKIP),
    ],
    "02_abort_before_open": [(55, Op.STORE), (60, Op.LOAD), (63, Op.POP), (69, Op.STORE)],
    "03_slot_removed_then_skipped": [
        (59, Op.TAKE),
        (49, Op.STORE),
        (54, Op.POP),
        (59, Op.TAKE),
        (62, Op.SKIP),
    ],
    "06_late_task_revives_entry": [(44, Op.STORE), (60, Op.POP), (44, Op.STORE)],
    "07_poll_between_check_and_index": [(55, Op.TEST), (52, Op.POP), (57, Op.DEAD)],
    "08_guard_assert_kills_control_thread": [(42, Op.RECV), (43, Op.DEAD)],
    "23_sticky_guard_without_lock": [(37, Op.LOAD), (45, Op.STORE), (40, Op.STORE)],
    "34_override_drops_stickiness": [(88, Op.STORE)],
}


def told(witness: Witness) -> Iterator[tuple[int, Op]]:
    """Line and operation of every moment."""
    for moment in witness.moments:
        yield moment.event.instr.where.line, moment.event.instr.op
    if witness.death is not None:
        yield witness.death.where.line, Op.DEAD


def follows(wanted: list[tuple[int, Op]], witness: Witness) -> bool:
    """Whether the wanted moments occur in this order."""
    rest = iter(told(witness))
    return all(any(step == other for other in rest) for step in wanted)


@pytest.mark.skipif(missing(CASES) is not None, reason=str(missing(CASES)))
@pytest.mark.parametrize("case", DEMOS)
def test_the_schedule_of_the_demo_is_found(case: str) -> None:
    assert (CASES / f"{case}_demo.py").exists()
    witnesses = [
        witness
        for system in systems_in(CASES / f"{case}_bad.py")
        for witness in searched(system)[0].witnesses
    ]
    assert any(follows(DEMOS[case], w) for w in witnesses), [list(told(w)) for w in witnesses]
