"""The states of a search and the ways between them.

A state is a short tuple of numbers: the parts of the world, the pause that a thread is held at (or
-1), and the place of each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter

from kvlint.programs.machine import Shared
from kvlint.search.arrows import Arrow, Place, Stretch
from kvlint.search.footprint import NOTHING, Footprint
from kvlint.search.stretch import Stretches
from kvlint.search.transitions import Transitions
from kvlint.search.world import Numbering, World

State = tuple[int, ...]
FIELDS_AT = 3
HELD = 4  # behind the four parts of the world
PLACES = 5  # where the places begin in a state
Row = tuple[int, Stretch]  # a thread that may run, and its stretch
Way = tuple[State, int, Arrow, int]  # (state after, thread, arrow, stretches that it interrupts)


class Graph:
    """Ways from state to state, over the transitions of one run."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions
        self.stretches = Stretches(transitions)
        self.cut = False
        self.size = len(transitions.threads) + (2 if transitions.run.callers else 1)
        self.driver_at = PLACES + transitions.driver_index
        self._pauses: Numbering[tuple[int, Footprint]] = Numbering()
        self._looks = [_look(transitions, thread) for thread in range(self.size)]
        self._known: list[dict[State, Stretch]] = [{} for _ in range(self.size)]
        self._others: list[dict[State, Footprint]] = [{} for _ in range(self.size)]

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        world, places = self.transitions.initial()
        return (*world, -1, *places)

    def shared(self, state: State) -> Shared:
        """What all threads see, without the parts that nobody looks at any more."""
        return self.transitions.worlds.shared(_world(state))

    def place(self, state: State, thread: int) -> Place:
        """Where a thread is."""
        return self.transitions.places.values[state[PLACES + thread]]

    def rows(self, state: State) -> list[Row]:
        """Every thread that may run: all but the one that is held at a pause."""
        held = self._held(state)
        running = -1 if held is None else held[0]
        return [(t, self._stretch(t, state)) for t in range(self.size) if t != running]

    def ways(self, state: State, rows: list[Row], may_interrupt: bool) -> Iterator[Way]:
        """Every way on. While a thread is held, only what conflicts with its last access."""
        held = self._held(state)
        last = None if held is None else held[1]
        for thread, stretch in rows:
            if last is not None and not last.conflicts(stretch.footprint):
                continue
            at = PLACES + thread
            for arrow in stretch.ends:
                if last is None or last.conflicts(arrow.footprint):
                    yield _after(state, at, arrow), thread, arrow, 0
            if stretch.pauses:
                cost = 1 if self.transitions.places.values[state[at]].wide else 0
                if may_interrupt or not cost:
                    yield from self._interruptions(state, thread, stretch, last, cost)

    def _interruptions(
        self, state: State, thread: int, stretch: Stretch, last: Footprint | None, cost: int
    ) -> Iterator[Way]:
        """The ways to a pause after which another thread has something to say."""
        at = PLACES + thread
        is_driver = at == self.driver_at
        others: dict[object, Footprint] = {}  # most pauses leave the world as it is
        for pause in stretch.pauses:
            arrow = pause.arrow
            if last is not None and not last.conflicts(arrow.footprint):
                continue
            world = (arrow.world, arrow.place) if is_driver else arrow.world
            theirs = others.get(world)
            if theirs is None:
                theirs = others[world] = self._of_the_others(_after(state, at, arrow), thread)
            if pause.last.conflicts(theirs):
                held = self._pauses.of((thread, pause.last))
                yield _after(state, at, arrow, held), thread, arrow, cost

    def _of_the_others(self, state: State, thread: int) -> Footprint:
        """All that the other threads may do in their next stretches."""
        at = PLACES + thread
        known = self._others[thread]
        key = state if at == self.driver_at else (*state[:at], *state[at + 1 :])
        found = known.get(key)
        if found is None:
            found = NOTHING
            for other in range(self.size):
                if other != thread:
                    found |= self._stretch(other, state).footprint
            known[key] = found
        return found

    def notable(self, state: State, rows: list[Row]) -> Iterator[tuple[State, int, Arrow]]:
        """Every way on, or part of one, whose last access may be a bad event."""
        held = self._held(state)
        for thread, stretch in rows:
            for arrow in stretch.notable:
                if held is None or held[1].conflicts(arrow.footprint):
                    yield _after(state, PLACES + thread, arrow), thread, arrow

    def _held(self, state: State) -> tuple[int, Footprint] | None:
        """The thread that is held and its last access."""
        return self._pauses.values[state[HELD]] if state[HELD] >= 0 else None

    def _stretch(self, thread: int, state: State) -> Stretch:
        key = self._looks[thread](state)
        found = self._known[thread].get(key)
        if found is None:
            opened = self.transitions.is_open(state[self.driver_at])
            seen = self.transitions.sights[thread].seen(_world(state))
            found = self.stretches.of(thread, state[PLACES + thread], seen, opened)
            self._known[thread][key] = found
            self.cut = self.cut or found.cut
        return found


def _look(transitions: Transitions, thread: int) -> Callable[[State], State]:
    """What of a state decides on what a thread can do."""
    sight = transitions.sights[thread]
    parts = [PLACES + thread, 0]
    parts += [i for i, seen in enumerate((sight.queue, sight.frames, sight.fields), 1) if seen]
    if transitions.asks_whether_open(thread):
        parts.append(PLACES + transitions.driver_index)
    return itemgetter(*parts)


def _world(state: State) -> World:
    return (state[0], state[1], state[2], state[3])


def _after(state: State, at: int, arrow: Arrow, held: int = -1) -> State:
    """The state when the thread with its place at `at` has gone along the arrow."""
    core, queue, frames, fields = arrow.world
    return (
        core,
        queue if queue >= 0 else state[1],
        frames if frames >= 0 else state[2],
        fields if fields >= 0 else state[3],
        held,
        *state[PLACES:at],
        arrow.place,
        *state[at + 1 :],
    )
