"""A prefill and a decode process with one backend between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from .errors import NotQuiet
from .gates import Snapshot
from .layout import Content
from .remote import Remote
from .sides import DecodeSide, PrefillSide, Setup
from .transport import Transport

WORKERS = 4
QUIET_SECONDS = 60.0
LOOK_SECONDS = 0.005


class World:
    """Both sides, and the question whether anything still moves."""

    def __init__(self, setup: Setup, prefill: Remote, decode: Remote) -> None:
        self.layout = setup.layout
        self.prefill = cast(PrefillSide, prefill)
        self.decode = cast(DecodeSide, decode)
        self.remotes = (prefill, decode)
        self._slots = 0
        self._rooms = 0

    def request(self, after: int | None = None, room: int | None = None) -> tuple[int, Content]:
        """Pages and bytes of a new request; of one that the worker of room `after` serves."""
        slot = self._slots % self.layout.slots
        self._slots += 1
        if room is None:
            self._rooms += 1
            # Steps of the number of workers stay with one of them.
            room = after + WORKERS if after is not None else self._rooms * WORKERS * 16
        return slot, Content(room, generation=self._slots)

    def quiet(self) -> tuple[Snapshot, Snapshot]:
        """Wait until nothing moves: both looked at twice, idle, and every message handled."""
        deadline = time.monotonic() + QUIET_SECONDS
        last: tuple[Snapshot, Snapshot] | None = None
        while time.monotonic() < deadline:
            seen = (self.prefill.snapshot(), self.decode.snapshot())
            if seen == last and _at_rest(*seen):
                return seen
            last = seen
            time.sleep(LOOK_SECONDS)
        raise NotQuiet(f"still moving after {QUIET_SECONDS:.0f} s: {last}")

    def heard(self) -> None:
        """Wait until the prefill side has handled every message, whatever its workers do."""
        deadline = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < deadline:
            if self.prefill.snapshot().has_heard(self.decode.snapshot()):
                return
            time.sleep(LOOK_SECONDS)
        raise NotQuiet("a message of the decode side is not handled")


def _at_rest(prefill: Snapshot, decode: Snapshot) -> bool:
    return prefill.idle and decode.idle and prefill.has_heard(decode) and decode.has_heard(prefill)


@contextmanager
def open_world(setup: Setup, transport: Transport) -> Iterator[World]:
    """Start both sides; end them whatever happens."""
    environment = {
        "UCX_TLS": transport.ucx_tls,
        "SGLANG_HOST_IP": "127.0.0.1",
        "SGLANG_DISAGGREGATION_QUEUE_SIZE": str(WORKERS),
        "UCX_LOG_LEVEL": "error",
        "NIXL_LOG_LEVEL": "ERROR",
    }
    remotes: list[Remote] = []
    try:
        for kind in ("prefill", "decode"):
            remotes.append(Remote(kind, setup, environment))
        for remote in remotes:
            remote.result()
        world = World(setup, *remotes)
        world.decode.connect(world.prefill.address())
        yield world
    finally:
        for remote in remotes:
            remote.close()
