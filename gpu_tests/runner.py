"""Run scenarios and storms on one variant; start a new world where an old one is broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from .layout import Layout
from .scenarios import Outcome, Run, Scenario
from .sides import Setup
from .storm import Storm, make_orders, storm
from .transport import Transport
from .variants import Tree
from .vocabulary import Abort
from .world import World, open_world

STORM_FIRST_ROOM = 1000
SLOTS = 64  # of scenarios: each uses two or three, one after the other
MIB = 2**20


@dataclass(frozen=True)
class Weather:
    """A storm to run."""

    rooms: int
    aborted: float = 0.3
    kinds: tuple[Abort, ...] = (Abort.SENDER, Abort.RECEIVER, Abort.FRAME)
    seed: int = 1


class Runner:
    """Runs things on one variant."""

    def __init__(self, tree: Tree, transport: Transport, mib: float) -> None:
        self.tree = tree
        self.transport = transport
        self.room_bytes = round(mib * MIB)

    def outcomes(self, scenarios: Sequence[Scenario], repeat: int = 1) -> list[Outcome]:
        """Each scenario so many times. A world with a dead thread is of no more use."""
        found: list[Outcome] = []
        with ExitStack() as stack:
            world: World | None = None
            for scenario in scenarios:
                for _ in range(repeat):
                    if world is None:
                        world = stack.enter_context(self.world(SLOTS))
                    found.append(Run(world, scenario).outcome())
                    if found[-1].dead:
                        stack.close()
                        world = None
        return found

    def storm(self, weather: Weather) -> Storm:
        """One storm in a world of its own."""
        orders = make_orders(
            weather.rooms, weather.aborted, weather.kinds, weather.seed, STORM_FIRST_ROOM
        )
        with self.world(weather.rooms) as world:
            return storm(world, orders)

    @contextmanager
    def world(self, slots: int) -> Iterator[World]:
        """Both sides, with pages for so many rooms."""
        setup = Setup(
            self.tree.release,
            self.tree.overlay,
            self.transport.memory,
            self.transport.tensors,
            Layout(self.room_bytes, slots),
        )
        with open_world(setup, self.transport) as world:
            yield world
