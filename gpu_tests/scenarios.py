"""What is done to a request, as data, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from .errors import HarnessError
from .layout import Content
from .vocabulary import BOOTSTRAPPING, FAILED, READY, SUCCESS, Abort, Window
from .world import LOOK_SECONDS, World

HELD_SECONDS = 30.0
ARRIVAL_SECONDS = 10.0
POLLS = 5  # at rest: one more look could only show what the last one showed


class End(str, Enum):
    """What became of the request."""

    SUCCESS = "Success"
    FAILED = "Failed"
    LATE = "Success before the abort"
    LOST = "abort lost: Success"
    UNDONE = "undone: Success was seen, then Failed"
    PINNED = "pinned"
    REVIVED = "revived: Failed was seen, then Success"
    ZOMBIE = "zombie: a cleared room is back"
    GONE = "cleared"


@dataclass(frozen=True)
class Scenario:
    """One request, or two with one room id."""

    name: str
    abort: Abort = Abort.NOBODY
    window: Window = Window.NEVER
    follow: bool = False  # the scheduler sends the last chunk although the request was given up
    clear: bool = False  # the scheduler clears the room while the transfer is in flight
    gated: bool = True  # the transfer is held until the abort is through


UNKNOWN = "frame-unknown"
SCENARIOS: tuple[Scenario, ...] = (
    Scenario("plain"),
    *(
        Scenario(f"{abort.name.lower()}-{name}", abort, window, follow)
        for abort in (Abort.SENDER, Abort.RECEIVER, Abort.FRAME)
        for name, window, follow in (
            ("c0-then-c1", Window.FIRST, True),
            ("c0-no-c1", Window.FIRST, False),
            ("last", Window.LAST, False),
            ("done", Window.DONE, False),
        )
    ),
    Scenario("receiver-unregistered", Abort.RECEIVER, Window.UNREGISTERED),
    Scenario("frame-unregistered", Abort.FRAME, Window.UNREGISTERED),
    Scenario(UNKNOWN, Abort.FRAME, Window.UNKNOWN),
    Scenario("sender-clear-reuse", Abort.SENDER, Window.FIRST, clear=True),
    Scenario("frame-clear-reuse", Abort.FRAME, Window.FIRST, clear=True),
)


@dataclass
class Outcome:
    """What was observed once nothing moved any more."""

    scenario: str
    end: End
    sender: str  # what the prefill scheduler sees
    receiver: str  # what the decode scheduler sees
    seen: list[str] = field(default_factory=list)  # by the prefill scheduler, in order
    reason: str = ""  # what the client of a failed request is told
    told: str = ""  # the same on the decode side
    wrong: int | None = None  # pages with other bytes than sent; None if not transferred
    dead: list[str] = field(default_factory=list)  # threads that ended with this request
    later: str = ""  # what became of a later request at the same worker
    reused: str = ""  # what the first poll of the next request with the room id said, and its end

    @property
    def good(self) -> bool:
        """Whether the request ended as it must, and so did the later ones."""
        ended = self.end in (End.SUCCESS, End.FAILED, End.LATE, End.GONE)
        clean = not self.wrong and not self.dead and self.later == SUCCESS
        return ended and clean and self.reused in ("", f"{BOOTSTRAPPING}, then {SUCCESS}")


class Run:
    """One scenario in a world."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self.world = world
        self.scenario = scenario
        self.slot, self.content = world.request()
        self.room = self.content.room
        self.half = world.layout.pages // 2
        self.seen: list[str] = []
        self.late = scenario.window is Window.DONE  # the abort comes after Success
        self.dead_before = set(self._dead())

    def outcome(self) -> Outcome:
        """Do it, wait until nothing moves, and look."""
        if self.scenario.window in (Window.UNKNOWN, Window.UNREGISTERED):
            self._abort_early()
        else:
            self._transfer()
        self.world.quiet()
        return self._look()

    def _abort_early(self) -> None:
        if self.scenario.window is Window.UNREGISTERED:
            self.world.decode.expect(self.slot, self.room)
            self.world.heard()
        self._abort()
        self.world.prefill.open(self.slot, self.content)
        self._poll()

    def _transfer(self) -> None:
        world, scenario = self.world, self.scenario
        world.prefill.open(self.slot, self.content)
        world.decode.expect(self.slot, self.room)
        world.heard()
        if self._poll() != READY:
            return
        if scenario.window in (Window.NEVER, Window.DONE):
            self._send_all()
        else:
            self._abort_in_flight()

    def _send_all(self) -> None:
        self.world.prefill.send(self.room, self.half)
        self.world.prefill.send(self.room, self.half)
        if self.scenario.window is Window.DONE:
            self.world.quiet()
            self._poll()
            self._abort()
            self._poll()

    def _abort_in_flight(self) -> None:
        prefill, scenario = self.world.prefill, self.scenario
        if scenario.window is Window.LAST:
            prefill.send(self.room, self.half)
            self.world.quiet()
            held = 1
        else:
            held = 0
        if scenario.gated:
            prefill.hold(self.room, held)
        prefill.send(self.room, self.half)
        if scenario.gated and not prefill.wait_held(self.room, held, HELD_SECONDS):
            raise HarnessError(f"{scenario.name}: no transfer to hold, {self._poll()}")
        if not scenario.gated:
            self._wait_transferring()
            # Nothing keeps the last chunk in flight: it may be through before the abort is.
            self.late = scenario.window is Window.LAST
        self._abort()
        self._poll()
        if scenario.clear and self.seen[-1] == FAILED:
            prefill.reason(self.room)
            prefill.clear(self.room)
        if scenario.follow:
            prefill.send(self.room, self.half)
        prefill.release(self.room, held)

    def _wait_transferring(self) -> None:
        """Without a gate: until the scheduler sees that the worker has begun."""
        deadline = time.monotonic() + HELD_SECONDS
        while self.world.prefill.poll(self.room) == READY:
            if time.monotonic() > deadline:
                raise HarnessError(f"{self.scenario.name}: no worker has taken the chunk")

    def _abort(self) -> None:
        if self.scenario.abort is Abort.SENDER:
            self.world.prefill.abort(self.room)
        elif self.scenario.abort is Abort.RECEIVER:
            self.world.decode.abort(self.room)
        elif self.scenario.abort is Abort.FRAME:
            self.world.decode.frame(self.room)
        self.world.heard()

    def _poll(self) -> str:
        self.seen.append(self.world.prefill.poll(self.room))
        return self.seen[-1]

    # What is seen once nothing moves

    def _look(self) -> Outcome:
        world = self.world
        cleared = self.scenario.clear and self.seen[-1] == FAILED
        present = world.prefill.present(self.room)
        sender = (present or "cleared") if cleared else self._settled()
        known = self.scenario.window is not Window.UNKNOWN
        outcome = Outcome(
            scenario=self.scenario.name,
            end=End.GONE if cleared else End.PINNED,
            sender=sender,
            receiver=arrival(world, self.room, sender) if known else "none",
            seen=self.seen,
        )
        if cleared:
            outcome.end = End.GONE if present is None else End.ZOMBIE
            outcome.reused = self._reuse()
        elif sender in (FAILED, SUCCESS):
            outcome.end = self._end(sender)
        if outcome.receiver == SUCCESS:
            outcome.wrong = world.decode.wrong(self.slot, self.content)
        if outcome.receiver == FAILED:
            outcome.told = world.decode.reason(self.room)
        if sender == FAILED:
            outcome.reason = world.prefill.reason(self.room)
            world.prefill.clear(self.room)
        outcome.later = self._later()
        outcome.dead = sorted(set(self._dead()) - self.dead_before)
        return outcome

    def _settled(self) -> str:
        """What the scheduler sees from now on; it must not change while nothing moves."""
        looks = {self._poll() for _ in range(POLLS)}
        self.world.quiet()
        looks.add(self._poll())
        if len(looks) > 1:
            raise HarnessError(f"{self.scenario.name}: the status moves although nothing does")
        return looks.pop()

    def _end(self, sender: str) -> End:
        if sender == FAILED:
            return End.UNDONE if SUCCESS in self.seen else End.FAILED
        if self.scenario.abort is Abort.NOBODY:
            return End.SUCCESS
        if FAILED in self.seen:
            return End.REVIVED
        return End.LATE if self.late else End.LOST

    def _reuse(self) -> str:
        """The next request with this room id: what its first poll says, and how it ends."""
        self.world.decode.clear(self.room)
        slot, content = self.world.request(room=self.room)
        self.world.prefill.open(slot, content)
        first = self.world.prefill.poll(self.room)
        if first != BOOTSTRAPPING:
            return first
        return f"{first}, then {finish(self.world, slot, content)}"

    def _later(self) -> str:
        """A later request at the same worker, from start to end."""
        slot, content = self.world.request(after=self.room)
        return carry(self.world, slot, content)

    def _dead(self) -> Sequence[str]:
        return self.world.prefill.snapshot().dead + self.world.decode.snapshot().dead


def arrival(world: World, room: int, sender: str) -> str:
    """What the decode scheduler sees of a room.

    A transfer that is done on the prefill side has its note on the way to the other NIXL agent, in
    no queue that can be looked at: after Success it is waited for. Nothing else is.
    """
    deadline = time.monotonic() + (ARRIVAL_SECONDS if sender == SUCCESS else 0)
    while True:
        status = world.decode.poll(room)
        if status in (SUCCESS, FAILED) or time.monotonic() >= deadline:
            return status
        time.sleep(LOOK_SECONDS)


def carry(world: World, slot: int, content: Content) -> str:
    """Transfer a request without disturbance: `Success` only if every byte is right."""
    world.prefill.open(slot, content)
    return finish(world, slot, content)


def finish(world: World, slot: int, content: Content) -> str:
    """The same for a request that the prefill side has opened."""
    room = content.room
    world.decode.expect(slot, room)
    world.quiet()
    status = world.prefill.poll(room)
    if status != READY:
        return status
    world.prefill.send(room, world.layout.pages)
    world.quiet()
    sent = world.prefill.poll(room)
    ends = (sent, arrival(world, room, sent))
    if ends != (SUCCESS, SUCCESS):
        return " / ".join(ends)
    wrong = world.decode.wrong(slot, content)
    return f"{wrong} wrong pages" if wrong else SUCCESS
