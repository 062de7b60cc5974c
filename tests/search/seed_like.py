"""A backend like the seed's, with the fixes as switches."""

from __future__ import annotations

from textwrap import indent

TEMPLATE = """
import queue
import threading


class KVPoll:
    Failed = 0
    Bootstrapping = 1
    WaitingForInput = 2
    Transferring = 3
    Success = 4


class Manager:
    def __init__(self, agent, socket):
        self.agent = agent
        self.socket = socket
        self.request_status = {{}}
        self.transfer_infos = {{}}
        self.failure_records = {{}}
        self.status_lock = threading.Lock()
        self.chunks = queue.Queue()
        threading.Thread(target=self.bootstrap).start()
        threading.Thread(target=self.transfer_worker).start()

    def update_status(self, room, status):
{update}

    def check_status(self, room):
        return self.request_status[room]

    def bootstrap(self):
        while True:
            message = self.socket.recv_multipart()
            if message[0] == b"ABORT":
                room = int(message[1].decode())
                if room in self.request_status:
                    self.update_status(room, KVPoll.Failed)
                self.transfer_infos.pop(room, None)
                continue
            room = int(message[0].decode())
            self.transfer_infos[room] = {{message[1]: message[2]}}
            self.update_status(room, KVPoll.WaitingForInput)

    def transfer_worker(self):
        while True:
            chunk = self.chunks.get()
            room = chunk.room
            if room not in self.transfer_infos or self.check_status(room) == KVPoll.Failed:
{skip}
                continue
            self.update_status(room, KVPoll.Transferring)
            handle = self.agent.transfer(chunk)
            while self.agent.state(handle) == "PROC":
                pass
            if chunk.is_last:
                self.update_status(room, KVPoll.Success)
            else:
                self.update_status(room, KVPoll.Transferring)


class Sender:
    def __init__(self, mgr: Manager, room: int):
        self.mgr = mgr
        self.room = room
        self.mgr.update_status(room, KVPoll.Bootstrapping)

    def send(self, pages, is_last: bool):
        self.mgr.chunks.put(Chunk(self.room, pages, is_last=is_last))

    def poll(self):
        return self.mgr.check_status(self.room)

    def clear(self):
        self.mgr.request_status.pop(self.room, None)


class Receiver:
    def __init__(self, mgr: Manager, room: int):
        self.room = room

    def init(self):
        self.socket.send_multipart([str(self.room).encode(), b"address", b"pages"])

    def abort(self):
        self.socket.send_multipart([b"ABORT", str(self.room).encode()])


class Chunk:
    def __init__(self, room, pages, is_last):
        self.room = room
        self.pages = pages
        self.is_last = is_last
"""
STICKY = """
if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):
    return
"""
WRITE = """
if room not in self.request_status or status == KVPoll.Failed:
    self.request_status[room] = status
else:
    self.request_status[room] = max(self.request_status[room], status)
"""
CONCLUDE = """
if self.request_status.get(room) not in (KVPoll.Failed, KVPoll.Success):
    self.failure_records[room] = "skipped"
    self.update_status(room, KVPoll.Failed)
"""


def source(fixes: str) -> str:
    """The backend with fix A, fix B and a lock (L) where named."""
    body = (STICKY if "A" in fixes else "") + WRITE
    if "L" in fixes:
        body = "with self.status_lock:\n" + indent(body.strip("\n"), "    ")
    skip = CONCLUDE if "B" in fixes else "pass"
    return TEMPLATE.format(
        update=indent(body.strip("\n"), " " * 8), skip=indent(skip.strip("\n"), " " * 16)
    )
