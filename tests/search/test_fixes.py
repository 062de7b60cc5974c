"""The seed's backend with the fixes in and out: what real transfers showed, row by row."""

from __future__ import annotations

from functools import cache

import pytest

from kvlint.programs.ir import Op
from kvlint.search.evidence import Evidence, Moment, Witness

from ..programs.backends import protocols
from .seed_like import source
from .systems import searched, systems_of

STICKY = ("A", "AB")
LOCKED = ("AL", "ABL")


@cache
def evidence(fixes: str) -> Evidence:
    """What the search finds with these fixes applied."""
    (system,) = systems_of(protocols(source(fixes)))
    found, _ = searched(system)
    assert found.searched
    assert found.complete
    return found


def final(witness: Witness) -> str:
    """The status at the bad end."""
    moment = witness.bad or witness.moments[-1]
    status = moment.event.after.status
    return status.name if status is not None else "absent"


def reached(fixes: str, kind: str, wide: bool) -> set[str]:
    """The final statuses of all ends of one kind and window."""
    return {final(w) for w in evidence(fixes).of(kind) if w.wide == wide}


def test_the_seed_pins_and_revives() -> None:
    assert "Transferring" in reached("", "pinned", True)
    assert {"Transferring", "Success"} <= reached("", "resurrected", True)


@pytest.mark.parametrize("fixes", STICKY)
def test_sticky_states_leave_only_the_narrow_window(fixes: str) -> None:
    assert reached(fixes, "pinned", True) == set()
    assert reached(fixes, "resurrected", True) == set()
    assert {"Transferring", "Success"} <= reached(fixes, "resurrected", False)


@pytest.mark.parametrize("fixes", LOCKED)
def test_a_lock_closes_it(fixes: str) -> None:
    for wide in (True, False):
        assert reached(fixes, "pinned", wide) == set()
        assert reached(fixes, "resurrected", wide) == set()


@pytest.mark.parametrize("fixes", ["B", "BL"])
def test_a_conclusion_of_the_skip_clears_the_pin_alone(fixes: str) -> None:
    """With the last chunk sent the room ends; an abort in the last chunk's window is still lost."""
    sent = [w for w in evidence(fixes).of("pinned") if takes_last(w)]
    assert [w for w in sent if final(w) == "Transferring"] == []
    assert {"Transferring", "Success"} <= reached(fixes, "resurrected", True)


@pytest.mark.parametrize("fixes", ["", "B", "BL"])
def test_without_a_last_chunk_the_room_stays(fixes: str) -> None:
    """The scheduler stops sending after the abort: nothing ever ends the room."""
    pins = [w for w in evidence(fixes).of("pinned") if not takes_last(w)]
    assert "Transferring" in {final(w) for w in pins}


@pytest.mark.parametrize("fixes", ["", *STICKY, *LOCKED])
def test_sticky_states_do_not_keep_a_cleared_room_away(fixes: str) -> None:
    assert "Transferring" in reached(fixes, "zombie", True)


def takes_last(witness: Witness) -> bool:
    return any(m.event.before.queue[:1] == (True,) for m in witness.of(Op.TAKE))


def test_the_witness_of_the_seed() -> None:
    """Transferring; Failed; the pop; Transferring over Failed; the last chunk is skipped."""
    stories = [
        list(filter(None, map(story, w.moments)))
        for w in evidence("").of("pinned")
        if w.wide and final(w) == "Transferring"
    ]
    wanted = [
        "transfer_worker stores Transferring",
        "bootstrap stores Failed",
        "bootstrap pops transfer_infos",
        "transfer_worker stores Transferring over Failed",
        "transfer_worker skips",
    ]
    assert any(follows(wanted, told) for told in stories), stories


def story(moment: Moment) -> str:
    """A moment in words, or nothing if it is not a store, a pop or a skip."""
    event = moment.event
    before, after = event.before.status, event.after.status
    if event.instr.op is Op.SKIP and moment.kind == "consumer":
        return f"{moment.thread} skips"
    if event.instr.op is Op.POP and event.before.sides != event.after.sides:
        return f"{moment.thread} pops {event.instr.name}"
    if event.instr.op is Op.STORE and event.instr.name == "request_status" and after is not None:
        over = " over Failed" if before is not None and before.name == "Failed" else ""
        return f"{moment.thread} stores {after.name}{over}"
    return ""


def follows(wanted: list[str], told: list[str]) -> bool:
    """Whether the wanted moments occur in this order."""
    rest = iter(told)
    return all(any(step == other for other in rest) for step in wanted)
