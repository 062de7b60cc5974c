"""The loops of the two schedulers in a storm; each runs in the process of its side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import HarnessError
from .layout import Content
from .vocabulary import BOOTSTRAPPING, FAILED, GIVEN_UP, SUCCESS, Abort

if TYPE_CHECKING:
    from .sides import DecodeSide, PrefillSide

AT_ONCE = 32
STORM_SECONDS = 600.0
PATIENCE_SECONDS = 10.0
TICK_SECONDS = 0.0005


@dataclass(frozen=True)
class Order:
    """One request of a storm."""

    room: int
    slot: int
    abort: Abort = Abort.NOBODY
    delay: float = 0.0

    @property
    def content(self) -> Content:
        """Its bytes."""
        return Content(self.room, generation=0)


@dataclass
class Passed:
    """What one side saw of a storm."""

    ends: dict[int, str] = field(default_factory=dict)  # room: the last status seen
    seconds: float = 0.0


class Schedule:
    """One side's scheduler: at most so many requests at once, each polled in turn."""

    def __init__(self, orders: Sequence[Order]) -> None:
        self.waiting = list(reversed(orders))
        self.started: dict[int, float] = {}
        self.running: dict[int, Order] = {}
        self.passed = Passed()
        self._begin = time.monotonic()
        self._last_change = self._begin

    def next(self) -> Order | None:
        """A request that may start now."""
        if not self.waiting or len(self.running) >= AT_ONCE:
            return None
        order = self.waiting.pop()
        self.running[order.room] = order
        self.started[order.room] = time.monotonic()
        self.moved()
        return order

    def due(self, order: Order) -> bool:
        """Whether the moment of its abort has come."""
        return time.monotonic() - self.started[order.room] >= order.delay

    def end(self, order: Order, status: str) -> None:
        """A request is through."""
        del self.running[order.room]
        self.passed.ends[order.room] = status
        self.passed.seconds = time.monotonic() - self._begin
        self.moved()

    def moved(self) -> None:
        """Something has changed."""
        self._last_change = time.monotonic()

    def over(self) -> bool:
        """Whether all are through, or nothing has changed for so long that the rest is looked at.

        What is left then is no verdict: whether it is pinned shows at rest.
        """
        if time.monotonic() - self._begin > STORM_SECONDS:
            raise HarnessError("a storm has no end")
        done = not self.waiting and not self.running
        return done or time.monotonic() - self._last_change > PATIENCE_SECONDS


def prefill_storm(side: PrefillSide, orders: Sequence[Order]) -> Passed:
    """Open, send both chunks one after the other, abort what is to be aborted, poll the rest."""
    schedule = Schedule(orders)
    aborted: set[int] = set()
    while not schedule.over():
        while (order := schedule.next()) is not None:
            side.open_filled(order.slot, order.room)
        for order in list(schedule.running.values()):
            status = side.poll(order.room)
            if status in (SUCCESS, FAILED):
                schedule.end(order, status)
            elif order.abort is Abort.SENDER and order.room not in aborted and schedule.due(order):
                aborted.add(order.room)
                side.abort(order.room)
            elif status != BOOTSTRAPPING and order.room not in aborted:
                _send_more(side, order, schedule)
        time.sleep(TICK_SECONDS)
    return schedule.passed


def _send_more(side: PrefillSide, order: Order, schedule: Schedule) -> None:
    """The next chunk, if there is one: prefill makes the two of them one after the other."""
    if side.sent[order.room] < side.layout.pages:
        side.send(order.room, side.layout.pages // 2)
        schedule.moved()


def decode_storm(side: DecodeSide, orders: Sequence[Order]) -> Passed:
    """Ask for each request, give up what is to be given up, poll the rest until it is there."""
    schedule = Schedule(orders)
    while not schedule.over():
        while (order := schedule.next()) is not None:
            side.expect(order.slot, order.room)
        for order in list(schedule.running.values()):
            status = side.poll(order.room)
            if status in (SUCCESS, FAILED):
                schedule.end(order, status)
            elif order.abort is not Abort.NOBODY and schedule.due(order):
                _give_up(side, order)
                schedule.end(order, GIVEN_UP)
        time.sleep(TICK_SECONDS)
    return schedule.passed


def _give_up(side: DecodeSide, order: Order) -> None:
    """What the decode side does; of an abort by the prefill side it hears from the client."""
    if order.abort is Abort.RECEIVER:
        side.abort(order.room)
    elif order.abort is Abort.FRAME:
        side.frame(order.room)
