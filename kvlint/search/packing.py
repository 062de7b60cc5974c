"""States of a search as integers.

From the lowest bits up: the four parts of the world, the pause that a thread is held at (0: none),
the place of each thread. A thread's step is then two operations, whatever the number of threads:
clear what the thread can change, add what it leaves.
"""

from __future__ import annotations

from functools import cache

from kvlint.search.world import ELSEWHERE, Sight, World

State = int
WIDTH = 24  # bits of one number
MASK = (1 << WIDTH) - 1
PARTS = 4  # of the world
HELD = PARTS  # the field of the pause
PLACES = PARTS + 1  # the field of the first thread's place


HELD_BITS = MASK << WIDTH * HELD
FIELDS_BITS = MASK << WIDTH * (PARTS - 1)


def packed(world: World, places: tuple[int, ...]) -> State:
    """The state with nobody held."""
    state = 0
    for index, number in enumerate((*world, 0, *places)):
        state |= _fitting(number) << (WIDTH * index)
    return state


def code(thread: int, place: int, world: World) -> int:
    """What a thread leaves behind: its place, and the parts of the world that it sees."""
    return _fitting(place) << (WIDTH * (PLACES + thread)) | _world_bits(world)


@cache
def _world_bits(world: World) -> int:
    found = 0
    for index, number in enumerate(world):
        if number != ELSEWHERE:
            found |= _fitting(number) << (WIDTH * index)
    return found


def own_bits(thread: int, sight: Sight) -> int:
    """The bits of a thread's place and of what it sees."""
    found = MASK << (WIDTH * (PLACES + thread)) | MASK
    for index, seen in enumerate((sight.queue, sight.frames, sight.fields), 1):
        if seen:
            found |= MASK << (WIDTH * index)
    return found


def place_bits(thread: int) -> int:
    """The bits of a thread's place."""
    return MASK << (WIDTH * (PLACES + thread))


def place_of(state: State, thread: int) -> int:
    """The number of a thread's place."""
    return state >> (WIDTH * (PLACES + thread)) & MASK


def world_of(state: State) -> World:
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
