"""The states of a search and the ways between them."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.machine import Shared
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
    shared_id_of,
)
from kvlint.search.relation import Pause, Place, Transaction, Transition
from kvlint.search.shared_states import Numbering
from kvlint.search.transactions import Transactions
from kvlint.search.transitions import Transitions

Row = tuple[int, Transaction]  # a thread that may run, and its transaction
Way = tuple[
    State, int, Transition, int
]  # (state after, thread, transition, transactions that it interrupts)


class Graph:
    """Ways from state to state, over the transitions of one run."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions
        self.transactions = Transactions(transitions)
        self.cut = False
        self.driver = transitions.driver_index
        callers = [transitions.caller_index] if transitions.run.callers else []
        self.running = [*transitions.active, self.driver, *callers]
        self._pauses: Numbering[tuple[int, Footprint]] = Numbering()
        size = transitions.caller_index + 1
        projections = transitions.projections
        # What a step of the thread leaves alone, and what decides on what the thread can do.
        self._kept = [~(own_bits(t, projections[t]) | HELD_BITS) for t in range(size)]
        self._read_sets = [own_bits(t, projections[t]) | self._asked(t) for t in range(size)]
        self._known: list[dict[int, Transaction]] = [{} for _ in range(size)]
        self._others: list[dict[int, Footprint]] = [{} for _ in range(size)]
        self._by_thread = [(t, self._read_sets[t], self._known[t]) for t in self.running]

    def _asked(self, thread: int) -> int:
        """The bits that say whether the room is open, for a thread that minds."""
        return place_bits(self.driver) if self.transitions.asks_whether_open(thread) else 0

    def initial(self) -> State:
        """Nothing has happened; all messages of the run are still to come."""
        return packed(*self.transitions.initial())

    def shared(self, state: State) -> Shared:
        """What all threads see, without the parts that nobody looks at any more."""
        return self.transitions.shared_states.shared(shared_id_of(state))

    def place(self, state: State, thread: int) -> Place:
        """Where a thread is."""
        return self.transitions.places.values[place_of(state, thread)]

    def rows(self, state: State) -> list[Row]:
        """Every thread that can do something: never the one that is held at a pause."""
        held = self._held(state)
        stopped = -1 if held is None else held[0]
        found = []
        for thread, read, known in self._by_thread:
            if thread != stopped:
                transaction = known.get(state & read) or self._transaction(thread, state)
                if transaction.leads_on:
                    found.append((thread, transaction))
        return found

    def ways(self, state: State, rows: list[Row], may_interrupt: bool) -> Iterator[Way]:
        """Every way on. While a thread is held, only what conflicts with its last access."""
        held = self._held(state)
        if held is not None:
            yield from self._ways_while_held(state, rows, may_interrupt, held[1])
            return
        for thread, transaction in rows:
            kept = state & self._kept[thread]
            for transition in transaction.ends:
                yield kept | transition.code, thread, transition, 0
            if transaction.pauses:
                cost = 1 if self.place(state, thread).wide else 0
                if may_interrupt or not cost:
                    for pause, after in self._interruptions(kept, thread, transaction):
                        yield after, thread, pause.transition, cost

    def _ways_while_held(
        self, state: State, rows: list[Row], may_interrupt: bool, last: Footprint
    ) -> Iterator[Way]:
        for thread, transaction in rows:
            if not last.conflicts(transaction.footprint):
                continue
            kept = state & self._kept[thread]
            for transition in transaction.ends:
                if last.conflicts(transition.footprint):
                    yield kept | transition.code, thread, transition, 0
            if transaction.pauses:
                cost = 1 if self.place(state, thread).wide else 0
                if may_interrupt or not cost:
                    for pause, after in self._interruptions(kept, thread, transaction):
                        if last.conflicts(pause.transition.footprint):
                            yield after, thread, pause.transition, cost

    def _interruptions(
        self, kept: State, thread: int, transaction: Transaction
    ) -> Iterator[tuple[Pause, State]]:
        """The pauses after which another thread has something to say, and the states there."""
        for group in transaction.pauses:
            theirs = self._of_the_others(kept | group.code, thread)
            if group.last.conflicts(theirs):
                for pause in group.pauses:
                    if pause.last.conflicts(theirs):
                        held = self._pause(thread, pause.last)
                        yield pause, holding(kept | pause.transition.code, held)

    def _of_the_others(self, state: State, thread: int) -> Footprint:
        """All that the other threads may do in their next transactions."""
        known = self._others[thread]
        key = state if thread == self.driver else state & ~place_bits(thread)
        found = known.get(key)
        if found is None:
            found = NOTHING
            for other in self.running:
                if other != thread:
                    found = found.also(self._transaction(other, state).footprint)
            known[key] = found
        return found

    def notable(self, state: State, rows: list[Row]) -> Iterator[tuple[State, int, Transition]]:
        """Every way on, or part of one, whose last access may be a bad event."""
        held = self._held(state)
        for thread, transaction in rows:
            for transition in transaction.notable:
                if held is None or held[1].conflicts(transition.footprint):
                    yield state & self._kept[thread] | transition.code, thread, transition

    def _pause(self, thread: int, last: Footprint) -> int:
        """The number of a pause, from 1."""
        return self._pauses.of((thread, last)) + 1

    def _held(self, state: State) -> tuple[int, Footprint] | None:
        """The thread that is held and its last access."""
        pause = held_of(state)
        return self._pauses.values[pause - 1] if pause else None

    def _transaction(self, thread: int, state: State) -> Transaction:
        known = self._known[thread]
        key = state & self._read_sets[thread]
        found = known.get(key)
        if found is None:
            opened = self.transitions.is_open(place_of(state, self.driver))
            seen = self.transitions.projections[thread].seen(shared_id_of(state))
            found = self.transactions.of(thread, place_of(state, thread), seen, opened)
            known[key] = found
            self.cut = self.cut or found.cut
        return found
