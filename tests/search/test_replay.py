"""Every witness is a run of the model: replayed step by step, and refused once it is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path as File

import pytest

from kvlint.programs.ir import Op
from kvlint.programs.machine import Shared
from kvlint.search.footprint import NOTHING
from kvlint.search.graph import Row, Way
from kvlint.search.packing import State, code, place_bits
from kvlint.search.product import Search
from kvlint.search.relation import Transition

from ..locations import ROOT, missing, shared_folder
from .replay import NotEnabled, Path, check_end, events_of, replay
from .systems import searched, systems_in

CASES = shared_folder() / "cases"
FIXTURES = [f for f in sorted((ROOT / "fixtures").glob("*.py")) if not f.stem.startswith("kv901")]
BAD_CASES = sorted(CASES.glob("*_bad.py"))


def check_file(file: File) -> int:
    """Replay whatever the searches over one file found; how many witnesses were shown."""
    shown = 0
    for system in systems_in(file):
        evidence, made = searched(system)
        replayed = set()
        for one in made:
            for finish in one.outcome.ends:
                path = one.search.path(finish)
                check_end(one.search, finish, path, replay(one.search, path))
                replayed.add(events_of(path))
        for witness in evidence.witnesses:
            assert tuple(m.event for m in witness.moments) in replayed
            shown += 1
    return shown


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_witnesses_of_a_fixture(file: File) -> None:
    check_file(file)


@pytest.mark.skipif(missing(CASES) is not None, reason=str(missing(CASES)))
@pytest.mark.parametrize("file", BAD_CASES, ids=lambda file: file.stem)
def test_witnesses_of_a_case(file: File) -> None:
    check_file(file)


def test_there_is_something_to_replay() -> None:
    assert sum(check_file(file) for file in FIXTURES if "_bad_" in file.stem) >= 5


def longest() -> tuple[Search, Path]:
    """A pinned or revived room of a fixture with a long way to it."""
    (system,) = systems_in(ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py")
    _, made = searched(system)
    found = [(one.search, one.search.path(end)) for one in made for end in one.outcome.ends]
    return max(found, key=lambda f: len(f[1]))


def drop_middle(path: Path) -> Path:
    return path[: len(path) // 2] + path[len(path) // 2 + 1 :]


def swap_threads(path: Path) -> Path:
    at = next(i for i in range(len(path) - 1) if path[i][1] != path[i + 1][1])
    return [*path[:at], path[at + 1], path[at], *path[at + 2 :]]


def by_another_thread(path: Path) -> Path:
    at = next(i for i, step in enumerate(path) if step[2].events)
    state, thread, macro_step = path[at]
    return [*path[:at], (state, (thread + 1) % 2, macro_step), *path[at + 1 :]]


def other_result(path: Path) -> Path:
    state, thread, macro_step = path[-1]
    event = macro_step.events[-1]._replace(after=Shared(sides=frozenset({"elsewhere"})))
    return [
        *path[:-1],
        (state, thread, replace(macro_step, events=(*macro_step.events[:-1], event))),
    ]


def other_state(path: Path) -> Path:
    state, thread, macro_step = path[-1]
    return [*path[:-1], (state ^ 1, thread, macro_step)]


def no_events(path: Path) -> Path:
    at = next(i for i, step in enumerate(path) if step[2].events)
    state, thread, macro_step = path[at]
    return [*path[:at], (state, thread, replace(macro_step, events=())), *path[at + 1 :]]


@pytest.mark.parametrize(
    "change",
    [drop_middle, swap_threads, by_another_thread, other_result, other_state, no_events],
    ids=lambda change: change.__name__,
)
def test_a_changed_witness_is_refused(change: Callable[[Path], Path]) -> None:
    search, path = longest()
    replay(search, path)
    with pytest.raises(NotEnabled):
        replay(search, change(path))


def lie(monkeypatch: pytest.MonkeyPatch, search: Search, path: Path, at: int) -> None:
    """Let the search allow step `at` of the path wherever it is asked."""
    state, thread, macro_step = path[at]
    honest = search.graph.ways

    def ways(here: State, rows: list[Row], may_interrupt: bool) -> Iterator[Way]:
        yield from honest(here, rows, may_interrupt)
        yield (
            state,
            thread,
            Transition(-1, (-1, -1, -1, -1), 0, NOTHING, True, False, macro_step),
            0,
        )

    monkeypatch.setattr(search.graph, "ways", ways)


def test_the_machine_is_asked_and_not_only_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that allows a wrong macro-step is found out by the machine's own steps."""
    search, path = longest()
    changed = other_result(path)
    lie(monkeypatch, search, changed, -1)
    replay(search, path)
    with pytest.raises(NotEnabled, match="no run of"):
        replay(search, changed)


def out_of_a_wait() -> tuple[Search, Path, int]:
    """A path of a fixture, and where in it a thread that was paused in a wait goes on."""
    (system,) = systems_in(ROOT / "fixtures" / "kv103_bad_max_over_aborted_sender.py")
    _, made = searched(system)
    for one in made:
        for path in map(one.search.path, one.outcome.ends):
            state = one.search.graph.initial()
            for at, (after, thread, _) in enumerate(path):
                if one.search.graph.place(state, thread).waiting:
                    return one.search, path, at
                state = after
    raise AssertionError("no thread was paused in a wait")


def test_a_paused_thread_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its macro-step goes on through the wait; one without it is refused by the machine."""
    search, path, at = out_of_a_wait()
    state, thread, macro_step = path[at]
    events = tuple(e for e in macro_step.events if e.instr.op is not Op.WINDOW)
    assert macro_step.events[0].instr.op is Op.WINDOW
    changed: Path = [
        *path[:at],
        (state, thread, replace(macro_step, events=events)),
        *path[at + 1 :],
    ]
    lie(monkeypatch, search, changed, at)
    replay(search, path)
    with pytest.raises(NotEnabled, match="no run of"):
        replay(search, changed)


def test_a_pause_needs_a_wait_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may stop right after an access only if a wait follows."""
    search, path = longest()
    at = next(
        i
        for i, (_, thread, macro_step) in enumerate(path)
        if macro_step.events and not macro_step.waiting
    )
    state, thread, macro_step = path[at]
    place = search.graph.place(state, thread)._replace(waiting=True)
    number = search.transitions.places.of(place)
    after = state & ~place_bits(thread) | code(thread, number, (-1, -1, -1, -1))
    changed: Path = [
        *path[:at],
        (after, thread, replace(macro_step, waiting=True)),
        *path[at + 1 :],
    ]
    lie(monkeypatch, search, changed, at)
    with pytest.raises(NotEnabled, match="no run of"):
        replay(search, changed)
