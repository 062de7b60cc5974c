"""A small NIXL backend with the defects that kvlint was begun for.

1. transfer_worker: takes chunk 0 of a room, writes Transferring, starts the transfer.
2. control: an ABORT arrives; Failed is stored, and the room's target is thrown away.
3. transfer_worker: the transfer ends, and Transferring is stored over Failed.
4. transfer_worker: takes the last chunk, finds no target, and drops it without a word.
5. Nothing is left to do, and the room is in Transferring: its poller waits for ever.
"""

import dataclasses
import json
import logging
import threading
import time
import uuid

import requests
import zmq
from sglang.srt.disaggregation.base.conn import KVPoll
from sglang.srt.disaggregation.common.conn import (
    CommonKVManager,
    NixlKVBootstrapServer,
)
from sglang.srt.disaggregation.common.utils import FastQueue
from sglang.srt.disaggregation.utils import DisaggregationMode

__all__ = ["NixlKVBootstrapServer", "NixlKVManager", "NixlKVReceiver", "NixlKVSender"]

WORKERS = 4
log = logging.getLogger(__name__)


@dataclasses.dataclass
class Chunk:
    room: int
    pages: list
    first: int
    is_last: bool
    aux: int


class NixlKVManager(CommonKVManager):
    def __init__(self, args, mode, settings):
        super().__init__(args, settings)
        from nixl._api import nixl_agent, nixl_agent_config, nixl_thread_sync_t

        strict = nixl_thread_sync_t.NIXL_THREAD_SYNC_STRICT
        self.agent = nixl_agent(uuid.uuid4().hex, nixl_agent_config(sync_mode=strict))
        self.kind = args.kv_data_mem_kinds[0]
        kv = zip(args.kv_data_ptrs, args.kv_data_lens, strict=True)
        self.register(args.kv_data_tensors, kv, self.kind)
        aux = zip(args.aux_data_ptrs, args.aux_data_lens, strict=True)
        self.register(args.aux_data_tensors, aux, "DRAM")
        self.transfer_infos = {}
        self.peers = {}
        self.arrived = set()
        self.prefill = None
        self.to_prefill = None
        if mode is DisaggregationMode.PREFILL:
            self.announce(f"{settings.host}:{settings.port}")
            self.transfer_queues = [FastQueue() for _ in range(WORKERS)]
            for chunks in self.transfer_queues:
                threading.Thread(target=self.transfer_worker, args=(chunks,), daemon=True).start()
            threading.Thread(target=self.control, daemon=True).start()

    def register(self, tensors, regions, kind):
        """Register buffers as the tensors that they are, or else by their addresses."""
        if tensors:
            self.agent.register_memory(tensors)
        else:
            self.agent.register_memory([(at, size, 0, "") for at, size in regions], kind)

    # The prefill side

    def add_transfer_request(self, room, pages, first, is_last, aux):
        self.transfer_queues[room % WORKERS].put(Chunk(room, pages, first, is_last, aux))

    def control(self):
        while True:
            message = self.server_socket.recv_multipart()
            if message[0] == b"ABORT":
                room = int(message[1].decode())
                if room in self.request_status:
                    self.record_failure(room, "aborted by the decode side")
                    self.update_status(room, KVPoll.Failed)
                self.transfer_infos.pop(room, None)
                continue
            if message[0] == b"PEER":
                about = json.loads(message[2])
                self.agent.add_remote_agent(message[1])
                self.peers[about["name"]] = about
                continue
            room = int(message[1].decode())
            self.transfer_infos[room] = json.loads(message[2])
            self.update_status(room, KVPoll.WaitingForInput)

    def transfer_worker(self, chunks):
        while True:
            chunk = chunks.get()
            room = chunk.room
            try:
                if room not in self.transfer_infos:
                    continue
                info = self.transfer_infos[room]
                self.update_status(room, KVPoll.Transferring)
                handles = self.start(chunk, info)
                while any(self.agent.check_xfer_state(h) != "DONE" for h in handles):
                    time.sleep(0)
                if chunk.is_last:
                    self.update_status(room, KVPoll.Success)
                else:
                    self.update_status(room, KVPoll.Transferring)
            except Exception as error:
                log.exception("room %s", room)
                self.record_failure(room, str(error))
                self.update_status(room, KVPoll.Failed)

    def start(self, chunk, info):
        """Begin to write a chunk's pages, and with the last one the auxiliary buffers."""
        own, peer = self.kv_args, self.peers[info["peer"]]
        target = info["pages"][chunk.first : chunk.first + len(chunk.pages)]
        to = peer["kv"]
        sizes = own.kv_item_lens
        handles = [
            self.write(
                info["peer"],
                (own.kv_data_ptrs, chunk.pages, self.kind),
                (to, target, peer["kind"]),
                sizes,
                f"{chunk.room} kv {int(chunk.is_last)}",
            )
        ]
        if chunk.is_last:
            handles.append(
                self.write(
                    info["peer"],
                    (own.aux_data_ptrs, [chunk.aux], "DRAM"),
                    (peer["aux"], [info["aux"]], "DRAM"),
                    own.aux_item_lens,
                    f"{chunk.room} aux 1",
                )
            )
        return handles

    def write(self, peer, source, target, sizes, note):
        both = []
        for pointers, pages, kind in (source, target):
            places = [
                (at + size * page, size, 0)
                for at, size in zip(pointers, sizes, strict=True)
                for page in pages
            ]
            both.append(self.agent.get_xfer_descs(places, kind))
        handle = self.agent.initialize_xfer("WRITE", *both, peer, note.encode())
        if self.agent.transfer(handle) == "ERR":
            raise RuntimeError("the transfer could not be started")
        return handle

    # The decode side

    def try_ensure_parallel_info(self, meeting):
        found = requests.get(f"http://{meeting}", timeout=10).json()
        self.to_prefill = self.context.socket(zmq.PUSH)
        self.to_prefill.connect(f"tcp://{found['ip']}:{found['port']}")
        own = self.kv_args
        about = {
            "name": self.agent.name,
            "kv": own.kv_data_ptrs,
            "aux": own.aux_data_ptrs,
            "kind": self.kind,
        }
        self.to_prefill.send_multipart(
            [b"PEER", self.agent.get_agent_metadata(), json.dumps(about).encode()]
        )
        return True

    def collect(self):
        """Note what has arrived; the last chunk of a room comes after all others."""
        for notes in self.agent.get_new_notifs().values():
            for note in notes:
                room, what, is_last = note.decode().split()
                if is_last == "1":
                    self.arrived.add((int(room), what))


class NixlKVSender:
    def __init__(self, mgr: NixlKVManager, bootstrap_room: int):
        self.mgr = mgr
        self.room = bootstrap_room
        self.sent = 0
        self.mgr.update_status(self.room, KVPoll.Bootstrapping)

    def init(self, pages, aux):
        self.pages = pages
        self.aux = aux

    def send(self, pages):
        first = self.sent
        self.sent += len(pages)
        self.mgr.add_transfer_request(
            self.room, pages.tolist(), first, self.sent == self.pages, self.aux
        )

    def poll(self):
        return self.mgr.check_status(self.room)

    def abort(self):
        self.mgr.record_failure(self.room, "aborted by the prefill side")
        self.mgr.update_status(self.room, KVPoll.Failed)

    def clear(self):
        self.mgr.request_status.pop(self.room, None)
        self.mgr.transfer_infos.pop(self.room, None)

    def failure_exception(self):
        self.clear()
        raise self.mgr.failure_of(self.room)


class NixlKVReceiver:
    def __init__(self, mgr: NixlKVManager, bootstrap_addr: str, bootstrap_room: int):
        self.mgr = mgr
        self.room = bootstrap_room
        self.ended = None

    def init(self, rank):
        pass

    def send_metadata(self, kv_indices, aux_index):
        about = {
            "peer": self.mgr.agent.name,
            "pages": kv_indices.tolist(),
            "aux": aux_index,
        }
        self.mgr.to_prefill.send_multipart(
            [b"ROOM", str(self.room).encode(), json.dumps(about).encode()]
        )

    def poll(self):
        if self.ended is None:
            self.mgr.collect()
            wanted = {(self.room, "kv"), (self.room, "aux")}
            if wanted <= self.mgr.arrived:
                self.mgr.arrived -= wanted
                self.ended = KVPoll.Success
        return KVPoll.WaitingForInput if self.ended is None else self.ended

    def abort(self):
        self.ended = KVPoll.Failed
        self.mgr.to_prefill.send_multipart([b"ABORT", str(self.room).encode()])

    def clear(self):
        self.ended = KVPoll.Failed

    def failure_exception(self):
        raise self.mgr.failure_of(self.room)
