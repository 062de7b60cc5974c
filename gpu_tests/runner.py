"""Run scenarios and storms on one variant; start a new world where an old one is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
LATER_ROOMS = 16  # ids after those of a storm, of the rooms that show that every worker goes on
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
        with self.world(weather.rooms) as world:
            return _storm(world, weather)

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


def storms_in_turn(
    runners: Mapping[str, Runner], weather: Weather, rounds: int, reuse: bool
) -> dict[str, list[Storm]]:
    """The same storm on each, round by round, there and back: a busy machine slows all of them.

    With `reuse` all their worlds are open from the first round to the last, so that the storms of
    one round follow each other at once; else each storm has a world of its own.
    """
    found: dict[str, list[Storm]] = {name: [] for name in runners}
    with ExitStack() as stack:
        worlds = {
            name: stack.enter_context(runner.world(weather.rooms))
            for name, runner in runners.items()
            if reuse
        }
        for number in range(rounds):
            for name in list(runners)[:: -1 if number % 2 else 1]:
                found[name].append(
                    _storm(worlds[name], weather, number) if reuse else runners[name].storm(weather)
                )
    return found


def _storm(world: World, weather: Weather, number: int = 0) -> Storm:
    """A storm in a world; the rooms of an earlier one have other ids."""
    first = STORM_FIRST_ROOM + number * (weather.rooms + LATER_ROOMS)
    return storm(
        world, make_orders(weather.rooms, weather.aborted, weather.kinds, weather.seed, first)
    )
