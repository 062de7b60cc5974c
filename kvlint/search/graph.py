"""The states of a search and the ways between them."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.machine import Shared
from kvlint.search.arrows import Arrow, Pause, Place, Stretch
from kvlint.search.footprint import NOTHING, Footprint
from kvlint.search.packing import (
    HELD_BITS,
    State,
    held_of,
    holding,
    own_bits,
    packed,
    place_bits,
    place_of,
    world_of,
)
from kvlint.search.stretch import Stretches
from kvlint.search.transitions import Transitions
from kvlint.search.world import Numbering

Row = tuple[int, Stretch]  # a thread that may run, and its stretch
Way = tuple[State, int, Arrow, int]  # (state after, thread, arrow, stretches that it interrupts)


class Graph:
    """Ways from state to state, over the transitions of one run."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions
        self.stretches = Stretches(transitions)
        self.cut = False
        self.driver = transitions.driver_index
        callers = [transitions.caller_index] if transitions.run.callers else []
        self.running = [*transitions.active, self.driver, *callers]
        self._pauses: Numbering[tuple[int, Footprint]] = Numbering()
        size = transitions.caller_index + 1
        sights = transitions.sights
        # What a step of the thread leaves alone, and what decides on what the thread can do.
        self._kept = [~(own_bits(t, sights[t]) | HELD_BITS) for t in range(size)]
        self._looks = [own_bits(t, sights[t]) | self._asked(t) for t in range(size)]
        self._known: list[dict[int, Stretch]] = [{} for _ in range(size)]
        self._others: list[dict[int, Footprint]] = [{} for _ in range(size)]
        self._by_thread = [(t, self._looks[t], self._known[t]) for t in self.running]

    def _asked(self, thread: int) -> int:
        """The bits that say whether the room is open, for a thread that minds."""
        return place_bits(self.driver) if self.transitions.asks_whether_open(thread) else 0

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        return packed(*self.transitions.initial())

    def shared(self, state: State) -> Shared:
        """What all threads see, without the parts that nobody looks at any more."""
        return self.transitions.worlds.shared(world_of(state))

    def place(self, state: State, thread: int) -> Place:
        """Where a thread is."""
        return self.transitions.places.values[place_of(state, thread)]

    def rows(self, state: State) -> list[Row]:
        """Every thread that can do something: never the one that is held at a pause."""
        held = self._held(state)
        stopped = -1 if held is None else held[0]
        found = []
        for thread, looks, known in self._by_thread:
            if thread != stopped:
                stretch = known.get(state & looks) or self._stretch(thread, state)
                if stretch.leads_on:
                    found.append((thread, stretch))
        return found

    def ways(self, state: State, rows: list[Row], may_interrupt: bool) -> Iterator[Way]:
        """Every way on. While a thread is held, only what conflicts with its last access."""
        held = self._held(state)
        if held is not None:
            yield from self._ways_while_held(state, rows, may_interrupt, held[1])
            return
        for thread, stretch in rows:
            kept = state & self._kept[thread]
            for arrow in stretch.ends:
                yield kept | arrow.code, thread, arrow, 0
            if stretch.pauses:
                cost = 1 if self.place(state, thread).wide else 0
                if may_interrupt or not cost:
                    for pause, after in self._interruptions(kept, thread, stretch):
                        yield after, thread, pause.arrow, cost

    def _ways_while_held(
        self, state: State, rows: list[Row], may_interrupt: bool, last: Footprint
    ) -> Iterator[Way]:
        for thread, stretch in rows:
            if not last.conflicts(stretch.footprint):
                continue
            kept = state & self._kept[thread]
            for arrow in stretch.ends:
                if last.conflicts(arrow.footprint):
                    yield kept | arrow.code, thread, arrow, 0
            if stretch.pauses:
                cost = 1 if self.place(state, thread).wide else 0
                if may_interrupt or not cost:
                    for pause, after in self._interruptions(kept, thread, stretch):
                        if last.conflicts(pause.arrow.footprint):
                            yield after, thread, pause.arrow, cost

    def _interruptions(
        self, kept: State, thread: int, stretch: Stretch
    ) -> Iterator[tuple[Pause, State]]:
        """The pauses after which another thread has something to say, and the states there."""
        for group in stretch.pauses:
            theirs = self._of_the_others(kept | group.code, thread)
            if group.last.conflicts(theirs):
                for pause in group.pauses:
                    if pause.last.conflicts(theirs):
                        held = self._pause(thread, pause.last)
                        yield pause, holding(kept | pause.arrow.code, held)

    def _of_the_others(self, state: State, thread: int) -> Footprint:
        """All that the other threads may do in their next stretches."""
        known = self._others[thread]
        key = state if thread == self.driver else state & ~place_bits(thread)
        found = known.get(key)
        if found is None:
            found = NOTHING
            for other in self.running:
                if other != thread:
                    found = found.also(self._stretch(other, state).footprint)
            known[key] = found
        return found

    def notable(self, state: State, rows: list[Row]) -> Iterator[tuple[State, int, Arrow]]:
        """Every way on, or part of one, whose last access may be a bad event."""
        held = self._held(state)
        for thread, stretch in rows:
            for arrow in stretch.notable:
                if held is None or held[1].conflicts(arrow.footprint):
                    yield state & self._kept[thread] | arrow.code, thread, arrow

    def _pause(self, thread: int, last: Footprint) -> int:
        """The number of a pause, from 1."""
        return self._pauses.of((thread, last)) + 1

    def _held(self, state: State) -> tuple[int, Footprint] | None:
        """The thread that is held and its last access."""
        pause = held_of(state)
        return self._pauses.values[pause - 1] if pause else None

    def _stretch(self, thread: int, state: State) -> Stretch:
        known = self._known[thread]
        key = state & self._looks[thread]
        found = known.get(key)
        if found is None:
            opened = self.transitions.is_open(place_of(state, self.driver))
            seen = self.transitions.sights[thread].seen(world_of(state))
            found = self.stretches.of(thread, place_of(state, thread), seen, opened)
            known[key] = found
            self.cut = self.cut or found.cut
        return found
