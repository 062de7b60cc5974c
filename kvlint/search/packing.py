"""States of a search as integers.

From the lowest bits up: the four parts of the shared state, the pause that a thread is held at (0:
none), the place of each thread. A thread's step is then two operations, whatever the number of
threads: clear what the thread can change, add what it leaves.
"""

from __future__ import annotations

from functools import cache

from kvlint.search.shared_states import ELSEWHERE, Projection, SharedId

State = int
WIDTH = 24  # bits of one number
MASK = (1 << WIDTH) - 1
PARTS = 4  # of the shared state
HELD = PARTS  # the field of the pause
PLACES = PARTS + 1  # the field of the first thread's place


HELD_BITS = MASK << WIDTH * HELD
FIELDS_BITS = MASK << WIDTH * (PARTS - 1)


def packed(shared_id: SharedId, places: tuple[int, ...]) -> State:
    """The state with nobody held."""
    state = 0
    for index, number in enumerate((*shared_id, 0, *places)):
        state |= _fitting(number) << (WIDTH * index)
    return state


def code(thread: int, place: int, shared_id: SharedId) -> int:
    """What a thread leaves behind: its place, and the parts of the shared state that it sees."""
    return _fitting(place) << (WIDTH * (PLACES + thread)) | _shared_bits(shared_id)


@cache
def _shared_bits(shared_id: SharedId) -> int:
    found = 0
    for index, number in enumerate(shared_id):
        if number != ELSEWHERE:
            found |= _fitting(number) << (WIDTH * index)
    return found


def own_bits(thread: int, projection: Projection) -> int:
    """The bits of a thread's place and of what it sees."""
    found = MASK << (WIDTH * (PLACES + thread)) | MASK
    for index, seen in enumerate((projection.queue, projection.frames, projection.fields), 1):
        if seen:
            found |= MASK << (WIDTH * index)
    return found


def place_bits(thread: int) -> int:
    """The bits of a thread's place."""
    return MASK << (WIDTH * (PLACES + thread))


def place_of(state: State, thread: int) -> int:
    """The number of a thread's place."""
    return state >> (WIDTH * (PLACES + thread)) & MASK


def shared_id_of(state: State) -> SharedId:
    """The numbers of the four parts."""
    core, queue, frames, fields = (state >> (WIDTH * i) & MASK for i in range(PARTS))
    return core, queue, frames, fields


def held_of(state: State) -> int:
    """The number of the pause that a thread is held at; 0 if nobody is held."""
    return state >> WIDTH * HELD & MASK


def holding(state: State, pause: int) -> State:
    """The state with a thread held; nobody was before."""
    return state | _fitting(pause) << WIDTH * HELD


def _fitting(number: int) -> int:
    if number > MASK:
        raise OverflowError(f"more than {MASK} values of one part of a state")
    return number
