"""Many requests at once, some of them given up at random moments, without any gate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .layout import Content
from .scenarios import carry
from .schedules import STORM_SECONDS, Order, Passed
from .vocabulary import FAILED, NOT_STARTED, SUCCESS, Abort
from .world import WORKERS, World

DELAY_SECONDS = 0.05  # an abort comes at a random moment within this after the request's start
SLACK_SECONDS = 60.0


@dataclass
class Storm:
    """What became of a storm once nothing moved any more."""

    rooms: int
    aborts: int
    bytes: int
    ends: Counter[str] = field(default_factory=Counter)  # of the prefill side
    pinned: list[int] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)  # not aborted, not Success on both sides
    wrong: int = 0  # pages of finished rooms that hold other bytes than sent
    dead: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)  # one later room for each worker
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """No pinned room, no wrong byte, no dead thread, and every worker goes on."""
        clean = not (self.pinned or self.unfinished or self.wrong or self.dead)
        return clean and all(end == SUCCESS for end in self.later)

    @property
    def megabytes_a_second(self) -> float:
        """The bytes of all finished rooms by the time of the whole storm."""
        return self.bytes / 2**20 / self.seconds if self.seconds else 0.0


def make_orders(
    rooms: int, aborted: float, kinds: Sequence[Abort], seed: int, first: int
) -> list[Order]:
    """The requests of a storm, the same for the same seed."""
    dice = random.Random(seed)
    chosen = set(dice.sample(range(rooms), round(rooms * aborted))) if kinds else set()
    return [
        Order(
            first + number,
            number,
            dice.choice(kinds) if number in chosen else Abort.NOBODY,
            dice.uniform(0, DELAY_SECONDS),
        )
        for number in range(rooms)
    ]


def storm(world: World, orders: Sequence[Order]) -> Storm:
    """Run the requests, wait until nothing moves, and look at every room and every byte."""
    prefill, decode = world.remotes
    dead = set(world.prefill.snapshot().dead + world.decode.snapshot().dead)
    prefill.fill_all(orders)
    decode.begin("storm", orders)
    prefill.begin("storm", orders)
    sent: Passed = prefill.result(STORM_SECONDS + SLACK_SECONDS)
    got: Passed = decode.result(STORM_SECONDS + SLACK_SECONDS)
    world.quiet()
    return _look(world, orders, sent, got, dead)


def _look(
    world: World, orders: Sequence[Order], sent: Passed, got: Passed, dead: set[str]
) -> Storm:
    prefill, decode = world.prefill, world.decode
    ends = prefill.poll_all([order.room for order in orders])
    whole = [o for o in orders if ends[o.room] == SUCCESS and got.ends.get(o.room) == SUCCESS]
    found = Storm(
        rooms=len(orders),
        aborts=sum(order.abort != Abort.NOBODY for order in orders),
        bytes=len(whole) * world.layout.room_bytes,
        ends=Counter(ends.values()),
        pinned=[room for room, end in ends.items() if end not in (SUCCESS, FAILED, NOT_STARTED)],
        unfinished=[
            o.room
            for o in orders
            if o.abort == Abort.NOBODY
            and (ends[o.room], got.ends.get(o.room)) != (SUCCESS, SUCCESS)
        ],
        wrong=sum(decode.wrong(order.slot, order.content) for order in whole),
        seconds=max(sent.seconds, got.seconds),
    )
    after = max(order.room for order in orders)
    for worker in range(1, WORKERS + 1):
        # The storm is over, so its pages are free.
        found.later.append(carry(world, worker, Content(after + worker, generation=1)))
    found.dead = sorted(set(prefill.snapshot().dead + decode.snapshot().dead) - dead)
    return found
