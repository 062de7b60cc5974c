"""The small backend of this project, which needs no release: found, rewritten, watched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from . import transport as transports
from .conftest import MIB, Runners
from .errors import HarnessError
from .runner import Runner, Weather
from .scenarios import SCENARIOS, UNKNOWN, End
from .transport import Transport
from .variants import Variant
from .vocabulary import SUCCESS

NAMES = ("plain", "frame-c0-then-c1", "frame-c0-no-c1", "frame-last", "frame-clear-reuse")
BEFORE = (End.SUCCESS, End.PINNED, End.PINNED, End.REVIVED, End.ZOMBIE)
AFTER = (End.SUCCESS, End.FAILED, End.FAILED, End.FAILED, End.GONE)
PLAIN = Variant(small=True)
FIXED = Variant(small=True, fixes="A,B,E")


@pytest.fixture(scope="module", params=["arrays", "tensors"])
def on(request: pytest.FixtureRequest, transport: Transport) -> Transport:
    """The transport of this run with both kinds of buffers, as far as there are both."""
    try:
        return transports.choose(transport.memory, request.param)
    except HarnessError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("variant", "ends"), [(PLAIN, BEFORE), (FIXED, AFTER)], ids=str)
def test_before_and_after(
    variant: Variant, ends: tuple[End, ...], on: Transport, runner: Runners
) -> None:
    scenarios = [next(s for s in SCENARIOS if s.name == name) for name in NAMES]
    outcomes = Runner(runner(variant).tree, on, MIB).outcomes(scenarios)
    assert tuple(outcome.end for outcome in outcomes) == ends
    assert all(outcome.later == SUCCESS and not outcome.dead for outcome in outcomes)
    assert outcomes[0].wrong == 0


def test_rewritten_it_stands_a_storm(on: Transport, runner: Runners) -> None:
    storm = Runner(runner(FIXED).tree, on, MIB).storm(Weather(rooms=100))
    assert storm.good, storm
    assert sum(storm.ends.values()) == 100


def test_buffers_are_registered_as_what_they_are(on: Transport, runner: Runners) -> None:
    with Runner(runner(PLAIN).tree, on, MIB).world(1) as world:
        buffers = world.layout.buffers + world.layout.aux_buffers
        for side in (world.prefill, world.decode):
            assert side.registered() == {"Tensor" if on.tensors else "tuple": buffers}


def test_rewritten_it_ends_well_without_a_gate(runner: Runners) -> None:
    scenarios = [replace(s, gated=False) for s in SCENARIOS if s.name != UNKNOWN]
    for outcome in runner(FIXED).outcomes(scenarios, repeat=3):
        assert outcome.good, outcome
