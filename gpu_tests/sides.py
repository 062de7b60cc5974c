"""The two sides of a transfer, each in a process of its own; the parent calls their methods."""

from __future__ import annotations

import importlib
import inspect
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import HarnessError
from .gates import (
    Gates,
    Snapshot,
    WatchedSocket,
    watch_queue,
    watch_sends,
    watched_agent,
)
from .layout import Content, Layout, Memory, indices
from .loading import BACKENDS, load
from .schedules import Order, Passed, decode_storm, prefill_storm
from .vocabulary import NOT_STARTED

POLL_SECONDS = 0.001


@dataclass(frozen=True)
class Setup:
    """What a side needs to start."""

    release: Path  # the folder that holds `sglang/`
    overlay: Path  # the folder whose `sglang/srt/disaggregation` takes its place
    memory: str
    tensors: bool
    layout: Layout


@dataclass(frozen=True)
class Address:
    """Where the prefill side listens."""

    bootstrap: str
    host: str
    port: int


class Side:
    """What both sides have: buffers, gates and the manager of the backend."""

    mode = ""

    def __init__(self, setup: Setup) -> None:
        self.layout = setup.layout
        self.memory = Memory(setup.layout, setup.memory, setup.tensors)
        self.gates = Gates()
        self.port = _free_port()
        device = "cuda" if setup.memory == "VRAM" else "cpu"
        self.settings = load(setup.release, setup.overlay, self.port, device, setup.tensors)
        self.backend = self._watched(setup.memory)
        self.names = _status_names()
        threading.excepthook = self.gates.died

    def _watched(self, memory: str) -> Any:
        """The module of the backend, with its queue, socket and agent wrapped."""
        api: Any = importlib.import_module("nixl._api")
        api.nixl_agent = watched_agent(api.nixl_agent, self.gates, memory)
        zmq = importlib.import_module("zmq")
        watch_sends(zmq.Socket, self.gates)
        watch_queue(importlib.import_module(f"{BACKENDS}.common.utils").FastQueue, self.gates)
        common: Any = importlib.import_module(f"{BACKENDS}.common.conn")
        bind = common.get_zmq_socket_on_host

        def watched_bind(*args: Any, **options: Any) -> tuple[int, WatchedSocket]:
            port, bound = bind(*args, **options)
            return port, WatchedSocket(bound, self.gates)

        common.get_zmq_socket_on_host = watched_bind
        return importlib.import_module(f"{BACKENDS}.nixl.conn")

    def _manager(self) -> Any:
        modes = importlib.import_module(f"{BACKENDS}.utils").DisaggregationMode
        return self.backend.NixlKVManager(self._arguments(), modes(self.mode), self.settings)

    def _arguments(self) -> Any:
        base = importlib.import_module(f"{BACKENDS}.base.conn")
        arguments = base.KVArgs()
        kv, aux = self.memory.kv, self.memory.aux
        values = {
            "engine_rank": 0,
            "kv_data_ptrs": [rows.address for rows in kv],
            "kv_data_lens": [rows.size for rows in kv],
            "kv_item_lens": [rows.row_size for rows in kv],
            "kv_data_mem_kinds": [self.memory.kind] * len(kv),
            "kv_data_tensors": [rows.tensor for rows in kv if rows.tensor is not None],
            "kv_layer_ids": [number // 2 for number in range(len(kv))],
            "aux_data_ptrs": [rows.address for rows in aux],
            "aux_data_lens": [rows.size for rows in aux],
            "aux_data_tensors": [rows.tensor for rows in aux if rows.tensor is not None],
            "aux_item_lens": [rows.row_size for rows in aux],
            "state_types": [],
            "state_data_ptrs": [],
            "state_data_lens": [],
            "state_item_lens": [],
            "state_dim_per_tensor": [],
            "state_layer_ids": [],
            "ib_device": "",
            "ib_traffic_class": "",
            "gpu_id": 0,
            "kv_head_num": 1,
            "total_kv_head_num": 1,
            "page_size": 1,
            "kv_cache_dtype_str": "auto",
            "system_dp_rank": 0,
            "pp_rank": 0,
            "prefill_start_layer": 0,
            "prefill_end_layer": len(kv) // 2,
            "mla_compression_ratios": None,
            "num_draft_entries": 0,
            "requires_dcp_relayout": False,
            "rust_http_port": None,
            "swa_kv_cache_layout": None,
            "kv_buf_groups": 1,
            "total_kv_layers": len(kv) // 2,
        }
        for name, value in values.items():
            setattr(arguments, name, value)
        return arguments

    def snapshot(self) -> Snapshot:
        """What the threads of this side have done."""
        return self.gates.snapshot()

    def registered(self) -> dict[str, int]:
        """How many regions the backend has registered with NIXL, by what it described them with."""
        return dict(self.gates.registered)

    def name(self, status: Any) -> str:
        """The name of a status."""
        return self.names.get(int(status), str(status))


class PrefillSide(Side):
    """The sending side: bootstrap server, manager with its workers, and the scheduler's calls."""

    mode = "prefill"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.server = self.backend.NixlKVBootstrapServer("127.0.0.1", self.port)
        _wait_listening(self.port)
        self.manager = self._manager()
        self.senders: dict[int, Any] = {}
        self.slots: dict[int, int] = {}
        self.sent: dict[int, int] = {}

    def address(self) -> Address:
        """Where this side listens."""
        return Address(f"127.0.0.1:{self.port}", self.manager.local_ip, int(self.manager.rank_port))

    def shards(self) -> int:
        """How many workers share the rooms."""
        return len(self.manager.transfer_queues)

    def worker(self, room: int) -> str | None:
        """The thread that worked on a room last."""
        return self.gates.workers.get(room)

    def open(self, slot: int, content: Content) -> None:
        """A request arrives: its bytes are there, its sender is made."""
        self.memory.fill(slot, content)
        self.open_filled(slot, content.room)

    def open_filled(self, slot: int, room: int) -> None:
        """The same for a slot that has its bytes already."""
        sender = _call(
            self.backend.NixlKVSender,
            mgr=self.manager,
            bootstrap_addr=f"127.0.0.1:{self.port}",
            bootstrap_room=room,
            dest_tp_ranks=[0],
            pp_rank=0,
        )
        sender.init(self.layout.pages, slot)
        self.senders[room] = sender
        self.slots[room] = slot
        self.sent[room] = 0

    def poll(self, room: int) -> str:
        """What the scheduler sees."""
        return self.name(self.senders[room].poll())

    def poll_all(self, rooms: Sequence[int]) -> dict[int, str]:
        """What the scheduler sees of many rooms."""
        return {r: self.poll(r) if r in self.senders else NOT_STARTED for r in rooms}

    def send(self, room: int, pages: int) -> None:
        """Send the next pages of a room."""
        first = self.sent[room]
        source = self.layout.source(self.slots[room])[first : first + pages]
        self.sent[room] = first + len(source)
        self.senders[room].send(indices(source))

    def abort(self, room: int) -> None:
        """The scheduler gives a request up."""
        self.senders[room].abort()

    def clear(self, room: int) -> None:
        """The scheduler is through with a request."""
        self.senders[room].clear()

    def reason(self, room: int) -> str:
        """What the client is told about a failed request; the backend clears the room with it."""
        return _reason(self.senders[room])

    def present(self, room: int) -> str | None:
        """The status that the table has for a room, or None if it has none."""
        status = self.manager.request_status.get(room)
        return None if status is None else self.name(status)

    def fill_all(self, orders: Sequence[Order]) -> None:
        """Put the bytes of a storm in place before it begins."""
        for order in orders:
            self.memory.fill(order.slot, order.content)

    def storm(self, orders: Sequence[Order]) -> Passed:
        """This side of a storm."""
        return prefill_storm(self, orders)

    def hold(self, room: int, chunk: int) -> None:
        """Keep the transfer of a chunk in flight."""
        self.gates.hold((room, chunk))

    def wait_held(self, room: int, chunk: int, seconds: float) -> bool:
        """Wait until a worker polls that transfer."""
        return self.gates.wait_reached((room, chunk), seconds)

    def release(self, room: int, chunk: int) -> None:
        """Let that transfer end."""
        self.gates.release((room, chunk))


class DecodeSide(Side):
    """The receiving side: manager, receivers, and a peer that sends what it likes."""

    mode = "decode"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.manager = self._manager()
        self.receivers: dict[int, Any] = {}
        self.prefill: Address | None = None
        self._raw: Any = None

    def connect(self, address: Address) -> None:
        """Learn where the prefill side listens."""
        self.prefill = address
        if not self.manager.try_ensure_parallel_info(address.bootstrap):
            raise HarnessError("the decode side gets no answer from the bootstrap server")

    def expect(self, slot: int, room: int) -> None:
        """A request arrives: its receiver is made and tells the prefill side where to write."""
        assert self.prefill is not None
        receiver = self.backend.NixlKVReceiver(self.manager, self.prefill.bootstrap, room)
        receiver.init(0)
        self.receivers[room] = receiver
        _call(
            receiver.send_metadata,
            kv_indices=indices(self.layout.target(slot)),
            aux_index=slot,
            state_indices=[],
        )

    def poll(self, room: int) -> str:
        """What the scheduler sees."""
        return self.name(self.receivers[room].poll())

    def abort(self, room: int) -> None:
        """The scheduler gives a request up."""
        self.receivers[room].abort()

    def clear(self, room: int) -> None:
        """The scheduler is through with a request."""
        self.receivers.pop(room).clear()

    def frame(self, room: int) -> None:
        """An ABORT message by itself, without a receiver's state around it."""
        assert self.prefill is not None
        if self._raw is None:
            zmq = importlib.import_module("zmq")
            self._raw = zmq.Context.instance().socket(zmq.PUSH)
            self._raw.connect(f"tcp://{self.prefill.host}:{self.prefill.port}")
        parts = ("ABORT", str(room), self.manager.local_ip, str(self.manager.rank_port))
        self._raw.send_multipart([part.encode("ascii") for part in parts])

    def reason(self, room: int) -> str:
        """What the client is told about a failed request."""
        return _reason(self.receivers[room])

    def storm(self, orders: Sequence[Order]) -> Passed:
        """This side of a storm."""
        return decode_storm(self, orders)

    def wrong(self, slot: int, content: Content) -> int:
        """How many pages and auxiliary buffers hold other bytes than they must."""
        return self.memory.wrong(slot, content)


def _reason(holder: Any) -> str:
    try:
        holder.failure_exception()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _call(function: Any, **arguments: Any) -> Any:
    """Call with those arguments that this release knows."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})


def _status_names() -> dict[int, str]:
    poll = importlib.import_module(f"{BACKENDS}.base.conn").KVPoll
    return {int(value): name for name, value in vars(poll).items() if isinstance(value, int)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_listening(port: int, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(POLL_SECONDS * 10)
    raise HarnessError("the bootstrap server does not listen")
