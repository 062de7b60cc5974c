"""Bytes arrive, a wrong one is noticed, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from . import transport as transports
from .conftest import MIB, Runners
from .errors import HarnessError
from .layout import Content, Layout, Memory
from .runner import Runner
from .scenarios import SCENARIOS, End
from .sides import Setup
from .transport import Transport
from .variants import Variant
from .vocabulary import SUCCESS
from .world import open_world

PLAIN = [s for s in SCENARIOS if s.name == "plain"]
RELEASES = ("0.5.12.post1", "0.5.15.post1", "0.5.23")


@pytest.mark.releases
@pytest.mark.parametrize("release", RELEASES)
def test_every_byte_of_a_release_arrives(release: str, runner: Runners) -> None:
    (outcome,) = runner(Variant(release)).outcomes(PLAIN)
    assert (outcome.end, outcome.sender, outcome.receiver) == (End.SUCCESS, SUCCESS, SUCCESS)
    assert (outcome.wrong, outcome.later, outcome.dead) == (0, SUCCESS, [])


@pytest.fixture
def pages() -> None:
    """What pages are filled with needs numpy, and nothing else."""
    pytest.importorskip("numpy", reason="numpy is not installed (pip install '.[transfer]')")


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("tensors", [False, True], ids=["arrays", "tensors"])
def test_each_page_and_each_auxiliary_buffer_is_looked_at(tensors: bool) -> None:
    if tensors and (reason := transports.no_torch()):
        pytest.skip(reason)
    layout = Layout(room_bytes=2**16, slots=2)
    content = Content(room=7, generation=1)
    memory = Memory(layout, "DRAM", tensors)
    everything = layout.buffers * layout.pages + layout.aux_buffers
    assert memory.wrong(1, content) == everything
    for buffer, rows in enumerate(memory.kv):
        for number, page in enumerate(layout.target(1)):
            rows.write(page, content.page(layout, buffer, number))
            everything -= 1
            assert memory.wrong(1, content) == everything
    for buffer, rows in enumerate(memory.aux):
        rows.write(1, content.aux(layout, buffer))
    assert memory.wrong(1, content) == 0
    assert memory.wrong(1, Content(room=7, generation=2)) > 0
    one = content.page(layout, 0, 0)
    one[-1] += 1
    memory.kv[0].write(layout.target(1)[0], one)
    assert memory.wrong(1, content) == 1


@pytest.mark.usefixtures("pages")
def test_no_two_pages_are_alike() -> None:
    layout = Layout(room_bytes=2**16, slots=2)
    pages = [
        bytes(Content(room, generation).page(layout, buffer, number))
        for room in (1, 2)
        for generation in (0, 1)
        for buffer in range(layout.buffers)
        for number in range(layout.pages)
    ]
    assert len(set(pages)) == len(pages)


def test_a_side_that_cannot_start_says_why_and_is_gone(
    transport: Transport, tmp_path: Path
) -> None:
    nowhere = Setup(tmp_path, tmp_path, "DRAM", False, Layout(2**16, 1))
    with (
        pytest.raises(HarnessError, match="in the prefill process"),
        open_world(nowhere, transport),
    ):
        pass
    assert _children() == []


def test_a_failure_leaves_no_process(runner: Runners) -> None:
    small = runner(Variant(small=True))
    with suppress(ZeroDivisionError), small.world(4):
        assert len(_children()) == 2
        raise ZeroDivisionError
    assert _children() == []


def test_a_call_to_a_dead_process_is_an_error(runner: Runners) -> None:
    with runner(Variant(small=True)).world(4) as world:
        side = world.remotes[0]
        side._process.kill()
        with pytest.raises(HarnessError, match="has ended"):
            side.snapshot()


def _children() -> list[str]:
    """The sides that this process has running."""
    listed = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    return [line for line in listed.stdout.splitlines() if "gpu_tests.remote" in line]


def test_vram(runner: Runners) -> None:
    """The same transfer between buffers on a GPU; nothing stands in for one."""
    reason = transports.no_vram()
    if reason is not None:
        pytest.skip(reason)
    small = runner(Variant(small=True))
    (outcome,) = Runner(small.tree, transports.choose("VRAM"), MIB).outcomes(PLAIN)
    assert (outcome.end, outcome.wrong) == (End.SUCCESS, 0)
